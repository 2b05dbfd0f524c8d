# SPDX-License-Identifier: Apache-2.0
"""The figures of one result file: times, and the counters of every mechanism."""
import h5py


def divide(a, b):
    """a / b, or None if it is undefined."""
    return None if not b else float(a) / float(b)


def took(f):
    """Simulated us of each application, from its first launch to its end."""
    applications = f["summary/application"]
    return [(int(end) - int(start)) / 1e6 for start, end in zip(applications["start"][:], applications["end"][:])]


def measure(path):
    """Figures of one run, as a dictionary. Rates are shares, times are in us. Counters of a mechanism that is off are 0 or None."""
    with h5py.File(path, "r") as f:
        machine = f["summary/machine"]

        def total(name):
            return int(machine[name][0]) if name in machine else 0

        def share(hits, misses):
            return divide(total(hits), total(hits) + total(misses))

        access = total("sm_access_time")
        sms = total("sm_time")
        router = {name: total(f"gpu.router_{name}") for name in
                  ("local_predictions", "remote_predictions", "undecided_requests", "correct_local_predictions", "correct_remote_predictions")}
        fills = total("gpu.l2_tlb.organization_compressed_fills") + total("gpu.l2_tlb.organization_uncompressed_fills")
        links = f["tables/links"]
        return {
            "digest": f.attrs["result_digest"].decode(),
            "times_us": took(f),
            "end_us": float(total("end")) / 1e6,
            "cycles": total("cycles"),
            "instructions": total("sm_instructions"),
            # Translation.
            "l1_tlb_hit": share("sm_l1_tlb_hits", "sm_l1_tlb_misses"),
            "l2_tlb_hit": share("l2_tlb_hits", "l2_tlb_misses"),
            "l2_tlb_merged": divide(total("l2_tlb_merged_misses"), total("l2_tlb_misses")),
            "gmmu_walks": total("gmmu_walks"),
            "gmmu_walks_missed": divide(total("gmmu_walk_misses"), total("gmmu_walk_hits") + total("gmmu_walk_misses")),
            "iommu_walks": total("iommu_walks"),
            "in_translation": divide(sum(total(f"sm_time_in_{w}") for w in ("l1_tlb", "l2_tlb", "walk_queue", "walk", "iommu")), access),
            "in_faults": divide(total("sm_time_in_fault"), access),
            "in_links": divide(total("sm_time_in_links"), access),
            "in_memory": divide(sum(total(f"sm_time_in_{w}") for w in ("l2_cache", "dram", "dram_queue", "remote_memory")), access),
            "waits_for_faults": divide(total("sm_fault_stall_time"), sms),
            "idle": divide(total("sm_idle_time"), sms),
            "remote": divide(total("sm_remote_accesses"), total("sm_remote_accesses") + total("sm_l2_hits") + total("sm_l2_misses")),
            # Paging and migration.
            "batches": total("driver_batches"),
            "driver_busy": divide(total("driver_busy_time"), total("end") - total("start")),
            "first_touches": total("driver_pages_mapped"),
            "moved": total("driver_migrations"),
            "prefetched": total("driver_prefetched_pages"),
            "evicted": total("driver_evicted_pages"),
            "came_again": total("driver_premature_evictions"),
            "invalidations": total("gmmu_invalidations"),
            "link_bytes": int(links["bytes"][:].sum()) if "bytes" in links else None,
            # GMMU bypass.
            **router,
            # Mosaic.
            "coalesced": total("memory.page_sizes_coalesced_pages"),
            "splintered": total("memory.page_sizes_splintered_pages"),
            "compacted": total("memory.compaction_moved_pages"),
            "large_hits": divide(total("gpu.l1_tlb.organization_large_hits"),
                                 total("gpu.l1_tlb.organization_large_hits") + total("gpu.l1_tlb.organization_base_hits")),
            # MASK.
            "bypass_cache_hits": total("gpu.l2_tlb.fill_bypass_hits"),
            "token_moves": total("gpu.l2_tlb.fill_increases") + total("gpu.l2_tlb.fill_decreases"),
            "walk_reads": total("l2_slice_walk_reads"),
            "walk_reads_hit": divide(total("l2_slice_walk_hits"), total("l2_slice_walk_reads")),
            "walk_reads_bypassed": total("gpu.l2_cache.walk_reads_bypassed_reads"),
            "golden_lines": total("gpu.dram.scheduler_golden_lines"),
            "silver_lines": total("gpu.dram.scheduler_silver_lines"),
            "dram_bytes": total("dram_bytes"),
            # TLB compression.
            "compressed_fills": divide(total("gpu.l2_tlb.organization_compressed_fills"), fills),
            "compressed_hits": total("gpu.l2_tlb.organization_compressed_hits"),
            "rebasings": total("gpu.l2_tlb.organization_rebasings"),
            "flushed": divide(total("gpu.l2_tlb.organization_flushed_translations"), total("gpu.l2_tlb.organization_compressed_fills")),
            # TO.
            "gave_way": total("sm_blocks_swapped_out"),
            "context_bytes": total("sm_context_bytes"),
        }
