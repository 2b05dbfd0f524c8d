# SPDX-License-Identifier: Apache-2.0
"""Random combinations of compressed and range TLBs at every level with MASK, Mosaic, paging, frame allocators and one or two GPUs. Each
combination runs, or is refused with exit code 2 and a sentence per mistake. All organizations of the L2 TLB are tested with all frame
allocators DRAWN times, each with random values of the other settings, on tiny machines with one to five applications.

Each run makes the same accesses as with plain TLBs, and has one digest on one and two threads and in partitions of any size; some
combinations also on two ranks, and stopped and resumed. The policy names come from the program's list, so new policies are included.

Usage: tlb_compression_grid_test.py BUILD_FOLDER/anything [DRAWN [SEED]]
"""
import itertools
import random
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import checks
from checks import check
from grid import ONE_TO_FIVE, Drawn, grids_of, has_ranks, names_of, run_drawn

AXES = ["gpu.l2_tlb.organization", "memory.frame_allocation"]
ORGANIZATIONS = ["plain", "compressed", "compressed", "range"]
COMPRESSED = {
    "rebasing": ["cumulative", "consecutive", "stream", "none"],
    "rebase_after": ["1", "3", "16"],
    "base": ["next", "searched"],
    "sets_per_base": ["1", "2", "0"],
    "compressed_percent": ["25", "50", "75"],
    "large_entries": ["0", "8"],
}
OTHERS = {
    "machine.generic.gpus": ["1", "1", "2"],
    "memory.placement": ["first_touch", "contiguous", "interleave", "cpu"],
    "memory.page_sizes": ["by_buffer", "by_buffer", "in_place_coalescer", "migrating_coalescer"],
    "memory.compaction": ["none", "none", "cac"],
    "memory.fragmentation_index": ["0.0", "0.0", "1.0"],
    "memory.remote_touch": ["remote_access", "migrate", "migrate", "migrate", "duplicate"],
    "memory.fault_path": ["gpu", "gpu", "gpu", "gpu", "iommu"],
    "driver.batch.replay": ["each_fault", "batch", "page"],
    "gpu.l1_tlb.organization": ORGANIZATIONS,
    "gpu.scalar_cache.tlb_organization": ORGANIZATIONS,
    "iommu.tlb_organization": ORGANIZATIONS,
    **{f"gpu.l2_tlb.compressed.{key}": values for key, values in COMPRESSED.items()},
    "gpu.l2_tlb.compressed.latency": ["0", "0", "3"],
    "gpu.l1_tlb.compressed.rebasing": COMPRESSED["rebasing"],
    "gpu.l1_tlb.compressed.sets_per_base": ["1", "0"],
    "gpu.l2_tlb.range.range_entries": ["1", "4", "32"],
    "gpu.l2_tlb.range.fetched_pages": ["0", "2", "1048576"],
    "gpu.l2_tlb.fill": ["always", "tokens"],
    "gpu.l2_tlb.tokens.invalidation": ["page", "all"],
    "gpu.l2_cache.walk_reads": ["cached", "translation_aware_bypass"],
    "gpu.dram.scheduler": ["frfcfs", "address_space_aware"],
    "gpu.router.policy": ["distributed", "centralized", "gmmu_bypass"],
}
FIXED = {
    "machine.topology": "generic", "memory.page_size": "64KiB", "driver.migrations": "80", "gpu.dram.capacity": "64MiB",
    "driver.batch.time": "2us", "driver.batch.block_time": "1us", "driver.batch.first_touch_time": "2us", "driver.batch.eviction_unit": "64KiB",
    "gpu.sms": "5", "gpu.l1_tlb.entries": "4", "gpu.l1_tlb.ways": "2", "gpu.l2_tlb.entries": "16", "gpu.l2_tlb.ways": "4",
    "gpu.router.gmmu_bypass.epoch": "2us", "gpu.sm.max_blocks": "2", "gpu.sm.registers": "16384", "gpu.l2_cache.size": "128KiB",
    "gpu.l2_tlb.tokens.epoch": "2000", "gpu.l2_cache.translation_aware_bypass.epoch": "2000", "gpu.dram.address_space_aware.epoch": "2000",
    "gpu.dram.queue": "96", "memory.interleaved.parts": "4",
}


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    drawn = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 16
    names = names_of(program, AXES)
    draw = random.Random(seed)
    combinations = [c for c in itertools.product(*names.values()) for _ in range(drawn * (2 if c[0] in ("compressed", "range") else 1))]
    chosen = []
    for combination in combinations:
        chosen.append(Drawn(draw.choice(list(ONE_TO_FIVE)), FIXED, AXES, combination, OTHERS, draw))
        if combination[1] != "contiguity_conserving" and draw.random() < 0.8:
            chosen[-1].settings["memory.compaction"] = "none"  # others cannot select a large frame to empty
    with tempfile.TemporaryDirectory() as folder:
        grids, expected = grids_of(program, Path(folder), ONE_TO_FIVE, FIXED)
        worked = dict.fromkeys(["compressed_hits", "uncompressed_hits", "rebasings", "flushed_translations", "range_hits", "page_hits"], 0)

        def look(grid, _):
            for statistic in worked:
                worked[statistic] += any(grid.gpu_total(f"gpu.{tlb}.organization_{statistic}") > 0 for tlb in ("l1_tlb", "l2_tlb"))

        ran, refused = run_drawn(grids, expected, chosen, has_ranks(program), 8, 8, "with plain TLBs", look)
        check(ran > len(chosen) // 4, f"only {ran} of {len(chosen)} combinations run")
        check(all(n > ran // 20 for n in worked.values()), f"mechanisms were active in {worked} of {ran} runs")
        print(f"{ran} combinations run, {refused} are rejected; {worked}")
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
