# SPDX-License-Identifier: Apache-2.0
"""The figures of one result file, used by the study's tables."""
import tomllib

import h5py

from study import CHIPLETS, LINE


def divide(a, b):
    """a / b, or None if it is undefined."""
    return None if not b else float(a) / float(b)


def measure(path):
    """Figures of one run, as a dictionary. Rates are shares; times in us and ns."""
    with h5py.File(path, "r") as f:
        kernels, machine = f["tables/kernels"], f["summary/machine"]
        walkers = CHIPLETS * tomllib.loads(f["config/toml"][()].decode())["gpu"]["gmmu"]["walkers"]

        def total(name):
            return int(machine[name][0]) if name in machine else 0

        us = float((kernels["finished"][:] - kernels["launched"][:]).sum()) / 1e6
        l1_hits, l1_misses = total("sm_l1_tlb_hits"), total("sm_l1_tlb_misses")
        hits, misses, merged = total("l2_tlb_hits"), total("l2_tlb_misses"), total("l2_tlb_merged_misses")
        far = total("l2_slice_far_requests")
        return {
            "kernel_us": us,
            "kernels": len(kernels["kernel"]),
            "accesses": total("sm_transactions"),
            "l1_hit": divide(l1_hits, l1_hits + l1_misses),
            "l2_lookups": hits + misses,
            "l2_hit": divide(hits, hits + misses),
            "l2_no_walk": divide(hits + merged, hits + misses),
            "walks": total("gmmu_walks"),
            "walk_ns": divide(total("gmmu_walker_busy_time") * walkers / 1e3, total("gmmu_walks")),
            "walk_and_queue_ns": divide(total("gmmu_total_latency") / 1e3, total("gmmu_responses")),
            "walkers_busy": divide(total("gmmu_walker_busy_time") / 1e6, us),
            "far": divide(far, total("l2_slice_reads") + total("l2_slice_writes")),
            "far_gb_s": divide(far * LINE / 1e3, us * CHIPLETS),
            "collections": total("tlb_balancer_collections"),
            "switches": total("tlb_balancer_switches"),
            "buffers": [int(pages) for pages in f["tables/page_placement/pages"][:]],  # pages of each buffer, by address
            "digest": f.attrs["result_digest"].decode(),
        }
