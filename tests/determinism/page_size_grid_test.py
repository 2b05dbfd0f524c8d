# SPDX-License-Identifier: Apache-2.0
"""Random combinations of the policies of page sizes, frame allocation, compaction, TLBs, replays and routing. Each combination runs, or is
refused with exit code 2 and a sentence per mistake. DRAWN combinations are tested with a fixed seed, each with random settings of placement,
paging, allocation and applications, on tiny machines of one and two GPUs, with pages of 64 KiB and 2 MiB.

Each run makes the same accesses as with only base pages, and has one digest on one and two threads and in partitions of any size; some
combinations also on two ranks, and stopped and resumed. The policy names come from the program's list, so new policies are included.

Usage: page_size_grid_test.py BUILD_FOLDER/anything [DRAWN [SEED]]
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
from grid import Drawn, grids_of, has_ranks, names_of, run_drawn

AXES = ["memory.page_sizes", "memory.frame_allocation", "memory.compaction", "gpu.l1_tlb.organization", "gpu.l2_tlb.organization", "driver.batch.replay",
        "gpu.router.policy"]
OTHERS = {
    "machine.generic.gpus": ["1", "2"],
    "memory.placement": ["cpu", "cpu", "first_touch", "contiguous", "interleave"],
    "memory.remote_touch": ["migrate", "migrate", "remote_access", "remote_access", "duplicate"],
    "memory.fault_path": ["gpu", "gpu", "gpu", "iommu"],
    "memory.gpu_share": ["1.0", "1.0", "0.6"],
    "memory.large_pages": ["none", "all"],
    "driver.batch.eviction_unit": ["64KiB", "128KiB", "2MiB"],
    "driver.batch.eviction_schedule": ["serialized", "unobtrusive", "ideal"],
    "gpu.sm.thread_blocks": ["occupancy", "thread_oversubscription"],
    "gpu.gmmu.walk_cache": ["0", "16"],
    "gpu.gmmu.walk_reads_first_entry": ["true", "false"],
    "gpu.gmmu.table_writes": ["1", "8"],
    "iommu.tlb_organization": ["plain", "by_page_size"],
    "memory.fragmentation_index": ["0.0", "1.0", "1.0"],
    "memory.fragmentation_occupancy": ["0.1", "0.5", "0.7"],
    "memory.moves_stall_gpu": ["true", "false"],
}
# One application whose data is placed at time zero, or that allocates and frees it; and two that share the SMs, each in
# its own address space.
PROGRAMS = {
    "alone": '[workload]\nname = "transpose"\ntranspose.width = 1024\ntranspose.height = 512\n',
    "allocates": '[workload]\nname = "transpose"\nallocates = true\ntranspose.width = 1024\ntranspose.height = 512\n',
    "two": '[[application]]\nworkload = "transpose"\nsms = "equal"\nrepeats = 2\nallocates = true\ntranspose.width = 1024\n'
           'transpose.height = 512\n\n[[application]]\nworkload = "vectoradd"\nsms = "equal"\nvectoradd.elements = 600000\n',
}
FIXED = {
    "machine.topology": "generic", "memory.page_size": "64KiB", "driver.migrations": "80", "gpu.dram.capacity": "64MiB",
    "driver.batch.time": "2us", "driver.batch.block_time": "1us", "driver.batch.first_touch_time": "2us",
    "driver.batch.prefetch": "tree", "gpu.sms": "4", "gpu.l1_tlb.entries": "4", "gpu.l1_tlb.ways": "4", "gpu.l2_tlb.entries": "16",
    "gpu.l2_tlb.ways": "4", "gpu.router.gmmu_bypass.epoch": "2us", "gpu.sm.max_blocks": "2", "gpu.sm.registers": "16384",
    "gpu.sm.thread_oversubscription.period": "1000",
}


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    drawn = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 13
    names = names_of(program, AXES)
    allocators = names["memory.frame_allocation"]
    allocators += (len(allocators) + 1) * ["contiguity_conserving"]  # the others do not support compaction
    draw = random.Random(seed)
    combinations = list(itertools.product(*names.values()))
    chosen = [Drawn(draw.choice(list(PROGRAMS)), FIXED, AXES, c, OTHERS, draw)
              for c in draw.sample(combinations, min(drawn, len(combinations)))]
    for d in chosen:
        if d.program != "alone":
            d.settings["memory.gpu_share"] = "1.0"  # a program's own allocations cannot be evicted from a full GPU
    check({(k, d.settings[k]) for d in chosen for k in AXES} == {(k, v) for k in AXES for v in names[k]} or drawn < 40, "a policy is in no combination")
    with tempfile.TemporaryDirectory() as folder:
        grids, expected = grids_of(program, Path(folder), PROGRAMS, FIXED)
        worked = dict.fromkeys(["coalesced", "moved"], 0)

        def look(grid, _):
            worked["coalesced"] += grid.machine_total("memory.page_sizes_coalesced_pages") > 0
            worked["moved"] += grid.machine_total("memory.compaction_moved_pages") + grid.machine_total("memory.page_sizes_moved_pages") > 0

        ran, refused = run_drawn(grids, expected, chosen, has_ranks(program), 12, 7, "with base pages", look)
        large, moved = worked.values()
        check(ran > drawn // 4, f"only {ran} of {len(chosen)} combinations run")
        check(large > ran // 12 or drawn < 100, f"base pages were coalesced in {large} of {ran} runs")
        check(moved > ran // 20 or drawn < 100, f"pages were moved within a memory in {moved} of {ran} runs")
        print(f"{ran} combinations run, {refused} are rejected; base pages were coalesced in {large}, moved within a memory in {moved}")
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
