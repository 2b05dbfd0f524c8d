# SPDX-License-Identifier: Apache-2.0
"""The study of TLB compression with small benchmarks: the paper's table. Every design and variant has a valid configuration, a digest, and a
distinct result; the tables match the runs' counters."""
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
    import records
    import report
    import tlb_compression_tables
    import study
    from configuration import flat
    from measure import measure
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

SMALL = {"hotspot": ({}, 0.2), "bfs": ({"rmat": {"scale": 11}}, 0.1)}
PARTS = ["benchmarks", "graph_files", "full", "variants", "frames", "interleaved", "moves", "pages", "sensitivity"]
MADE = {"checkout": "", "program": "farfault", "program_sha256": "0", "runs": 0, "results": "0"}
AS = "as it is"


def check_paper(said, path):
    """Each value matches its quotation: a share, a change or a factor."""
    if "value" not in said:
        for key, below in said.items():
            if isinstance(below, dict):
                check_paper(below, [*path, key])
        return
    value = said["value"]
    told = [float(n) for n in re.findall(r"(\d+(?:\.\d+)?)(?: ?%|x)", said["where"])]
    check(path[-1] == "searched" or any(abs(n - v) < 1e-9 for n in told for v in (value, 100 * abs(value), 100 * abs(value - 1))), f"{path}: {value}, and {said['where']}")


def check_tables(keys):
    check(len(study.TABLE_2) == 22 and study.TABLE_2.keys() == study.WORKLOADS.keys(), "22 benchmarks, each with its class and its workload")
    check((len(study.INTENSIVE_OR_IRREGULAR), len(study.OTHERS), len(study.IRREGULAR)) == (16, 6, 15), "the paper's 16 and 6")
    classes = ["".join(of[2:]) for of in study.TABLE_2.values()]
    check([classes.count(c) for c in ("HH", "LH", "HL", "LL")] == [3, 6, 3, 10], f"classes: {classes}")
    check(study.SIZES.keys() == study.QUICK.keys() == study.PUBLISHED.keys() == study.TABLE_2.keys(), "each benchmark has its sizes")
    check({*parts.SOME, *parts.FEW, *parts.DENSE, *parts.FULL, *study.GRAPHS} <= study.TABLE_2.keys(), "benchmarks of the parts")
    check((study.DESIGNS | study.VARIANTS).keys() <= study.NAMES.keys() and len(set(study.NAMES.values())) == len(study.NAMES), "each has a distinct name in the tables")
    check(all(study.VARIANTS[f"shared_{n}"] == study.compressed(sets_per_base=n) for n in (2, 4)), "number of sets per base")
    check(all(study.DESIGNS[f"plain_{n}"][f"{study.L2}.entries"] == n for n in (256, 1024)), "number of entries")
    check_paper(json.loads((Path(study.__file__).parent / "paper.json").read_text()), [])
    check({f"workload.{study.WORKLOADS[name]}.graph" for name in study.GRAPHS} <= keys, "each reads a file of a graph")
    for sizes in (study.SIZES, study.QUICK):
        used = {f"workload.{study.WORKLOADS[name]}.{key}" for name, (own, _) in sizes.items() for key in flat(own)}
        check(used <= keys, f"the program has no {used - keys}")
    for quick in (True, False):
        made = parts.Parts(PARTS, quick, list(study.WORKLOADS)).runs
        runs = [run for found in made.values() for run in found.values()]
        check(not {key for run in runs for key in run.settings} - keys, "the program lacks a key")
        check(all(run.cost() > 0 for run in runs), "a run has no estimated cost")
        by_name = {run.name: run.all_settings() for run in runs}
        check(all(by_name[run.name] == run.all_settings() for run in runs), "two runs have the same name")
        check(len(made["benchmarks"]) == 22 * len(study.DESIGNS) and len(made["pages"]) == 66, "parts of all benchmarks")
        total = sum({run.name: run.cost() for run in runs}.values())
        check(total < 3600 if quick else total < 4 * 3600, f"quick {quick}: {total} seconds of processor time")
    made = parts.Parts(["graph_files", "pages"], True, ["bfs", "nw"], ["/a/one", "/a/two"]).runs
    check({key[:2] for key in made["graph_files"]} == {("one", "bfs"), ("two", "bfs")}, "each file, for benchmarks that read one")
    check(made["graph_files"]["two", "bfs", "naive"].workload() == {"workload.name": "bfs_rodinia", "workload.bfs_rodinia": {"graph": "/a/two"}}, "a file of a graph")
    check(made["pages"]["2 MiB", "bfs", "plain"].workload() == {"workload.name": "bfs_rodinia"}, "other parts do not read it")
    check(len({run.name for run in made["graph_files"].values()}) == len(made["graph_files"]), "two files have the same name")
    check([{key[1] for key in parts.Parts(["graph_files"], True, chosen, ["/a/one"]).runs["graph_files"]} for chosen in (list(study.WORKLOADS), ["mst", "nw"])]
          == [{"page_rank", "mis", "bfs", "bc"}, {"mst"}], "benchmarks with long runs on files, by name")
    check(not parts.Parts(["graph_files"], True, ["bfs"]).runs["graph_files"], "without a file, no runs")
    check([study.INTERLEAVED[n].get("memory.interleaved.parts", 8) for n in study.INTERLEAVED] == list(study.INTERLEAVED), "parts of the memory")


def check_report(folder, measured):
    """The report for hotspot and bfs, against figures computed by hand."""
    report.write(folder, measured, MADE, SMALL)
    rows = records.read(folder)["overview"]
    m = {(b, d): measured["benchmarks"][AS, b, d] for b in SMALL for d in study.DESIGNS}
    ratios = [m[b, "plain"]["cycles"] / m[b, "compressed"]["cycles"] for b in SMALL]
    told = rows["compressed, all 22"]["measured"]
    check(abs(told - sum(ratios) / 2) < 1e-8, f"speedup {told}, {ratios}")
    check(abs(rows["compressed, all 22, geometric mean"]["measured"] - (ratios[0] * ratios[1]) ** 0.5) < 1e-8, "geometric mean")
    check(abs(rows["compressed, the 16 memory-intensive or irregular"]["measured"] - ratios[1]) < 1e-9, "bfs is irregular")
    check(abs(rows["compressed, the other 6"]["measured"] - ratios[0]) < 1e-9, "hotspot is regular")
    told = [rows[f"compressed, L2 hit rate, {how}"]["measured"] for how in ("points", "relative")]
    rates = [(m[b, "plain"]["l2_hit"], m[b, "compressed"]["l2_hit"]) for b in SMALL]
    check(abs(told[0] - sum(b - a for a, b in rates) / 2) < 1e-9, f"points {told}, {rates}")
    check(abs(told[1] - sum(b / a - 1 for a, b in rates) / 2) < 1e-9, f"relative {told}, {rates}")
    told = rows["compressed over range TLB, the 15 irregular"]["measured"]
    check(abs(told - m["bfs", "range"]["cycles"] / m["bfs", "compressed"]["cycles"]) < 1e-9, f"over range {told}")
    check(rows["compressed, kmeans"] == {"measured": None, "paper": 1.196}, "a missing run has no value, the paper's is listed")
    check(rows["compressed, all 22"]["paper"] is None, "the paper's mean is not next to a mean over fewer benchmarks")
    text = (folder / "results.md").read_text()
    check("Only 2 of the 22 benchmarks were run" in text and "\n| paper |" not in text, "means over two benchmarks are named as such")
    check(re.search(r"\| hotspot \| C, R \| `hotspot` \| defaults \| [^|]* \| 3\.0 \|.*\| L, L \| L, L \|  \|", text) is not None, "the class of hotspot")
    bfs = "HL"[m["bfs", "plain"]["l1_hit"] < 0.75], "HL"[m["bfs", "plain"]["l2_hit"] < 0.75]
    check(f"| {bfs[0]}, {bfs[1]} | L, L |" in text and "rmat.scale 11" in text, "the class and the size of bfs")
    for title in ("Overview", "Benchmarks", "Speedups", "Hit rates", "Compressed translations", "Graph files", "Suite sizes", "Variants", "Frame orders",
                  "Interleaved frames", "Cost of contiguity", "Pages of 2 MiB", "Assumed parameters"):
        check(f"\n## {title}" in text, f"no section {title}")
    of = measured["frames"]
    told = [of[order, "bfs", "compressed"]["compressed_fills"] for order in ("on_demand", "random")]
    # 21 pages in 32 sets. Most are alone in their set and are its base.
    check(told[0] == 1 and told[1] < 0.8 and "| `on_demand` |" in text, f"compression depends on the orders: {told}")
    of = measured["interleaved"]
    told = [of[n, "bfs", "compressed"]["compressed_fills"] for n in (1, 2, 8)]
    check(told[0] == 1 and all(t is not None for t in told), f"compression by parts: {told}")
    of = measured["moves"]
    told = [of[cost, "bfs", "range"]["moved"] for cost in study.MOVES]
    check(told[0] == 0 and min(told[1:]) > 0, f"migrations: {told}")
    cycles = [of[cost, "bfs", "range"]["cycles"] for cost in ("ideal", "80ns", "800ns")]
    check(cycles == sorted(set(cycles)), f"the cost of contiguity grows with the time of a move: {cycles}")
    of, base = measured["pages"], m["hotspot", "plain"]["cycles"]
    large = [of["2 MiB", "hotspot", d] for d in ("plain", "compressed")]
    check([p["pages"] for p in large] == [3, 3], f"pages of 2 MiB: {large}")
    told = [f"{base / p['cycles']:.3f}" for p in large] + [f"{large[0]['cycles'] / large[1]['cycles']:.3f}"]
    check(f" | {' | '.join(told)} |" in text and float(told[0]) > 1.1, f"speedups with pages of 2 MiB: {told}")
    of = measured["sensitivity"]
    cycles = [of[what, "bfs", "compressed"]["cycles"] for what in (AS, "gpu.l2_tlb.compressed.latency=5", "gpu.l2_tlb.compressed.latency=10")]
    check(len(set(cycles)) == 3 and max(cycles) == cycles[2], f"a higher latency of compressed hits is slower: {cycles}")
    for what, against in (("gpu.l2_tlb.compressed.latency=10", AS), ("gpu.gmmu.walk_latency=1000", "gpu.gmmu.walk_latency=1000")):
        told = of[against, "bfs", "plain"]["cycles"] / of[what, "bfs", "compressed"]["cycles"]
        check(f"| `{what}` | {told:.3f} |" in text, f"{what}: {told}")
    del measured["benchmarks"][AS, "bfs", "plain"]
    report.write(folder, measured, MADE, SMALL)
    rows = records.read(folder)["overview"]
    check(rows["compressed, the 16 memory-intensive or irregular"]["measured"] is None and abs(rows["compressed, the most"]["measured"] - ratios[0]) < 1e-8, "missing runs are omitted")


def refused(program, *arguments):
    ran = subprocess.run([sys.executable, STUDY / "run", "--program", program, "--table-only", *arguments], capture_output=True, text=True)
    check(ran.returncode == 2 and ran.stderr.startswith("run: ") and ran.stderr.count("\n") == 1, f"{arguments}: {ran.returncode} {ran.stderr}")


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    listed = json.loads(subprocess.run([program, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    check_tables({p["key"] for p in listed})
    for arguments in (("--parts", "tokens"), ("--benchmarks", "lud"), ("--graph", "/nowhere"), ("--jobs", "0"), ("--parts", "graph_files"),
                      ("--graph", __file__, "--graph", __file__)):
        refused(program, *arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tlb_compression_tables.check_all(folder / "made_up")
        graph = folder / "ring.txt"
        graph.write_text("".join(f"{i} {(i + 1) % 3000}\n{i} {i * i % 3000}\n" for i in range(3000)))
        made = parts.Parts(PARTS, True, list(SMALL), [graph]).runs
        measured, known = {part: {} for part in made}, {}
        for part, found in made.items():
            for key, run in found.items():
                if run.name not in known:
                    run.sizes = SMALL if not run.graph else {"bfs": ({}, 0.1)}
                    said = digest(program, folder, run, "--threads", "1")
                    check(re.fullmatch("[0-9a-f]{32}", said), f"{key}: {said}")
                    known[run.name] = measure(file_of(folder, run)) if re.fullmatch("[0-9a-f]{32}", said) else None
                    if part == "benchmarks" and run.benchmark == "bfs":
                        check(said == digest(program, folder, run, "--threads", "2", "--partitions", "split"), f"{key}: two digests")
                measured[part][key] = known[run.name]
        check(all(m for found in measured.values() for m in found.values()), "a run failed")
        if checks.failed() == 0:
            m = {d: measured["benchmarks"][AS, "hotspot", d] for d in study.DESIGNS}
            # Two kernels over 768 contiguous pages: one base for 512 of them, 16 per set, and 8 uncompressed entries
            # per set for the others.
            check([m[d]["walks"] for d in ("plain", "compressed", "plain_1024")] == [1536, 768, 768], f"hotspot: {m}")
            # With a quarter uncompressed, these others have four of the eight entries per set that they need, so all
            # 256 miss again; with three quarters, the translations with the base have eight of the sixteen.
            for name, walks in (("uncompressed_25", 768 + 256), ("uncompressed_75", 768 + 512)):
                run = study.Run("hotspot", name, study.VARIANTS[name], SMALL)
                digest(program, folder, run)
                told = measure(file_of(folder, run))["walks"]
                check(told == walks, f"hotspot, {name}: {told} walks")
            check(m["plain"]["pages"] == 768 and abs(m["compressed"]["compressed_fills"] - 2 / 3) < 1e-9, f"hotspot: {m}")
            check(m["ideal"]["cycles"] == min(of["cycles"] for of in m.values()), "an ideal TLB is the fastest")
            check(m["plain"]["compressed_fills"] is None and m["compressed"]["range_hits"] is None and m["range"]["range_hits"] > 0.9, "figures of an organization")
            with h5py.File(file_of(folder, made["benchmarks"][AS, "hotspot", "plain"])) as f:
                gpu = f["summary/gpu"]
                hits, misses = (int(gpu[f"l2_tlb_{name}"][...].sum()) for name in ("hits", "misses"))
                check(m["plain"]["walks"] == int(gpu["gmmu_walks"][...].sum()), "walks")
                queued, whole = (int(gpu[f"sm_{name}"][...].sum()) for name in ("time_in_walk_queue", "access_time"))
                check(abs(m["plain"]["walk_queue"] - queued / whole) < 1e-12, "time in the walk queue")
                check(abs(m["plain"]["merged"] - int(gpu["l2_tlb_merged_misses"][...].sum()) / (hits + misses)) < 1e-12, "merged misses")
                check(abs(m["plain"]["l2_hit"] - hits / (hits + misses)) < 1e-12 and m["plain"]["l2_lookups"] == hits + misses, "hit rate of the L2 TLB")
            check(len({of["digest"] for of in measured["benchmarks"].values()}) > 2 * len(study.DESIGNS) - 4, "designs do not differ")
            check_report(folder / "tables", measured)
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
