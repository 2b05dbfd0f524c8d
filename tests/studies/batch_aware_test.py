# SPDX-License-Identifier: Apache-2.0
"""The study of Batch-aware unified memory with a small graph. Each design has one digest on one and two threads; every run has a valid
configuration and a unique name and identity; every assumed parameter is varied; and the report has each part."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/studies/batch_aware"), str(ROOT / "tests/support")]
import checks
from checks import check

try:
    import h5py

    import study
    import parts
    import records
    import report
    from study_runs import digest, file_of, identity
    from measure import measure
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

PARTS = ["headline", "shares", "handling", "switching", "working_set", "small", "large", "regular", "readings", "bound", "sensitivity"]


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    listed = json.loads(subprocess.run([program, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    keys = {p["key"] for p in listed}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        small = parts.Parts(11, PARTS, None)
        runs = [run for found in small.runs.values() for run in found.values()]
        check(len({run.name for run in runs}) == len(runs), "two runs have the same name")
        unknown = {key for run in runs for key in run.all_settings()} - keys
        check(not unknown, f"the program has no {unknown}")
        for part, found in small.runs.items():
            same = len({(key[1], identity(run)) for key, run in found.items()})
            # The shares contain one half, which is also the headline's; a parameter set to its default equals another
            # part's row.
            check(same == len(found), f"{part}: {len(found) - same} runs are duplicates")
        varied = {key for key, *_ in parts.ASSUMED + parts.OF_OTHERS}
        assumed = {p["key"] for p in listed if p["source"].startswith("assumed") and
                   p["key"].startswith(("gpu.sm.thread_over", "gpu.sm.throttling", "fabric.compressed", "gpu.compressed", "gpu.l1_tlb.faulted_a"))}
        check(assumed <= varied, f"assumed, and not varied: {assumed - varied}")

        measured = {part: {} for part in PARTS}
        digests = {}
        for design in study.COMPARED:
            run = small.runs["headline"]["0.5", "bfs_twc", design]
            first, second = digest(program, folder, run, "--threads", "1"), digest(program, folder, run, "--threads", "2", "--partitions", "split")
            check(re.fullmatch("[0-9a-f]{32}", first) and first == second, f"{design}: {first}, {second}")
            if not re.fullmatch("[0-9a-f]{32}", first):
                continue
            found = measure(file_of(folder, run))
            check(found["digest"] == first and found["kernel_us"] > 0 and found["batches"] > 0, f"{design}: {found}")
            check(found["pages"] == sum(p for p, _ in found["sizes"]), f"{design}: pages of batches")
            check((found["evicted"] == 0) == (design == "unlimited"), f"{design}: {found['evicted']} evicted")
            digests[design] = first
            for part in PARTS:
                for key in small.runs[part]:
                    if key[2] == design:
                        measured[part][key] = found
        sets = {}
        for n in ("1", "16"):
            run = small.runs["working_set"][f"100us, {n}", "bfs_twc", "resident"]
            digest(program, folder, run)
            found = measured["working_set"][f"100us, {n}", "bfs_twc", "resident"] = measure(file_of(folder, run))
            sets[n] = found["working_set"]
            check(found["batches"] == 0 and found["pages"] == 0, f"{n} SMs: a page faulted: {found}")
            check(0 < sets[n] <= found["footprint"] / 65536 + 16, f"{n} SMs: a working set of {sets[n]} pages")
        run = small.runs["switching"]["1", "bfs_twc", "resident"]
        digest(program, folder, run)
        switched = measure(file_of(folder, run))
        check(switched["pages"] == 0 and switched["saved"] > 0, f"context switches without paging: {switched}")
        measured["switching"] |= {key: switched for key in small.runs["switching"]}
        check(sets["1"] < sets["16"], f"the working set of one SM is as large as with 16: {sets}")
        check(len(set(digests.values())) == len(digests), f"two designs have the same result: {digests}")
        made = {"program": "farfault", "program_sha256": "0", "checkout": "", "runs": 1, "results": "0", "scale": 11}
        report.write(folder / "tables", measured, made)
        text = (folder / "tables/results.md").read_text()
        for heading in ("Averages", "Performance with half", "Batches", "Three quarters", "Memory shares", "Time until the first",
                        "Context switches", "Working set", "A smaller graph", "Premature evictions", "Regular workloads", "Readings: thread oversubscription", "Readings: counted batches", "Readings: message time",
                        "Ideal eviction as a bound", "Assumed parameters"):
            check(f"## {heading}" in text, f"results.md has no '{heading}'")
        # One result represents all workloads here, so means equal its own ratios.
        for row in ([cell.strip() for cell in line.split("|")] for line in text.split("\n") if line.startswith("| 274 ns |")):
            of = {d: measured["headline"]["0.5", "bfs_twc", d] for d in ("baseline", "to_ue", "ideal")}
            check(row[3] == f"{of['baseline']['kernel_us'] / of['to_ue']['kernel_us']:.2f}", f"TO+UE in the row of a message time: {row}")
            evicting = (of["baseline"]["batch_us"] * of["baseline"]["batches"] / of["baseline"]["pages"] - of["ideal"]["batch_us"] * of["ideal"]["batches"] / of["ideal"]["pages"])
            check(row[-2] == f"{evicting:.1f}", f"the eviction time in the row of a message time: {row}, {evicting}")
        # Each reading of thread oversubscription has its sentence, TO alone, and the controller's measured column.
        rows = {row[1]: row for row in ([cell.strip() for cell in line.split("|")] for line in text.split("\n"))
                if len(row) == 14 and row[1].startswith(("preset", "`reference", "`decrease", "`mean", "`saves", "`blocks", "`lifetimes", "`threshold"))}
        for name in ("preset", "`reference=previous`", "`decrease=one_less`", "`decrease=none`", "`mean=period`", "`saves=as_needed`", "`blocks=1`", "`lifetimes=all`", "`threshold=100`",
                     "`reference=previous, decrease=one_less`"):
            to = {d: measured["headline"]["0.5", "bfs_twc", d] for d in ("baseline", "to", "to_ue")}
            gain = {d: f"{to['baseline']['kernel_us'] / to[d]['kernel_us']:.2f}" for d in ("to", "to_ue")}
            check(name in rows and rows[name][2] and rows[name][3:7] == [gain["to"], gain["to_ue"], str(3 * to["to"]["shrunk"]), str(3 * to["to"]["saved"])],
                  f"the interpretation {name}: {rows.get(name)}, {gain}")
        # A baseline's batches including empty ones, and faulted pages next to all pages.
        found = measured["headline"]["0.5", "bfs_twc", "baseline"]
        check(0 < round(found["batch_faulted"] * found["batches"]) == found["pages"] - found["prefetched"], f"faulted pages: {found}")
        check(found["all_batches_us"] * (found["batches"] + found["empty"]) >= found["batch_us"] * found["batches"] * 0.999999, f"all batches: {found}")
        row = [cell.strip() for line in text.split("\n") if line.startswith("| all |") for cell in line.split("|")]
        share = found["batches"] / (found["batches"] + found["empty"])
        check(f"{found['batch_faulted'] * share:.1f}" in row and f"{found['pages'] / found['batches'] * share:.1f}" in row, f"a batch of the baseline, over all: {row}")
        averages = records.read(folder / "tables")["averages"]
        check(set(averages) == set(report.PAPER["averages"]), "averages differ from the paper's")
        twc = {d: measured["headline"]["0.5", "bfs_twc", d]["kernel_us"] for d in digests}
        check(abs(averages["to_ue_over_baseline"] - twc["baseline"] / twc["to_ue"]) < 1e-9, "the mean of equal ratios is not that ratio")
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
