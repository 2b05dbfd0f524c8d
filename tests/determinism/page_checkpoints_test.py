# SPDX-License-Identifier: Apache-2.0
"""Runs that are saved in the middle of a page's transition and resumed on other threads and on other ranks have the digest of the
uninterrupted run. The moments are read from the tables of the result: while a page is unmapped, while it is copied, within a batch, within
a move inside a memory. tests/models/page_checkpoints_test.cpp covers every step of every transition, in one process.

Usage: page_checkpoints_test.py BUILD_FOLDER/anything
"""
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import checks
from checks import check
from grid import Grid, has_ranks

SMALL = {
    "machine.topology": "generic", "machine.generic.gpus": "3", "gpu.sms": "4", "gpu.l1_tlb.entries": "4", "gpu.l1_tlb.ways": "4",
    "gpu.l2_tlb.entries": "16", "gpu.l2_tlb.ways": "4",
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
# Settings, and the table and columns between whose times the moments are.
CASES = {
    "moves": (SMALL | TRANSPOSE | {"memory.placement": "interleave", "memory.remote_touch": "migrate", "gpu.l2_cache.partitions": "2"},
              "migrations", ["started", "unmapped", "finished"]),
    "copies": (SMALL | BFS | {"memory.placement": "interleave", "memory.remote_touch": "duplicate", "memory.fault_path": "gpu"},
               "migrations", ["started", "unmapped", "finished"]),
    "batches of moves": (SMALL | TRANSPOSE | BATCHES | {"memory.remote_touch": "migrate", "driver.batch.replay": "page"},
                         "fault_batches", ["began", "first_transfer", "ended"]),
    "batches of copies": (SMALL | BFS | BATCHES | {"memory.remote_touch": "duplicate", "driver.batch.replay": "batch_flush"},
                          "fault_batches", ["began", "first_transfer", "ended"]),
    "compaction": (SMALL | MOSAIC, "relocations", ["began", "ended"]),
    "one driver for two machines": (
        SMALL | BFS | {"machine.generic.gpus": "2", "machine.cluster.machines": "2", "memory.scope": "cluster", "memory.placement": "interleave",
                       "memory.remote_touch": "duplicate", "memory.fault_path": "gpu"}, "migrations", ["started", "unmapped", "finished"]),
}


def moments(table, columns):
    """In the middle of each stage, for the row a third and the row two thirds down the table."""
    rows = len(table[columns[0]])
    for row in sorted({rows // 3, 2 * rows // 3}):
        times = [int(table[c][row]) for c in columns]
        yield from ((a + b) // 2 for a, b in zip(times, times[1:]) if b - a > 1)


def check_case(grid, name, settings, table, columns, places):
    first, digest = grid.run(settings, "--threads", "1")
    check(first.returncode == 0, f"{name}: {first.stderr.strip()}")
    rows = grid.table(table) if first.returncode == 0 else None
    check(rows is not None and len(rows[columns[0]]) > 3, f"{name}: too few rows of {table}")
    if rows is None:
        return 0
    saved, tried = grid.folder / "run.checkpoint", 0
    for moment in moments(rows, columns):
        for ranks, *how in places:
            for file in (saved, grid.folder / "run.checkpoint.previous"):
                file.unlink(missing_ok=True)
            grid.run(settings, "--checkpoint", saved, "--checkpoint-every", f"{moment}ps", "--until", f"{moment + 1}ps", output="other.h5")
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
