# SPDX-License-Identifier: Apache-2.0
"""Random combinations of the policies of demand paging, thread blocks and translation routing. Each combination runs, or is refused with
exit code 2 and one sentence. DRAWN combinations are tested with a fixed seed, on tiny machines of one to three GPUs.

Each run makes the same accesses as a run without paging, loses no fault-buffer entry, copies the bytes that the rows of its batches
report, and has one digest on one and two threads and in partitions of any size; some combinations also on two ranks, and stopped and
resumed. The policy names come from the program's list, so new policies are included.

Usage: paging_grid_test.py BUILD_FOLDER/anything [DRAWN [SEED]]
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
from grid import Grid, check_elsewhere, check_resume, has_ranks, is_sentences, names_of

AXES = ["driver.batch.replay", "driver.batch.prefetch", "driver.batch.eviction_order", "driver.batch.eviction_schedule",
        "gpu.sm.thread_blocks", "gpu.router.policy"]
# Drawn in addition. The last unit is refused, and in batches also the last fault path.
OTHERS = {
    "machine.generic.gpus": ["1", "2", "3"],
    "driver.batch.eviction_unit": ["4KiB", "16KiB", "32KiB", "4KiB", "16KiB", "32KiB", "96KiB"],
    "driver.batch.clean_pages": ["transferred", "dropped"],
    "driver.batch.lifetimes": ["all", "after_first_eviction"],
    "driver.batch.faults": ["256", "16"],
    "gpu.gmmu.fault_buffer": ["1024", "16", "2"],
    "gpu.gmmu.faults_per_utlb": ["0", "0", "3"],
    "gpu.gmmu.sms_per_utlb": ["1", "2"],
    "memory.gpu_share": ["0.5", "0.75", "1.0"],
    "memory.fault_path": ["gpu", "gpu", "gpu", "gpu", "gpu", "gpu", "gpu", "iommu"],
    "memory.placement": ["cpu", "cpu", "first_touch"],
    "memory.remote_touch": ["migrate", "duplicate", "remote_access"],
    "gpu.memory_contents": ["plain", "compressed"],
    "fabric.copies": ["raw", "compressed"],
    "driver.batch.workers": ["1", "2", "one_per_gpu", "one_per_gpu"],
}
FIXED = {
    "machine.topology": "generic", "driver.migrations": "64",
    "driver.batch.time": "2us", "driver.batch.block_time": "1us", "driver.batch.first_touch_time": "2us",
    "driver.batch.sequential.bytes": "16KiB", "gpu.sms": "4", "gpu.l1_tlb.entries": "4", "gpu.l1_tlb.ways": "4",
    "gpu.l2_tlb.entries": "16", "gpu.l2_tlb.ways": "4", "gpu.router.gmmu_bypass.epoch": "2us", "gpu.sm.max_blocks": "2",
    "gpu.sm.registers": "16384", "gpu.sm.thread_oversubscription.period": "1000", "gpu.sm.throttling.detection": "1000",
    "gpu.sm.throttling.execution": "2000", "workload.name": "transpose", "workload.transpose.width": "256",
    "workload.transpose.height": "128",
}
# A third of the runs with migration: pages move by access counters, without a limit or with fewer counters than regions, and some also at faults.
COUNTED = {"memory.remote_touch": "access_counters", "gpu.access_counters.threshold": "16", "gpu.access_counters.granularity": "64KiB"}
COUNTED_IN_TURN = [{}, {"gpu.access_counters.counters": "2"}, {"gpu.access_counters.counters": "1", "memory.access_counters.first_access": "moves"}]
# Half of the runs: levels of TLBs instead of the L2 TLB, with groups and banks at the SMs and at the GMMU.
LEVELS_IN_TURN = [
    '[{name = "utlb", sms = 2, entries = 8, ways = 4, mshrs = 4}, {name = "l2_tlb", banks = 2, entries = 8, ways = 4, interleave = "4 KiB"}]',
    '[{name = "gpc_tlb", groups = 2, banks = 3, hash = "ipoly", interleave = "8 KiB", entries = 8, ways = 4, request_latency = 7}]']
# Drawn in addition: large pages that are mapped at their first touch and leave for good, with long migrations.
MAPPED_AND_EVICTED = {
    "memory.placement": "first_touch", "memory.remote_touch": "remote_access", "memory.fault_path": "gpu", "memory.page_size": "64KiB",
    "driver.batch.eviction_unit": "64KiB", "gpu.dram.capacity": "64MiB", "workload.transpose.width": "1024",
    "workload.transpose.height": "256",
}


def check_evictions_of_mapped_pages(grid, names, draw):
    whole = {gpus: grid.run(FIXED | MAPPED_AND_EVICTED | {"machine.generic.gpus": gpus}) and grid.accesses() for gpus in ("1", "2", "3")}
    for replay in names["driver.batch.replay"]:
        settings = FIXED | MAPPED_AND_EVICTED | {"driver.batch.replay": replay} | {
            "machine.generic.gpus": draw.choice(list(whole)), "memory.gpu_share": draw.choice(["0.5", "0.7"]),
            "gpu.sms": draw.choice(["4", "5"]), "driver.batch.eviction_schedule": draw.choice(names["driver.batch.eviction_schedule"])}
        name = "leaving " + " ".join(settings.values())
        _, digest = grid.run(settings, "--threads", "1", "--partitions", "device")
        check(not digest.startswith("exit"), f"{name}: {digest}")
        if digest.startswith("exit"):
            continue
        check(grid.accesses() == whole[settings["machine.generic.gpus"]], f"{name}: accesses {grid.accesses()}")
        check(replay == "each_fault" or grid.machine_total("driver_evicted_pages") > 0, f"{name}: no page was evicted")
        check_elsewhere(grid, settings, digest, name)


def check_result(grid, settings, expected, name):
    accesses = grid.accesses()
    check(accesses == expected, f"{name}: accesses {accesses}, without paging {expected}")
    faulted, replayed = grid.summed("sm_faulted", "sm_replayed")
    check(faulted == replayed, f"{name}: {faulted} accesses faulted, {replayed} replayed")
    batches = grid.table("fault_batches")
    check((batches is None) == (settings["driver.batch.replay"] == "each_fault"), f"{name}: unexpected or missing batches")
    if batches is None:
        return
    rows = {column: [int(x) for x in values] for column, values in batches.items() if column != "gpu"}
    written, flushed = grid.summed("gmmu_raw_faults", "gmmu_flushed_faults")
    check(sum(rows["raw_faults"]) + flushed == written, f"{name}: {written} entries written, {sum(rows['raw_faults'])} read, {flushed} flushed")
    lines_in, lines_out = (64 * n for n in grid.summed("copy_engine_lines_in", "copy_engine_lines_out"))
    pages, evicted = sum(rows["pages"]) + sum(rows["prefetched_pages"]), sum(rows["evicted_pages"]) - sum(rows["dropped_pages"])
    touched = grid.machine_total("driver_pages_mapped")  # first touches have nothing to transfer
    counted = grid.machine_total("driver_counted_pages")  # outside batches
    check(lines_in - 4096 * counted == sum(rows["bytes_in"]) == 4096 * (pages - touched),
          f"{name}: {lines_in} bytes in, rows have {sum(rows['bytes_in'])}, pages {pages}, {touched} of them mapped at their first touch")
    transfers = settings["driver.batch.eviction_schedule"] != "ideal"
    check(lines_out == sum(rows["bytes_out"]) == 4096 * evicted * transfers,
          f"{name}: {lines_out} bytes out, rows have {sum(rows['bytes_out'])}, pages transferred {evicted}")
    check(all(f <= e and b <= t <= e for f, b, t, e in zip(rows["first_fault"], rows["began"], rows["first_transfer"], rows["ended"])),
          f"{name}: the times of a batch are out of order")
    workers = {"one_per_gpu": settings["machine.generic.gpus"]}.get(settings["driver.batch.workers"], settings["driver.batch.workers"])
    spans = list(zip(rows["began"], rows["ended"], batches["gpu"]))
    at_once = max((sum(b <= began < e for b, e, _ in spans) for began, _, _ in spans), default=0)
    check(at_once <= int(workers), f"{name}: {at_once} batches overlap")
    for gpu in set(batches["gpu"]):
        own = [(b, e) for b, e, of in spans if of == gpu]
        check(all(e <= b for (_, e), (b, _) in zip(own, own[1:])), f"{name}: batches of {gpu} overlap")


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    drawn = int(sys.argv[2]) if len(sys.argv) > 2 else 80
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    names = names_of(program, AXES)
    draw = random.Random(seed)
    combinations = list(itertools.product(*names.values()))
    chosen = draw.sample(combinations, min(drawn, len(combinations)))
    check({(k, v) for c in chosen for k, v in zip(AXES, c)} == {(k, v) for k in AXES for v in names[k]} or drawn < 40,
          "a policy is in no combination")
    with tempfile.TemporaryDirectory() as folder:
        grid = Grid(program, Path(folder))
        ranks = has_ranks(program)
        expected = {}
        for gpus in ("1", "2", "3"):
            grid.run(FIXED | {"machine.generic.gpus": gpus, "memory.placement": "first_touch", "memory.remote_touch": "remote_access"})
            expected[gpus] = grid.accesses()
        ran = refused = 0
        digests = {}
        for combination in chosen:
            settings = FIXED | dict(zip(AXES, combination)) | {key: draw.choice(values) for key, values in OTHERS.items()}
            if settings["memory.fault_path"] == "iommu":
                settings["driver.batch.eviction_unit"] = "4KiB"  # two mistakes would be reported in two sentences
            if settings["memory.remote_touch"] == "duplicate":
                settings["memory.fault_path"] = "gpu"
            if settings["memory.remote_touch"] == "migrate" and ran % 3 == 0:
                settings |= COUNTED | COUNTED_IN_TURN[ran // 3 % len(COUNTED_IN_TURN)]
            if settings["memory.remote_touch"] == "remote_access":
                settings["memory.placement"] = "first_touch"  # without it no access faults
            name = " ".join(settings[key] for key in AXES + list(OTHERS))
            if ran % 4 < 2:
                settings = {key: value for key, value in settings.items() if not key.startswith("gpu.l2_tlb.")}
                settings["gpu.translation.level"] = LEVELS_IN_TURN[ran % 4]
                name += f" levels {ran % 4}"
            first, digest = grid.run(settings, "--threads", "1", "--partitions", "device")
            if first.returncode != 0:
                check(is_sentences(first), f"{name}: exit code {first.returncode}: {first.stderr.strip()}")
                refused += 1
                continue
            ran += 1
            check_result(grid, settings, expected[settings["machine.generic.gpus"]], name)
            apart = [["--threads", "2", "--partitions", "split", "--no-merge"]] if ran % 16 in (1, 2, 3) else []
            check_elsewhere(grid, settings, digest, name, ran % 16 in (1, 2, 3) and ranks, apart)
            if ran % 16 in (1, 2, 3):
                check_resume(grid, settings, digest, name)
            digests.setdefault(digest, []).append(name)
        check_evictions_of_mapped_pages(grid, names, draw)
        check(ran > drawn // 2, f"only {ran} of {len(chosen)} combinations run")
        # Choices that have no effect in these runs may share a digest; most must not.
        check(len(digests) > ran * 3 // 4, f"{ran} runs have {len(digests)} digests")
        print(f"{ran} combinations run, {refused} are rejected, {len(digests)} digests")
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
