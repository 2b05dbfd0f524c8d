# SPDX-License-Identifier: Apache-2.0
"""The study of GRIT at its small size. Each policy has one digest on one and two threads; every run has a valid configuration and a unique name
and identity; FOOTPRINTS of study.py equals the results; and the report has each part with the figures of the runs."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/studies/grit"), str(ROOT / "tests/support")]
import checks
from checks import check

try:
    import h5py  # noqa: F401

    import study
    import parts
    import records
    import report
    from study_runs import digest, file_of, identity
    from measure import measure
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

PARTS = ["policies", "costs", "readings"]
MADE = {"program": "farfault", "program_sha256": "0", "checkout": "", "runs": 1, "results": "0", "size": "small"}


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def check_runs(keys):
    for size in ("default", "small"):
        made = parts.Parts(size, PARTS)
        runs = [run for found in made.runs.values() for run in found.values()]
        check(len({run.name for run in runs}) == len(runs), f"{size}: two runs have the same name")
        check(len({identity(run) for run in runs}) == len(runs), f"{size}: two runs are identical")
        unknown = {key for run in runs for key in run.all_settings()} - keys
        check(not unknown, f"{size}: the program has no {unknown}")
        check({run.workload for run in runs} == set(study.WORKLOADS) == set(study.FOOTPRINTS), f"{size}: workloads")


def check_small(program, folder):
    """Runs of two workloads: digests, footprints, and the figures of each policy."""
    small = parts.Parts("small", PARTS, ["BFS", "ST"])
    measured = {part: {} for part in PARTS}
    for w in small.workloads:
        found = {}
        for policy in study.POLICIES:
            run = small.runs["policies"]["4", w, policy]
            first, second = digest(program, folder, run, "--threads", "1"), digest(program, folder, run, "--threads", "2", "--partitions", "split")
            check(re.fullmatch("[0-9a-f]{32}", first) and first == second, f"{w}, {policy}: {first}, {second}")
            if not re.fullmatch("[0-9a-f]{32}", first):
                return None
            found[policy] = measure(file_of(folder, run))
            check(found[policy]["digest"] == first and found[policy]["kernel_us"] > 0 and found[policy]["faults"] > 0, f"{w}: {found[policy]}")
        check(len({m["digest"] for m in found.values()}) == len(found), f"{w}: two policies have the same result")
        check(not any(found["migrate"][name] for name in ("protection_faults", "moved_by_counters", "remote_accesses", "chosen_counted")), f"{w}: on-touch: {found['migrate']}")
        check(found["access_counters"]["remote_accesses"] > 0 == found["access_counters"]["protection_faults"], f"{w}: counters: {found['access_counters']}")
        check(found["duplicate"]["protection_faults"] > 0 == found["duplicate"]["moved_by_counters"], f"{w}: duplication: {found['duplicate']}")
        check(found["grit"]["chosen_counted"] > 0 and found["grit"]["chosen_duplicated"] > 0, f"{w}: GRIT: {found['grit']}")
        for part in PARTS:
            for key in small.runs[part]:
                if key[1] == w:
                    measured[part][key] = found[key[2]]
    return measured


def check_report(folder, measured):
    check(not report.wrong_footprints(measured, "small"), f"footprints: {report.wrong_footprints(measured, 'small')}")
    other = {"policies": {key: m | {"footprint": 1} for key, m in measured["policies"].items()}}
    check(len(report.wrong_footprints(other, "small")) == 2, "a wrong footprint is not found")
    report.write(folder, measured, MADE)
    lines = (folder / "results.md").read_text().splitlines()
    for heading in ("Averages", "Performance", "Faults", "Choices", "Fault threshold", "Fault cost", "Readings", "Workloads", "Constants"):
        check(f"## {heading}" in lines, f"results.md has no '{heading}'")
    of = {w: {p: measured["policies"]["4", w, p] for p in study.POLICIES} for w in ("BFS", "ST")}
    gains = [of[w]["migrate"]["kernel_us"] / of[w]["grit"]["kernel_us"] for w in of]
    geometric, arithmetic = (gains[0] * gains[1]) ** 0.5, sum(gains) / 2
    row = next(cells(line) for line in lines if line.startswith("| GRIT over on-touch |"))
    check(row[1:4] == ["+60%", *(f"{100 * (value - 1):+.0f}%" for value in (geometric, arithmetic))], f"averages: {row}, {gains}")
    averages = records.read(folder)["averages"]
    check(abs(averages["grit_over_migrate"]["geometric"] - geometric) < 1e-6, f"averages of results.json.xz: {averages}")
    row = next(cells(line) for line in lines if line.startswith("| ST | ") and "`stencil2d`" not in line)
    check(row[1:5] == [str(of["ST"][p]["faults"]) for p in study.POLICIES], f"faults of ST: {row}")
    rows = [cells(line)[0] for line in lines]
    check({*parts.READINGS, parts.LARGER, *parts.COSTS, *(f"{n} faults" for n in parts.THRESHOLDS)} <= set(rows), "a row is missing")
    check(report.means([2.0, None]) == (None, None) and report.means([2.0, 8.0]) == (4.0, 5.0), "means of ratios")


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    listed = json.loads(subprocess.run([program, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    check_runs({p["key"] for p in listed})
    with tempfile.TemporaryDirectory() as folder:
        measured = check_small(program, Path(folder))
        if measured:
            check_report(Path(folder) / "tables", measured)
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
