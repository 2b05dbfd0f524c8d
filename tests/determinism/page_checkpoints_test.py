# SPDX-License-Identifier: Apache-2.0
"""Runs that are saved in the middle of a page's transition and resumed on other threads and on other ranks have the digest of the
uninterrupted run. The moments are read from the tables of the result: while a page is unmapped, while it is copied, within a batch, while
the driver's workers serve two batches, within a move inside a memory. Runs with batches also have one digest on two threads, and runs with a
worker per GPU on two ranks. tests/models/page_checkpoints_test.cpp covers every step of every transition, in one process.

Usage: page_checkpoints_test.py BUILD_FOLDER/anything
"""
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import checks
from checks import check
from grid import Grid, check_elsewhere, has_ranks

SMALL = {
    "machine.topology": "generic", "machine.generic.gpus": "3", "gpu.sms": "4", "gpu.l1_tlb.entries": "4", "gpu.l1_tlb.ways": "4",
    "gpu.l2_tlb.entries": "16", "gpu.l2_tlb.ways": "4", "run.sample_interval": "1us",
}
TRANSPOSE = {"workload.name": "transpose", "workload.transpose.width": "256", "workload.transpose.height": "128"}
BFS = {"workload.name": "bfs", "workload.bfs.rmat.scale": "9"}
BATCHES = {
    "memory.fault_path": "gpu", "memory.placement": "cpu", "memory.gpu_share": "0.5", "driver.migrations": "64",
    "driver.batch.eviction_unit": "4KiB", "driver.batch.time": "2us", "driver.batch.block_time": "1us", "driver.batch.first_touch_time": "2us",
}
MOSAIC = {
    "machine.generic.gpus": "1", "memory.page_size": "64KiB", "gpu.dram.capacity": "32MiB", "memory.placement": "first_touch",
    "workload.name": "transpose", "workload.transpose.width": "1024", "workload.transpose.height": "1024",
    "memory.frame_allocation": "contiguity_conserving", "memory.page_sizes": "in_place_coalescer", "memory.compaction": "cac",
    "memory.fragmentation_index": "1", "memory.fragmentation_occupancy": "0.25",
}
MOVES_IN_BATCHES = SMALL | TRANSPOSE | BATCHES | {"memory.remote_touch": "migrate", "driver.batch.replay": "page"}
BATCH_STAGES = ["began", "first_transfer", "ended"]
AT_ONCE = {"1": 1, "2": 2, "one_per_gpu": 3}  # batches, by driver.batch.workers
# Settings, and the table and columns between whose times the moments are. With several workers, two batches are served at each moment.
CASES = {
    "moves": (SMALL | TRANSPOSE | {"memory.placement": "interleave", "memory.remote_touch": "migrate", "gpu.l2_cache.partitions": "2"},
              "migrations", ["started", "unmapped", "finished"]),
    "copies": (SMALL | BFS | {"memory.placement": "interleave", "memory.remote_touch": "duplicate", "memory.fault_path": "gpu"},
               "migrations", ["started", "unmapped", "finished"]),
    **{f"batches of moves, {workers}": (MOVES_IN_BATCHES | {"driver.batch.workers": workers}, "fault_batches", BATCH_STAGES)
       for workers in AT_ONCE},
    "batches of copies": (
        SMALL | BFS | BATCHES | {"memory.remote_touch": "duplicate", "driver.batch.replay": "batch_flush", "driver.batch.workers": "2"},
        "fault_batches", BATCH_STAGES),
    "compaction": (SMALL | MOSAIC, "relocations", ["began", "ended"]),
    "one driver for two machines": (
        SMALL | BFS | {"machine.generic.gpus": "2", "machine.cluster.machines": "2", "memory.scope": "cluster", "memory.placement": "interleave",
                       "memory.remote_touch": "duplicate", "memory.fault_path": "gpu"}, "migrations", ["started", "unmapped", "finished"]),
}


# A checkpoint is saved at the next sample, or at the end of a window, which is long with a network.
def window_of(settings):
    return 3_000_000 if "machine.cluster.machines" in settings else 1_100_000


def moments(table, columns):
    """In the middle of each stage, for the row a third and the row two thirds down the table."""
    rows = len(table[columns[0]])
    for row in sorted({rows // 3, 2 * rows // 3}):
        times = [int(table[c][row]) for c in columns]
        yield from ((a + b) // 2 for a, b in zip(times, times[1:]) if b - a > 1)


def shared_moments(batches, window):
    """Two moments at which, until the checkpoint is saved, two batches are served."""
    spans = sorted((int(b), int(e)) for b, e in zip(batches["began"], batches["ended"]))
    shared = [(b, min(end, e)) for i, (_, end) in enumerate(spans) for b, e in spans[i + 1:] if min(end, e) - b > window]
    for i in sorted({len(shared) // 3, 2 * len(shared) // 3}) if shared else ():
        begin, end = shared[i]
        yield (begin + end - window) // 2


def moments_of(name, settings, table, columns):
    workers = settings.get("driver.batch.workers", "1")
    if "driver.batch.replay" in settings:
        spans = list(zip(table["began"], table["ended"]))
        at_once = max(sum(b <= began < e for b, e in spans) for began, _ in spans)
        check(at_once == AT_ONCE[workers], f"{name}: {at_once} batches at once")
    if workers == "1":
        return list(moments(table, columns))[: 2 if "driver.batch.replay" in settings else None]
    found = list(shared_moments(table, window_of(settings)))
    check(len(found) == 2, f"{name}: {len(found)} moments at which two batches are served")
    return found


def check_case(grid, name, settings, table, columns, places):
    first, digest = grid.run(settings, "--threads", "1")
    check(first.returncode == 0, f"{name}: {first.stderr.strip()}")
    rows = grid.table(table) if first.returncode == 0 else None
    check(rows is not None and len(rows[columns[0]]) > 3, f"{name}: too few rows of {table}")
    if rows is None:
        return 0
    if "driver.batch.replay" in settings:
        check_elsewhere(grid, settings, digest, name, len(places) > 1 and settings["driver.batch.workers"] == "one_per_gpu")
    saved, tried, window = grid.folder / "run.checkpoint", 0, window_of(settings)
    for moment in moments_of(name, settings, rows, columns):
        for ranks, *how in places:
            for file in (saved, grid.folder / "run.checkpoint.previous"):
                file.unlink(missing_ok=True)
            grid.run(settings, "--checkpoint", saved, "--checkpoint-every", f"{moment}ps", "--until", f"{moment + window}ps", output="other.h5")
            check(saved.exists(), f"{name}: no checkpoint at {moment} ps")
            _, resumed = grid.run(settings, "--resume", saved, *how, ranks=ranks, output="other.h5")
            check(resumed == digest, f"{name}, saved at {moment} ps, {ranks} ranks, {how}: '{resumed}', not '{digest}'")
            tried += 1
    return tried


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    places = [(1, "--threads", "2", "--partitions", "split")]
    if has_ranks(program):
        places += [(2, "--threads", "1", "--partitions", "device"), (3, "--threads", "1", "--partitions", "split")]
    else:
        print("skipped: ranks: the program was built without MPI, or mpirun is missing")
    with tempfile.TemporaryDirectory() as folder:
        grid = Grid(program, Path(folder))
        tried = sum(check_case(grid, name, *case, places) for name, case in CASES.items())
    check(tried >= 2 * len(CASES) * len(places), f"only {tried} runs were resumed")
    print(f"{tried} runs resumed")
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
