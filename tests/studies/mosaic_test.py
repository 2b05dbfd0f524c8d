# SPDX-License-Identifier: Apache-2.0
"""The study of Mosaic with small applications. Each design has one digest on one and two threads; every run has a valid configuration and
a unique name and identity; and the report has each part, with speedups as the paper defines them."""
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/studies/mosaic"), str(ROOT / "tests/support")]
import checks
from checks import check

try:
    import h5py

    import study
    import compaction
    import parts
    import records
    import report
    from study_runs import digest, file_of
    from measure import measure
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

PARTS = ["page_sizes", "homogeneous", "heterogeneous", "faults", "launch", "splits", "tlb_sizes", "fragmentation", "migrating",
         "sensitivity"]


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    listed = json.loads(subprocess.run([program, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    keys = {p["key"] for p in listed}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for quick in (True, False):
            runs = [run for found in parts.Parts(PARTS, quick, list(study.APPLICATIONS)).runs.values() for run in found.values()]
            check(len({run.name for run in runs}) == len(runs), "two runs have the same name")
            unknown = {key for run in runs for key in run.settings} - keys
            check(not unknown, f"the program has no {unknown}")
        check(all(len(m) == 25 for m in study.heterogeneous().values()), "25 mixes of each size")
        check(study.heterogeneous() == study.heterogeneous(), "the mixes change between calls")

        # RAY and LUD take one second alone.
        small = parts.Parts(["page_sizes", "homogeneous"], True, ["LUD", "RAY"])
        measured = {part: {} for part in small.runs}
        digests = {}
        for part, mix, what in (("page_sizes", ("RAY",), "1"), ("homogeneous", ("LUD",) * 2, "2")):
            for design in ("gpu_mmu", "mosaic", "ideal", "large"):
                run = small.runs[part].get((what, mix, design))
                if run is None:
                    continue
                first, second = digest(program, folder, run, "--threads", "1"), digest(program, folder, run, "--threads", "2", "--partitions", "split")
                check(re.fullmatch("[0-9a-f]{32}", first) and first == second, f"{mix}, {design}: {first}, {second}")
                found = measured[part][what, mix, design] = measure(file_of(folder, run))
                check(found["digest"] == first and len(found["ipc"]) == len(mix) and all(v > 0 for v in found["ipc"].values()), f"{design}: {found}")
                digests[mix, design] = first
        check(len(set(digests.values())) == len(digests), f"two designs have the same result: {digests}")
        ray = {d: measured["page_sizes"]["1", ("RAY",), d] for d in ("gpu_mmu", "ideal", "large")}
        check(ray["ideal"]["l1_hit"] == 1 and ray["ideal"]["walks"] == 0, f"an ideal TLB misses: {ray['ideal']}")
        check(ray["large"]["mapped_bytes"] % (2 << 20) == 0 and ray["large"]["mapped_bytes"] > ray["gpu_mmu"]["mapped_bytes"], "2 MB pages do not take more memory")
        alone = small.runs["alone"]["15", ("LUD",), "gpu_mmu"]
        digest(program, folder, alone)
        measured["alone"]["15", ("LUD",), "gpu_mmu"] = measure(file_of(folder, alone))

        # Fragmented memory: compaction frees large frames; and a coalescer that moves pages.
        moving = parts.Parts(["fragmentation", "migrating"], True, ["HISTO"])
        measured |= {"fragmentation": {}, "migrating": {}}
        for part, what, designs in (("fragmentation", "occupancy=0.25", ("no_cac", "mosaic", "ideal_cac")), ("migrating", "2", ("migrating", "mosaic"))):
            for design in designs:
                of_part = ("HISTO",) * (2 if part == "migrating" else 1)
                run = moving.runs[part][what, of_part, design]
                digest(program, folder, run)
                measured[part][what, of_part, design] = measure(file_of(folder, run))
        of = {d: measured["fragmentation"]["occupancy=0.25", ("HISTO",), d] for d in ("no_cac", "mosaic", "ideal_cac")}
        check(of["no_cac"]["coalesced"] == of["no_cac"]["moved_pages"] == 0, f"no CAC: {of['no_cac']}")
        for d in ("mosaic", "ideal_cac"):
            check(of[d]["coalesced"] == 3 and of[d]["moved_pages"] == 128 * of[d]["emptied"] > 0, f"{d}: {of[d]}")
        check(all(m["emergency"] == 0 for m in of.values() if m["moved_pages"]), f"frames of the emergency list are used although others can be emptied: {of}")
        check(of["mosaic"]["kept_bytes"] > 0, "large frames of one application have no free frames")
        by_moving, in_place = (measured["migrating"]["2", ("HISTO",) * 2, d] for d in ("migrating", "mosaic"))
        check(by_moving["coalesced"] >= 6 and by_moving["moved_pages"] == 512 * by_moving["coalesced"], f"the migrating coalescer: {by_moving}")
        check(in_place["coalesced"] >= 6 and in_place["moved_pages"] == 0, f"in place: {in_place}")

        f = report.Figures(measured)
        own, part_of_all = (compaction.kept(f, "occupancy=0.25", "mosaic", 0.25, of_all) for of_all in (False, True))
        check(own == of["mosaic"]["kept_bytes"] / of["mosaic"]["footprint"], f"bloat relative to the application's data: {own}")
        check(abs(own / part_of_all - (1 + 0.25 * parts.memory_of(1))) < 1e-9, f"bloat relative to all data: {part_of_all}")
        mix = ("LUD",) * 2
        shared, by_itself = measured["homogeneous"]["2", mix, "mosaic"]["ipc"], measured["alone"]["15", ("LUD",), "gpu_mmu"]["ipc"]
        by_itself = next(iter(by_itself.values()))
        check(abs(f.weighted_speedup("homogeneous", 2, mix, "mosaic") - sum(v / by_itself for v in shared.values())) < 1e-9, "weighted speedup")
        check(abs(f.unfairness("homogeneous", 2, mix, "mosaic") - max(by_itself / v for v in shared.values())) < 1e-9, "the largest slowdown")
        made = {"program": "farfault", "program_sha256": "0", "checkout": "", "runs": 1, "results": "0", "size": "quick"}
        report.write(folder / "tables", measured, made)
        text = (folder / "tables/results.md").read_text()
        for heading in ("Averages", "Page sizes, one application", "Several copies", "TLB hit rates", "Fragmented memory", "Readings of compaction", "Coalescing with and without"):
            check(f"## {heading}" in text, f"results.md has no '{heading}'")
        averages = records.read(folder / "tables")["averages"]
        check(set(averages) == set(report.PAPER["averages"]), "averages differ from the paper's")
        check(math.isclose(averages["bloat_of_large"], ray["large"]["mapped_bytes"] / ray["gpu_mmu"]["mapped_bytes"], rel_tol=1e-8), "bloat")
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
