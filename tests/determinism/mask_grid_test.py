# SPDX-License-Identifier: Apache-2.0
"""Random combinations of MASK's mechanisms with Mosaic, paging, invalidations, page-walk caches and one or two GPUs. Each combination runs, or is
refused with exit code 2 and a sentence per mistake. All choices of the three mechanisms are tested DRAWN times, each with random values of the
other settings, on tiny machines with one to five applications.

Each run makes the same accesses as without MASK, reads every L2 slice as often as requests arrive, and has one digest on one and two threads
and in partitions of any size; some combinations also on two ranks, and stopped and resumed. The policy names come from the program's list, so
new policies are included.

Usage: mask_grid_test.py BUILD_FOLDER/anything [DRAWN [SEED]]
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

AXES = ["gpu.l2_tlb.fill", "gpu.l2_cache.walk_reads", "gpu.dram.scheduler"]
BASE = ["always", "cached", "frfcfs"]
MASK = ["tokens", "translation_aware_bypass", "address_space_aware"]
OTHERS = {
    "machine.generic.gpus": ["1", "1", "2"],
    "memory.placement": ["first_touch", "contiguous", "interleave", "cpu"],
    "memory.page_sizes": ["by_buffer", "in_place_coalescer", "in_place_coalescer", "migrating_coalescer"],
    "memory.frame_allocation": ["on_demand", "contiguity_conserving"],
    "memory.compaction": ["none", "none", "cac"],
    "memory.fragmentation_index": ["0.0", "1.0"],
    "memory.remote_touch": ["remote_access", "remote_access", "migrate", "migrate", "duplicate"],
    "memory.fault_path": ["gpu", "gpu", "gpu", "iommu"],
    "driver.batch.replay": ["each_fault", "batch", "page"],
    "gpu.l2_tlb.organization": ["plain", "by_page_size"],
    "gpu.l2_tlb.entries": ["16", "16", "0"],
    "gpu.l2_tlb.tokens.initial": ["0.0", "0.5", "0.8"],
    "gpu.l2_tlb.tokens.invalidation": ["page", "all"],
    "gpu.l2_tlb.tokens.change": ["points", "relative"],
    "gpu.l2_tlb.tokens.bypass_entries": ["2", "32"],
    "gpu.l2_tlb.tokens.direction": ["none", "hill_climbing"],
    "gpu.l2_tlb.tokens.warps": ["start", "epoch"],
    "gpu.l1_tlb.misses": ["non_blocking", "hit_under_miss", "blocking"],
    "gpu.l2_tlb.ports": ["1", "2"],
    "gpu.l2_cache.ports": ["1", "2"],
    "gpu.l2_cache.hash": ["turns", "turns", "xor", "ipoly"],
    "gpu.l2_cache.walk_queue": ["0", "0", "2"],
    "gpu.l2_cache.bypass_from_depth.depth": ["1", "3"],
    "gpu.l2_cache.translation_aware_bypass.sampled": ["2", "32"],
    "gpu.l2_cache.translation_aware_bypass.overtakes": ["false", "true"],
    "gpu.l2_cache.translation_aware_bypass.own_mshrs": ["0", "2", "64"],
    "gpu.l2_cache.translation_aware_bypass.unmeasured": ["kept", "forgotten"],
    "gpu.l2_cache.translation_aware_bypass.data_rate": ["loads_and_stores", "loads"],
    "gpu.l2_cache.partitions": ["1", "2"],
    "gpu.l2_cache.miss_path": ["home_slice", "memory"],
    "gpu.memory_cache.size": ["0B", "512KiB"],
    "gpu.dram.address_space_aware.queues": ["3", "3", "2", "1"],
    "gpu.dram.address_space_aware.golden": ["1", "16"],
    "gpu.dram.address_space_aware.silver": ["1", "64"],
    "gpu.dram.address_space_aware.overflow": ["normal", "waits"],
    "gpu.dram.walk_queue": ["0", "16"],
    "gpu.dram.address_space_aware.thresh_max": ["0", "20", "500"],
    "gpu.page_walk_cache.size": ["0B", "0B", "8KiB"],
    "gpu.gmmu.walk_cache": ["0", "16"],
    "gpu.router.policy": ["distributed", "gmmu_bypass"],
}
FIXED = {
    "machine.topology": "generic", "memory.page_size": "64KiB", "driver.migrations": "80", "gpu.dram.capacity": "64MiB",
    "driver.batch.time": "2us", "driver.batch.block_time": "1us", "driver.batch.first_touch_time": "2us", "driver.batch.eviction_unit": "64KiB",
    "gpu.sms": "5", "gpu.l1_tlb.entries": "2", "gpu.l1_tlb.ways": "2", "gpu.l2_tlb.ways": "4", "gpu.router.gmmu_bypass.epoch": "2us",
    "gpu.sm.max_blocks": "2", "gpu.sm.registers": "16384", "gpu.l2_cache.size": "128KiB", "gpu.dram.queue": "96",
    "gpu.l2_tlb.tokens.epoch": "2000", "gpu.l2_cache.translation_aware_bypass.epoch": "2000", "gpu.dram.address_space_aware.epoch": "2000",
}


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    drawn = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 16
    names = names_of(program, AXES)
    draw = random.Random(seed)
    alone = [BASE[:i] + [MASK[i]] + BASE[i + 1:] for i in range(3)]
    combinations = [c for c in itertools.product(*names.values()) for _ in range(drawn)] + 4 * (alone + 3 * [MASK])
    chosen = [Drawn(draw.choice(list(ONE_TO_FIVE)), FIXED, AXES, c, OTHERS, draw) for c in combinations]
    with tempfile.TemporaryDirectory() as folder:
        grids, expected = grids_of(program, Path(folder), ONE_TO_FIVE, FIXED)
        worked = dict.fromkeys(["gpu.l2_tlb.fill_bypass_hits", "gpu.l2_cache.walk_reads_bypassed_reads", "gpu.dram.scheduler_silver_lines"], 0)

        def look(grid, d):
            for statistic in worked:
                worked[statistic] += grid.gpu_total(statistic) > 0
            bypassed = grid.gpu_total("gpu.l2_cache.walk_reads_bypassed_reads")
            reads, writes, hits, misses = grid.summed("l2_slice_reads", "l2_slice_writes", "l2_slice_hits", "l2_slice_misses")
            check(reads + writes == hits + misses + bypassed or d.settings["gpu.l2_cache.partitions"] == "2",
                  f"{d.name}: {reads} reads and {writes} writes, {hits} hits, {misses} misses, {bypassed} bypassed")

        ran, refused = run_drawn(grids, expected, chosen, has_ranks(program), 12, 8, "without MASK", look)
        check(ran > len(chosen) // 3, f"only {ran} of {len(chosen)} combinations run")
        check(all(n > ran // 20 for n in worked.values()), f"mechanisms were active in {worked} of {ran} runs")
        print(f"{ran} combinations run, {refused} are rejected; {worked}")
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
