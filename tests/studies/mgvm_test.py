# SPDX-License-Identifier: Apache-2.0
"""The study of MGvm at its small size. Each design has one digest on one and two threads; every run has a valid configuration and a unique
name and identity; page walks and the balancer behave as each design requires; and the report has each part with the figures of the runs."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/studies/mgvm"), str(ROOT / "tests/support")]
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

PARTS = ["designs", "latency", "walkers"]
SMALL = ["kmeans", "matrixtranspose"]
MADE = {"program": "farfault", "program_sha256": "0", "checkout": "", "runs": 1, "results": "0", "size": "quick"}


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def check_runs(keys):
    for size in ("full", "quick"):
        made = parts.Parts(size, PARTS)
        runs = [run for found in made.runs.values() for run in found.values()]
        check(len({run.name for run in runs}) == len(runs), f"{size}: two runs have the same name")
        check(len({identity(run) for run in runs}) == len(runs), f"{size}: two runs are identical")
        unknown = {key.replace(".l2_tlb.", ".") for run in runs for key in run.all_settings()} - keys
        check(not unknown, f"{size}: the program has no {unknown}")
    far = {key: run.all_settings() for key, run in made.runs["latency"].items()}
    check(all(of[f"{study.LEVEL}.far_latency"] == (0 if key[2] == "private" else key[0]) for key, of in far.items()), "latency to another L2 TLB")


def check_small(program, folder):
    """Runs of two programs: digests, and the figures of each design."""
    small = parts.Parts("quick", PARTS, SMALL)
    measured = {part: {} for part in PARTS}
    for p in small.programs:
        found = {}
        for design in study.DESIGNS:
            run = small.runs["designs"][parts.BASE_LATENCY, p, design]
            first, second = digest(program, folder, run, "--threads", "1"), digest(program, folder, run, "--threads", "2", "--partitions", "split")
            check(re.fullmatch("[0-9a-f]{32}", first) and first == second, f"{p}, {design}: {first}, {second}")
            if not re.fullmatch("[0-9a-f]{32}", first):
                return None
            found[design] = measure(file_of(folder, run))
            check(found[design]["digest"] == first and found[design]["kernel_us"] > 0, f"{p}, {design}: {found[design]}")
        check(len({m["digest"] for m in found.values()}) == len(found), f"{p}: two designs have the same result")
        check(len({m["accesses"] for m in found.values()}) == 1, f"{p}: the designs have different accesses")
        far, near = found["shared"], found["mgvm_no_balance"]
        check(near["walk_ns"] < 2 * 360 < far["walk_ns"] or near["walk_ns"] < far["walk_ns"] / 4, f"{p}: walks: {near['walk_ns']}, {far['walk_ns']} ns")
        check(not any(found[d]["collections"] for d in found if d != "mgvm"), f"{p}: a design without a balancer has collections")
        check((found["mgvm"]["switches"] > 0) == (p == "kmeans"), f"{p}: {found['mgvm']['switches']} switches")
        for part in PARTS:
            for key in small.runs[part]:
                if key[1] == p:
                    measured[part][key] = found[key[2]]
    return measured


def check_home_share():
    mib = 256  # pages
    check(report.home_share([8 * mib], 2) == 1, "a buffer of four blocks")
    check(report.home_share([8 * mib], 4) == 0.25, "a buffer of two blocks")
    check(report.home_share([2 * mib, 8 * mib], 2) == 512 / 4 / (10 * mib), "a buffer after one of a block")


def check_report(folder, measured):
    report.write(folder, measured, MADE)
    lines = (folder / "results.md").read_text().splitlines()
    for heading in ("Speedups", "L2 TLB", "Page walks", "Balancing", "Traffic between chiplets", "Latency between chiplets", "Page walkers",
                    "Programs", "Constants"):
        check(f"## {heading}" in lines, f"results.md has no '{heading}'")
    of = {p: {d: measured["designs"][parts.BASE_LATENCY, p, d]["kernel_us"] for d in study.DESIGNS} for p in SMALL}
    gains = [of[p]["private"] / of[p]["mgvm"] for p in SMALL]
    geometric = (gains[0] * gains[1]) ** 0.5
    row = next(cells(line) for line in lines if line.startswith("| kmeans |"))
    check(row[2:5] == [f"{of['kmeans']['private'] / of['kmeans'][d]:.2f}" for d in report.OTHERS], f"speedups of kmeans: {row}")
    row = next(cells(line) for line in lines if line.startswith("| **geometric mean** |"))
    check(row[4] == f"{geometric:.2f}", f"averages: {row}, {gains}")
    averages = records.read(folder)["averages"]
    check(abs(averages["mgvm"]["geometric"] - geometric) < 1e-6 and averages["mgvm"]["paper"] == 1.52, f"averages of results.json.xz: {averages}")
    check(report.mean([2.0, None]) is None and abs(report.mean([2.0, 8.0]) - 4) < 1e-9, "means of ratios")
    check(len(study.PROGRAMS) == 10 and len(study.ABSENT) == 5, "programs of the paper")


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    listed = json.loads(subprocess.run([program, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    check_runs({p["key"] for p in listed})
    check_home_share()
    with tempfile.TemporaryDirectory() as folder:
        measured = check_small(program, Path(folder))
        if measured:
            check_report(Path(folder) / "tables", measured)
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
