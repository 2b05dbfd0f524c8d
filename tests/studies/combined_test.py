# SPDX-License-Identifier: Apache-2.0
"""The study of all mechanisms with small applications. All 64 cells of its grid run on two GPUs, each with one digest on one and two threads,
three of them also on two ranks. Tables and figure match the runs' counters; effects and interactions match
hand-computed ones; invalid input is rejected.

Usage: combined_test.py BUILD_FOLDER/anything [ranks]: with `ranks`, all cells on two ranks, which takes minutes
"""
import json
import math
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "bench/studies/combined"
sys.path[:0] = [str(STUDY), str(ROOT / "bench/studies"), str(ROOT / "tests/support")]
import checks
from checks import check
from grid import has_ranks
from study_runs import configuration_of, digest_by, file_of

try:
    import h5py

    import plot
    import records
    import report
    import study
    import vector
    from configuration import StudyError, flat
    from interactions import Grid, performance, classify, spread
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

ALL = tuple(study.MECHANISMS)
MADE = {"checkout": "", "program": "farfault", "program_sha256": "0", "runs": 0, "results": "0", "size": "small", "migration": "migrate"}
# Definition of each counter of a cell by statistics of the result, independent of the study's own. A share is the ratio
# of two sums.
SUMS = {
    "instructions": ["sm_instructions"], "gmmu_walks": ["gmmu_walks"], "iommu_walks": ["iommu_walks"], "batches": ["driver_batches"],
    "first_touches": ["driver_pages_mapped"], "moved": ["driver_migrations"], "prefetched": ["driver_prefetched_pages"], "evicted": ["driver_evicted_pages"],
    "came_again": ["driver_premature_evictions"], "invalidations": ["gmmu_invalidations"], "coalesced": ["memory.page_sizes_coalesced_pages"],
    "splintered": ["memory.page_sizes_splintered_pages"], "compacted": ["memory.compaction_moved_pages"], "bypass_cache_hits": ["gpu.l2_tlb.fill_bypass_hits"],
    "token_moves": ["gpu.l2_tlb.fill_increases", "gpu.l2_tlb.fill_decreases"], "walk_reads": ["l2_slice_walk_reads"],
    "walk_reads_bypassed": ["gpu.l2_cache.walk_reads_bypassed_reads"], "golden_lines": ["gpu.dram.scheduler_golden_lines"],
    "silver_lines": ["gpu.dram.scheduler_silver_lines"], "dram_bytes": ["dram_bytes"], "compressed_hits": ["gpu.l2_tlb.organization_compressed_hits"],
    "rebasings": ["gpu.l2_tlb.organization_rebasings"], "gave_way": ["sm_blocks_swapped_out"], "context_bytes": ["sm_context_bytes"],
    **{name: [f"gpu.router_{name}"] for name in ("local_predictions", "remote_predictions", "undecided_requests", "correct_local_predictions",
                                                  "correct_remote_predictions")},
}
SHARES = {
    "l1_tlb_hit": (["sm_l1_tlb_hits"], ["sm_l1_tlb_hits", "sm_l1_tlb_misses"]), "l2_tlb_hit": (["l2_tlb_hits"], ["l2_tlb_hits", "l2_tlb_misses"]),
    "l2_tlb_merged": (["l2_tlb_merged_misses"], ["l2_tlb_misses"]), "gmmu_walks_missed": (["gmmu_walk_misses"], ["gmmu_walk_hits", "gmmu_walk_misses"]),
    "in_translation": ([f"sm_time_in_{w}" for w in ("l1_tlb", "l2_tlb", "walk_queue", "walk", "iommu")], ["sm_access_time"]),
    "in_faults": (["sm_time_in_fault"], ["sm_access_time"]), "in_links": (["sm_time_in_links"], ["sm_access_time"]),
    "in_memory": ([f"sm_time_in_{w}" for w in ("l2_cache", "dram", "dram_queue", "remote_memory")], ["sm_access_time"]),
    "waits_for_faults": (["sm_fault_stall_time"], ["sm_time"]), "idle": (["sm_idle_time"], ["sm_time"]),
    "remote": (["sm_remote_accesses"], ["sm_remote_accesses", "sm_l2_hits", "sm_l2_misses"]), "driver_busy": (["driver_busy_time"], ["end"]),
    "walk_reads_hit": (["l2_slice_walk_hits"], ["l2_slice_walk_reads"]),
    "compressed_fills": (["gpu.l2_tlb.organization_compressed_fills"], ["gpu.l2_tlb.organization_compressed_fills", "gpu.l2_tlb.organization_uncompressed_fills"]),
    "flushed": (["gpu.l2_tlb.organization_flushed_translations"], ["gpu.l2_tlb.organization_compressed_fills"]),
    "large_hits": (["gpu.l1_tlb.organization_large_hits"], ["gpu.l1_tlb.organization_large_hits", "gpu.l1_tlb.organization_base_hits"]),
}
ON_RANKS = ["none", "gmmu_bypass+to_ue+migration", "+".join(ALL)]
# Columns of the tables of cells.
HEADINGS = {
    "L2 TLB hits": "l2_tlb_hit", "GMMU walks, k": "gmmu_walks", "IOMMU walks, k": "iommu_walks", "in translation": "in_translation", "in faults": "in_faults",
    "on links": "in_links", "remote accesses": "remote", "batches": "batches", "pages migrated, k": "moved", "evicted, k": "evicted", "premature evictions, k": "came_again",
    "coalesced": "coalesced", "splintered": "splintered", "blocks swapped out": "gave_way",
}
# Settings of each mechanism, from the preset of its paper. Settings that no preset has are given here with a value.
PARTS = {
    "gmmu_bypass": ("", {"gpu.router.policy": "gmmu_bypass"}),
    "mosaic": ("paper-mosaic", {"memory.frame_allocation", "memory.page_sizes", "memory.compaction"}),
    "mask": ("paper-mask", {"gpu.l2_tlb.fill", "gpu.l2_cache.walk_reads", "gpu.dram.scheduler", "gpu.dram.queue"}),
    "compression": ("paper-tlb-compression", {"gpu.l2_tlb.organization", "gpu.l2_tlb.compressed.rebasing"}),
    "to_ue": ("", {"gpu.sm.thread_blocks": "thread_oversubscription", "driver.batch.eviction_schedule": "unobtrusive"}),
    "migration": ("", {"memory.remote_touch": "migrate"}),
}
# Counters of each mechanism, which are 0 if it is off.
OWN = {"gmmu_bypass": ["remote_predictions", "correct_remote_predictions"], "mosaic": ["coalesced"], "mask": ["golden_lines", "silver_lines"],
       "compression": ["compressed_hits", "rebasings"], "to_ue": ["gave_way"], "migration": ["moved", "came_again"]}


def close(a, b):
    """For figures in results.json.xz, which have six digits."""
    return a is not None and b is not None and abs(a - b) < 1e-5 * max(1, abs(a), abs(b))


def check_mechanisms():
    check(study.MECHANISMS.keys() == PARTS.keys(), "six mechanisms")
    large = "gpu.l2_tlb.compressed.large_entries"
    for name, (preset, parts) in PARTS.items():
        if preset:
            has = flat(tomllib.loads((ROOT / f"topologies/presets/{preset}.toml").read_text()))
            parts = {key: has[key] for key in parts}
        own = dict(study.MECHANISMS[name])
        if name == "compression":
            check(own.pop(large, None) == study.MACHINE["gpu.l2_tlb.by_page_size.large_entries"], "a compressed L2 TLB has as many entries for large pages as a plain one")
        check(own == parts, f"{name}: {own}, not {parts}")
        check(not any(study.MACHINE.get(key) == value for key, value in own.items()), f"{name} is on in all cells")


def check_cells(keys):
    cells = study.cells()
    check(len(cells) == len(set(cells)) == 64 and cells[0] == () and cells[-1] == ALL, "64 cells, from none to all")
    few = study.few_cells()
    check(len(few) == 1 + 6 + 15 + 1 and few[-1] == ALL and all(len(c) <= 2 for c in few[:-1]), "--quick: none, each, each pair, all")
    check(all(study.cell_of(study.words_of(c)) == c for c in cells) and study.cell_of("mask+mosaic") == ("mosaic", "mask"), "cells in words")
    check(study.NAMES.keys() == study.MECHANISMS.keys() == OWN.keys(), "each has a name for the tables")
    used = set(study.MACHINE).union(*study.MECHANISMS.values(), study.NOISE)
    check(used <= keys, f"the program has no {used - keys}")
    for mechanism, on in study.MECHANISMS.items():
        others = set().union(*(s for m, s in study.MECHANISMS.items() if m != mechanism))
        check(not others & on.keys(), f"{mechanism} sets a parameter of another mechanism")
    runs = [study.Run(mix, n, c) for mix in study.MIXES for n in study.GPUS for c in cells]
    check(len({run.name for run in runs}) == len(runs) == 192, "each run has a distinct name")
    check(sum(run.cost() for run in runs) < 3600, "at most one hour on one core")
    try:
        study.cell_of("mosaic+lru")
        check(False, "an unknown mechanism")
    except StudyError as problem:
        check("unknown mechanism 'lru'" in str(problem), f"an unknown mechanism: {problem}")


def grid_of(bases, pairs=(), noise=None):
    """Performances composed of effects and pairwise interactions of mechanisms a, b and c."""
    cells = {}
    for n in range(8):
        cell = tuple(m for i, m in enumerate("abc") if n >> i & 1)
        cells[cell] = -3 + sum(bases[m] for m in cell) + sum(v for pair, v in pairs if set(pair) <= set(cell))
    return Grid(cells, "abc", noise)


def check_interactions():
    check(close(performance([2, 8]), -math.log(4)) and performance([2, None]) is None and performance([]) is None, "performance: the geometric mean")
    grid = grid_of({"a": 0.3, "b": -0.1, "c": 0.2}, [("ab", -0.25), ("abc", 0.07)])
    check(close(grid.effect("a"), 0.3) and close(grid.effect("a", frozenset("b")), 0.05) and close(grid.gain("ab"), -0.05), "effects")
    check(close(grid.mean_effect("a"), (0.3 + 0.05 + 0.3 + 0.12) / 4) and len(grid.effects("a")) == 4, "the mean effect, over four backgrounds")
    check(close(grid.interaction("a", "b"), -0.25) and close(grid.interaction("b", "a", frozenset("c")), -0.18), "interactions, by the other mechanisms")
    check(close(grid.mean_interaction("a", "b"), -0.215) and close(grid.mean_interaction("a", "c"), 0.035), "mean interactions")
    check(grid.best() == frozenset("ac"), f"the best cell: {grid.best()}")
    check(plot.entries(grid)[0] == [grid.effect("a"), grid.interaction("a", "b"), grid.interaction("a", "c")]
          and plot.entries(grid)[2][:2] == [grid.mean_interaction("a", "c"), grid.mean_interaction("b", "c")], "rows of the figure")
    words = {
        "neither does anything": ({"a": 0.01, "b": -0.01}, 0.005), "add": ({"a": 0.3, "b": 0.2}, 0.01), "useless:b": ({"a": 0.4, "b": 0.1}, -0.09),
        "useless:a,b": ({"a": 0.1, "b": 0.1}, -0.1), "harmless:a": ({"a": -0.2, "b": 0.5}, 0.19), "help": ({"a": 0.1, "b": 0.1}, 0.05),
        "hinder": ({"a": 0.3, "b": 0.3}, -0.1),
    }
    for expected, (bases, pair) in words.items():
        told = classify(grid_of(bases | {"c": 0}, [("ab", pair)]), "a", "b")
        check(told and told.words == expected, f"{expected}: {told}")
    check(classify(grid_of({"a": 0.3, "b": 0.2, "c": 0}, [("ab", 0.1)], 0.03), "a", "b").words == "add", "within the noise, two effects add up")
    check(close(grid_of({"a": 0, "b": 0, "c": 0}, (), 0.03).least_effect, 0.06 * math.sqrt(2)), "an effect is the difference of two cells")
    check(close(spread([[1, 2, 3], [5, 5, None], [7]]), math.sqrt(2 / 3)) and spread([[1]]) is None, "the spread of repeated cells")
    part = Grid({(): -1, ("a",): -0.5, ("b",): None}, "abc")
    check(part.effect("a") == 0.5 and part.interaction("a", "b") is None and part.mean_interaction("a", "b") is None and classify(part, "a", "b") is None,
          "a missing cell has no value")


def ran(program, *arguments):
    return subprocess.run([sys.executable, STUDY / "run", "--program", program, *map(str, arguments)], capture_output=True, text=True)


def check_refusals(program, folder):
    for arguments, words in ((("--gpus", "0"), "--gpus 0"), (("--gpus", "two"), "--gpus two"), (("--cells", "mosaic+lru"), "'lru'"),
                             (("--migration", "move"), "'move'"), (("--jobs", "0"), "--jobs 0"),
                             (("--small", "--gpus", "2", "--migration", "duplicate", "--cells", "none,mosaic+migration"),
                              "mosaic+migration on 2 GPUs is invalid: memory.page_sizes = in_place_coalescer: pages with copies cannot be coalesced"),
                             (("--small", "--gpus", "4", "--cells", "mosaic"), "mosaic on 4 GPUs is invalid: memory.frame_allocation")):
        found = ran(program, "--out", folder, *arguments)
        check(found.returncode == 2 and found.stderr.startswith("run: ") and found.stderr.count("\n") == 1 and words in found.stderr,
              f"{arguments}: {found.returncode} {found.stderr}")
    found = ran(program, "--out", folder, "--small", "--gpus", "4", "--table-only")
    text = (folder / "results.md").read_text()
    check(found.returncode == 1 and "32 runs, 32 invalid cells" not in found.stdout and text.count("invalid") > 31, f"four GPUs: {found.stderr}")
    check("- 32 cells, such as mosaic on 4 GPUs: memory.frame_allocation = contiguity_conserving needs a large frame" in text, "the reason of impossible cells")
    refused = records.read(folder)["refused"]
    check(len(refused) == 32 and all("mosaic" in row["cell"] for row in refused), f"{len(refused)} impossible cells")


def check_counters(row, path):
    with h5py.File(path) as f:
        machine = f["summary/machine"]

        def total(names):
            return sum(int(machine[name][0]) for name in names if name in machine)

        for name, names in SUMS.items():
            check(row[name] == total(names), f"{row['cell']}: {name} {row[name]}, {total(names)} in the result")
        for name, (part, whole) in SHARES.items():
            told = total(part) / total(whole) if total(whole) else None
            check(row[name] is told is None or close(row[name], told), f"{row['cell']}: {name} {row[name]}, {told} in the result")
        check(row["link_bytes"] == int(f["tables/links/bytes"][...].sum()), "bytes on links")
        ends = f["summary/application/end"][...] - f["summary/application/start"][...]
        check(all(close(us, int(ps) / 1e6) for us, ps in zip(row["times_us"], ends)), f"{row['cell']}: times {row['times_us']}")
        check(SUMS.keys() | SHARES.keys() | {"mix", "gpus", "cell", "digest", "times_us", "end_us", "cycles", "link_bytes"} == row.keys(), "a counter is not checked")


def rows_below(text, heading):
    lines = text[text.index(f"\n{heading}\n"):].split("\n")[1:]
    end = next((i for i, line in enumerate(lines) if line.startswith("#") and i > 0), len(lines))
    return [[x.strip() for x in line.strip("|").split("|")] for line in lines[:end] if line.startswith("|") and "---" not in line]


def check_tables(text, rows):
    """Every figure of every row of the table of cells, and the tables of effects and pairs."""
    header, *body = rows_below(text, "### small, 2 GPUs")
    check(len(body) == 64 and header[:6] == list(study.NAMES.values()), f"{len(body)} rows")
    by_cell, bare = {row["cell"]: row for row in rows}, next(row for row in rows if row["cell"] == "none")
    names = [HEADINGS[heading] for heading in header[9:]]
    for line in body:
        row = by_cell[study.words_of(tuple(m for m, x in zip(study.MECHANISMS, line) if x))]
        ratios = [b / t for b, t in zip(bare["times_us"], row["times_us"])]
        check(line[6:9] == [f"{x:.2f}" for x in (math.sqrt(ratios[0] * ratios[1]), *ratios)], f"{row['cell']}: {line[6:9]}, {ratios}")
        for name, shown in zip(names, line[9:]):
            value = row[name]
            as_text = "-" if value is None else f"{100 * value:.1f}%" if "%" in shown else shown
            exact = value is None or "%" in shown or abs(float(shown) - (value if "." not in shown else value / 1000)) <= (0 if "." not in shown else 0.0501)
            check(shown == as_text and exact, f"{row['cell']}, {name}: '{shown}' for {value}")
    p = {row["cell"]: -sum(map(math.log, row["times_us"])) / 2 for row in rows}
    effects = {line[0]: line[1:] for line in rows_below(text, "### 2 GPUs")[1:]}
    for mechanism, name in study.NAMES.items():
        others = study.words_of(tuple(m for m in ALL if m != mechanism))
        check(effects[name][0] == f"{math.exp(p[mechanism] - p['none']):.2f}" and effects[name][4] == f"{math.exp(p['+'.join(ALL)] - p[others]):.2f}",
              f"{name}: {effects[name]}")
    pair = next(line for line in rows_below(text[text.index("\n## Pairs"):], "### 2 GPUs") if line[0] == "Mosaic, TO+UE")
    both, i = p["mosaic+to_ue"] - p["none"], p["mosaic+to_ue"] - p["mosaic"] - p["to_ue"] + p["none"]
    check(pair[3] == f"{math.exp(both):.2f}" and pair[4] == f"{math.exp(i):.2f}", f"Mosaic with TO+UE: {pair}, {both}, {i}")


def check_missing(folder, rows):
    """A table with two finished cells: a rejected cell has a row and its reason, and missing cells are omitted."""
    measured = {("small", 2, study.cell_of(row["cell"])): row for row in rows if row["cell"] in ("none", "mosaic")}
    refused = {("small", 2, ("mask",)): "because"}
    report.write(folder, measured, {}, refused, MADE, study.SMALL)
    text = (folder / "results.md").read_text()
    lines = rows_below(text, "### small, 2 GPUs")
    check(len(lines) == 4 and any("invalid" in line for line in lines), "an impossible cell has its row")
    check("- 1 cells, such as mask on 2 GPUs: because." in text, "an impossible cell has its reason")
    check(any(line[0] == "MASK" and line[1] == "-" for line in rows_below(text, "### 2 GPUs")), "missing cells are omitted")


def cells_on_ranks():
    return [study.words_of(c) for c in study.cells()] if sys.argv[2:] == ["ranks"] else ON_RANKS


def check_elsewhere(program, folder, rows, on_ranks):
    """One digest on two threads and, for some cells, on two ranks; the counters of some cells against their results."""
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]
    ranks = has_ranks(program)
    for row in rows:
        run = study.Run("small", 2, study.cell_of(row["cell"]), study.SMALL)
        path = file_of(folder, run)
        command = [program, "run", configuration_of(folder, run), "--output", path, "--progress", "off"]
        shown = digest_by([*command, "--threads", "2", "--partitions", "split"])
        check(shown.startswith(row["digest"]), f"{row['cell']}: {shown} on two threads, {row['digest']} on one")
        if path.exists() and len(run.cell) in (0, 1, 6):
            check_counters(row, path)
        path.unlink(missing_ok=True)
        if ranks and row["cell"] in on_ranks:
            shown = digest_by([*mpirun, *command, "--threads", "1", "--partitions", "device"])
            check(shown.startswith(row["digest"]), f"{row['cell']}: {shown} on two ranks, {row['digest']} on one")
            path.unlink(missing_ok=True)


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    listed = json.loads(subprocess.run([program, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    check_mechanisms()
    check_cells({p["key"] for p in listed})
    check_interactions()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_refusals(program, folder / "refused")
        found = ran(program, "--small", "--gpus", "2", "--out", folder / "out", "--jobs", "2")
        check(found.returncode == 0, f"the grid: {found.returncode} {found.stderr[-500:]}")
        if checks.failed() == 0:
            out = records.read(folder / "out")
            rows = out["cells"]
            check(len(rows) == 64 and not out["refused"] and len(out["again"]) == 14, f"{len(rows)} cells, {len(out['again'])} repeated")
            for row in rows:
                on = study.cell_of(row["cell"])
                for mechanism, names in OWN.items():
                    check(mechanism in on or not any(row[n] for n in names), f"{row['cell']}: {names} without {mechanism}")
            for mechanism, names in OWN.items():
                check(all(sum(row[n] for row in rows) > 0 for n in names), f"{mechanism} has no effect in any cell")
            check(len({row["digest"] for row in rows}) == 64, "two cells have equal results")
            check_tables((folder / "out/results.md").read_text(), rows)
            figure = (folder / "out/interactions.svg").read_text()
            check(figure.count("GPUs</text>") == 1 and len(re.findall(r">\d\.\d\d</text>", figure)) >= 36, "the figure")
            check(vector.small('<g>\n  <path d="M -0.449 1.25 \nL 3.04 -0.01\nz\n"/>\n <text x="2.349">0.449</text>\n</g>') ==
                  '\n<path d="M-0.4 1.2L3 0z"/>\n<text x="2.3">0.449</text>\n', "a figure without indentation")
            check(vector.small('<svg><style>*{}</style><!-- b --><path id="a" style="fill: #fff"/><g id="b"><use href="#a" style="fill: #fff"/></g></svg>') ==
                  '<svg><style>*{}\n.s0{fill: #fff}</style><path id="p0" class="s0"/><use href="#p0" class="s0"/></svg>', "a figure with named styles")
            check(vector.small('<g a="1"><g><clipPath id="m1f"/><g/></g><g id="n" b="2"><use clip-path="url(#m1f)" href="#n"/></g></g>') ==
                  '<g a="1"><clipPath id="p0"/><g id="p1" b="2"><use clip-path="url(#p0)" href="#p1"/></g></g>', "a figure's groups and names of parts")
            check(vector.small('<!DOCTYPE svg>\n<a><dc:type rdf:resource="x"/>\n<dc:title>t</dc:title><dc:creator>\n<b>x</b>\n</dc:creator></a>') ==
                  '<a><dc:title>t</dc:title></a>', "a figure keeps its title and description only")
            run = {"digest": "0123456789abcdef0123456789abcdef", "shares": [0.123456789, 7]}
            check(records.rounded(run, 6) == {"digest": "0123456789abcdef", "shares": [0.123457, 7]}, "the figures of a run are cut")
            check_elsewhere(program, folder, rows, cells_on_ranks())
            check_missing(folder / "part", rows)
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
