# SPDX-License-Identifier: Apache-2.0
"""The figures of one result file, used by the study's tables."""
import h5py


def divide(a, b):
    """a / b, or None if it is undefined."""
    return None if not b else float(a) / float(b)


def measure(path):
    """Figures of one run, as a dictionary. Rates are shares."""
    with h5py.File(path, "r") as f:
        gpu, machine = f["summary/gpu"], f["summary/machine"]

        def total(name):
            return int(gpu[name][...].sum()) if name in gpu else 0

        def organization(name, tlb="l2_tlb"):
            return total(f"gpu.{tlb}.organization_{name}")

        l1_hits, l1_misses = total("sm_l1_tlb_hits"), total("sm_l1_tlb_misses")
        hits, misses, merged = total("l2_tlb_hits"), total("l2_tlb_misses"), total("l2_tlb_merged_misses")
        fills = organization("compressed_fills") + organization("uncompressed_fills")
        translating = sum(total(f"sm_time_in_{where}") for where in ("l1_tlb", "l2_tlb", "walk_queue", "walk"))
        return {
            "digest": f.attrs["result_digest"].decode(),
            "cycles": int(machine["cycles"][0]),
            "instructions": int(f["summary/application/instructions"][0]),
            "pages": int(f["tables/page_placement/pages"][...].sum()),
            "l1_hit": divide(l1_hits, l1_hits + l1_misses),
            "l2_lookups": hits + misses,
            "l2_hit": divide(hits, hits + misses),
            "merged": divide(merged, hits + misses),
            "l2_no_walk": divide(hits + merged, hits + misses),
            "walks": total("gmmu_walks"),
            "translating": divide(translating, total("sm_access_time")),
            "walk_queue": divide(total("sm_time_in_walk_queue"), total("sm_access_time")),
            "compressed_fills": divide(organization("compressed_fills"), fills),
            "compressed_hits": divide(organization("compressed_hits"), organization("compressed_hits") + organization("uncompressed_hits")),
            "fills_a_rebasing": divide(fills, organization("rebasings")),
            "flushed": divide(organization("flushed_translations"), organization("compressed_fills")),
            "moved": int(machine["memory.compaction_moved_pages"][...].sum()) if "memory.compaction_moved_pages" in machine else 0,
            "range_hits": divide(organization("range_hits"), organization("range_hits") + organization("page_hits")),
        }
