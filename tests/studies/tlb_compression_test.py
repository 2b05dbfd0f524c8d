# SPDX-License-Identifier: Apache-2.0
"""The study of TLB compression at small benchmarks: the paper's table that it is made of; every design and variant has a configuration that the
program knows, a digest, and a result of its own; what the tables say is what the runs counted."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "bench/studies/tlb_compression"
sys.path[:0] = [str(STUDY), str(ROOT / "bench/studies"), str(ROOT / "tests/support")]
import checks
from checks import check
from study_runs import digest, file_of

try:
    import h5py

    import parts
    import report
    import study
    from configuration import flat
    from measure import measure
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

SMALL = {"hotspot": ({}, 0.2), "bfs": ({"rmat": {"scale": 11}}, 0.1)}
PARTS = ["benchmarks", "variants", "frames", "pages", "sensitivity"]
MADE = {"checkout": "", "program": "farfault", "program_sha256": "0", "runs": 0, "results": "0"}
AS = "as it is"


def check_tables(keys):
    check(len(study.TABLE_2) == 22 and study.TABLE_2.keys() == study.WORKLOADS.keys(), "22 benchmarks, each with its class and its workload")
    check((len(study.INTENSIVE_OR_IRREGULAR), len(study.OTHERS), len(study.IRREGULAR)) == (16, 6, 15), "the paper's 16 and 6")
    classes = ["".join(of[2:]) for of in study.TABLE_2.values()]
    check([classes.count(c) for c in ("HH", "LH", "HL", "LL")] == [3, 6, 3, 10], f"classes: {classes}")
    check(study.SIZES.keys() == study.QUICK.keys() == study.PUBLISHED.keys() == study.TABLE_2.keys(), "each benchmark has its sizes")
    check({*parts.SOME, *parts.FEW} <= study.TABLE_2.keys(), "benchmarks of the parts")
    check((study.DESIGNS | study.VARIANTS).keys() <= report.NAMES.keys(), "each has a name for the tables")
    for sizes in (study.SIZES, study.QUICK):
        used = {f"workload.{study.WORKLOADS[name]}.{key}" for name, (own, _) in sizes.items() for key in flat(own)}
        check(used <= keys, f"the program has no {used - keys}")
    for quick in (True, False):
        made = parts.Parts(PARTS, quick, list(study.WORKLOADS)).runs
        runs = [run for found in made.values() for run in found.values()]
        check(not {key for run in runs for key in run.settings} - keys, "the program does not know a key")
        check(all(run.cost() > 0 for run in runs), "a run costs nothing")
        by_name = {run.name: run.all_settings() for run in runs}
        check(all(by_name[run.name] == run.all_settings() for run in runs), "two runs have one name")
        check(len(made["benchmarks"]) == 22 * len(study.DESIGNS) and len(made["pages"]) == 66, "parts of all benchmarks")
        total = sum({run.name: run.cost() for run in runs}.values())
        check(total < 3600 if quick else total < 4 * 3600, f"quick {quick}: {total} seconds of processor time")
    graph = parts.Parts(["pages"], True, ["bfs", "nw"], "/a/graph").runs["pages"]
    check(graph["2 MiB", "bfs", "plain"].workload() == {"workload.name": "bfs_rodinia", "workload.bfs_rodinia": {"graph": "/a/graph"}}, "a graph of one's own")
    check(graph["2 MiB", "nw", "plain"].workload() == {"workload.name": "nw"}, "a benchmark without graphs")


def check_report(folder, measured):
    """Of hotspot and bfs; the figures by hand."""
    report.write(folder, measured, MADE, SMALL)
    rows = json.loads((folder / "results.json").read_text())["overview"]
    m = {(b, d): measured["benchmarks"][AS, b, d] for b in SMALL for d in study.DESIGNS}
    ratios = [m[b, "plain"]["cycles"] / m[b, "compressed"]["cycles"] for b in SMALL]
    told = rows["compressed, all 22"]["measured"]
    check(abs(told - sum(ratios) / 2) < 1e-9, f"speedup {told}, {ratios}")
    check(abs(rows["the same of all 22, geometric mean"]["measured"] - (ratios[0] * ratios[1]) ** 0.5) < 1e-9, "geometric mean")
    check(abs(rows["compressed, the 16 memory-intensive or irregular"]["measured"] - ratios[1]) < 1e-9, "bfs is irregular")
    check(abs(rows["compressed, the other 6"]["measured"] - ratios[0]) < 1e-9, "hotspot is regular")
    told = [rows[f"compressed, L2 hit rate, {how}"]["measured"] for how in ("points", "relative")]
    rates = [(m[b, "plain"]["l2_hit"], m[b, "compressed"]["l2_hit"]) for b in SMALL]
    check(abs(told[0] - sum(b - a for a, b in rates) / 2) < 1e-9, f"points {told}, {rates}")
    check(abs(told[1] - sum(b / a - 1 for a, b in rates) / 2) < 1e-9, f"relative {told}, {rates}")
    told = rows["compressed over range TLB, irregular ones"]["measured"]
    check(abs(told - m["bfs", "range"]["cycles"] / m["bfs", "compressed"]["cycles"]) < 1e-9, f"over range {told}")
    check(rows["compressed, kmeans"] == {"measured": None, "paper": 1.196}, "what was not run has no figure, the paper's is there")
    text = (folder / "results.md").read_text()
    check(re.search(r"\| hotspot \| C, R \| `hotspot` \| defaults \| [^|]* \| 3\.0 \|.*\| L, L \| L, L \|  \|", text) is not None, "the class of hotspot")
    bfs = "HL"[m["bfs", "plain"]["l1_hit"] < 0.75], "HL"[m["bfs", "plain"]["l2_hit"] < 0.75]
    check(f"| {bfs[0]}, {bfs[1]} | L, L |" in text and "rmat.scale 11" in text, "the class and the size of bfs")
    for b in SMALL:
        of, ratio = m[b, "plain"], m[b, "compressed"]["walks"] / m[b, "plain"]["walks"]
        told = f"{1000 * of['walks'] / of['instructions']:.2f} | {100 * of['translating']:.0f} %"
        check(re.search(rf"^\| {b} \| .*, [HL] \| *(differs)? *\| {told} \|$", text, re.MULTILINE) is not None, f"walks of {b}: {told}")
        rates = [f"{100 * m[b, d]['l2_hit']:.1f} %" for d in report.L2_RATES]
        l1 = [f"{100 * m[b, d]['l1_hit']:.1f} %" for d in ("plain", "compressed_l1")]
        check(re.search(rf"^\| {b} \| {' . '.join(rates)} \| [^|]* \| [^|]* \| {ratio:.3f} \| {' . '.join(l1)} \|$", text, re.MULTILINE) is not None,
              f"hit rates of {b}: {rates}, {ratio}, {l1}")
    for title in ("Overview", "Benchmarks", "Speedups", "Hit rates", "What compresses", "Variants", "Orders of frames", "Pages of 2 MiB", "What is assumed"):
        check(f"\n## {title}" in text, f"no section {title}")
    of = measured["frames"]
    told = [of[order, "bfs", "compressed"]["compressed_fills"] for order in ("on_demand", "random")]
    # 21 pages in 32 sets, most alone in their set, whose base they are.
    check(told[0] == 1 and told[1] < 0.8 and "| `on_demand` |" in text, f"orders decide what compresses: {told}")
    of, base = measured["pages"], m["hotspot", "plain"]["cycles"]
    large = [of["2 MiB", "hotspot", d] for d in ("plain", "compressed")]
    check([p["pages"] for p in large] == [3, 3], f"pages of 2 MiB: {large}")
    told = [f"{base / p['cycles']:.3f}" for p in large] + [f"{large[0]['cycles'] / large[1]['cycles']:.3f}"]
    check(f" | {' | '.join(told)} |" in text and float(told[0]) > 1.1, f"speedups with pages of 2 MiB: {told}")
    of = measured["sensitivity"]
    cycles = [of[what, "bfs", "compressed"]["cycles"] for what in (AS, "gpu.l2_tlb.compressed.latency=5", "gpu.l2_tlb.compressed.latency=10")]
    check(cycles == sorted(set(cycles)), f"what a compressed hit takes makes it slower: {cycles}")
    for what, against in (("gpu.l2_tlb.compressed.latency=10", AS), ("gpu.gmmu.walk_latency=1000", "gpu.gmmu.walk_latency=1000")):
        told = of[against, "bfs", "plain"]["cycles"] / of[what, "bfs", "compressed"]["cycles"]
        check(f"| `{what}` | {told:.3f} |" in text, f"{what}: {told}")
    del measured["benchmarks"][AS, "bfs", "plain"]
    report.write(folder, measured, MADE, SMALL)
    rows = json.loads((folder / "results.json").read_text())["overview"]
    check(rows["compressed, the 16 memory-intensive or irregular"]["measured"] is None and rows["compressed, the most"]["measured"] == ratios[0], "what is missing is left out")


def refused(program, *arguments):
    ran = subprocess.run([sys.executable, STUDY / "run", "--program", program, *arguments], capture_output=True, text=True)
    check(ran.returncode == 2 and ran.stderr.startswith("run: ") and ran.stderr.count("\n") == 1, f"{arguments}: {ran.returncode} {ran.stderr}")


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    listed = json.loads(subprocess.run([program, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    check_tables({p["key"] for p in listed})
    for arguments in (("--parts", "tokens"), ("--benchmarks", "lud"), ("--graph", "/nowhere"), ("--jobs", "0")):
        refused(program, *arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = parts.Parts(PARTS, True, list(SMALL)).runs
        measured, known = {part: {} for part in made}, {}
        for part, found in made.items():
            for key, run in found.items():
                if run.name not in known:
                    run.sizes = SMALL
                    said = digest(program, folder, run, "--threads", "1")
                    check(re.fullmatch("[0-9a-f]{32}", said), f"{key}: {said}")
                    known[run.name] = measure(file_of(folder, run)) if re.fullmatch("[0-9a-f]{32}", said) else None
                    if part == "benchmarks" and run.benchmark == "bfs":
                        check(said == digest(program, folder, run, "--threads", "2", "--partitions", "split"), f"{key}: two digests")
                measured[part][key] = known[run.name]
        check(all(m for found in measured.values() for m in found.values()), "a run has failed")
        if checks.failed == 0:
            m = {d: measured["benchmarks"][AS, "hotspot", d] for d in study.DESIGNS}
            # Two kernels over 768 pages, side by side in memory: one base for 512 of them, 16 per set, and 8 uncompressed entries per set for the others.
            check([m[d]["walks"] for d in ("plain", "compressed", "plain_1024")] == [1536, 768, 768], f"hotspot: {m}")
            # A quarter uncompressed: four of eight entries per set that these others need, so that all 256 come again; three quarters: eight of sixteen.
            for name, walks in (("uncompressed_25", 768 + 256), ("uncompressed_75", 768 + 512)):
                run = study.Run("hotspot", name, study.VARIANTS[name], SMALL)
                digest(program, folder, run)
                told = measure(file_of(folder, run))["walks"]
                check(told == walks, f"hotspot, {name}: {told} walks")
            check(m["plain"]["pages"] == 768 and abs(m["compressed"]["compressed_fills"] - 2 / 3) < 1e-9, f"hotspot: {m}")
            check(m["ideal"]["cycles"] == min(of["cycles"] for of in m.values()), "no misses at all are the fastest")
            check(m["plain"]["compressed_fills"] is None and m["compressed"]["range_hits"] is None and m["range"]["range_hits"] > 0.9, "figures of an organization")
            with h5py.File(file_of(folder, made["benchmarks"][AS, "hotspot", "plain"])) as f:
                gpu = f["summary/gpu"]
                hits, misses = (int(gpu[f"l2_tlb_{name}"][...].sum()) for name in ("hits", "misses"))
                check(abs(m["plain"]["l2_hit"] - hits / (hits + misses)) < 1e-12 and m["plain"]["l2_lookups"] == hits + misses, "hit rate of the L2 TLB")
                walked = {name: int(gpu[name][...].sum()) for name in ("gmmu_walks", "l2_tlb_merged_misses", "sm_access_time", "sm_time_in_walk_queue",
                                                                       "sm_time_in_walk", "sm_time_in_l1_tlb", "sm_time_in_l2_tlb")}
                check(m["plain"]["walks"] == walked["gmmu_walks"] and abs(m["plain"]["merged"] - walked["l2_tlb_merged_misses"] / (hits + misses)) < 1e-12, "walks")
                times = [walked[f"sm_time_in_{where}"] / walked["sm_access_time"] for where in ("walk_queue", "walk", "l1_tlb", "l2_tlb")]
                check(abs(m["plain"]["walk_queue"] - times[0]) < 1e-12 and abs(m["plain"]["translating"] - sum(times)) < 1e-12, f"times of walks: {times}")
            check(len({of["digest"] for of in measured["benchmarks"].values()}) > 2 * len(study.DESIGNS) - 4, "designs do not differ")
            check_report(folder / "tables", measured)
    print(checks.counts())
    return checks.failed != 0


sys.exit(main())
