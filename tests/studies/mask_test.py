# SPDX-License-Identifier: Apache-2.0
"""The study of MASK with small applications: its pairs and classes. Every design has a valid configuration, one digest on one and two
threads, and a distinct result; a part of a GPU is a valid configuration, too."""
import itertools
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/studies/mask"), str(ROOT / "bench/studies"), str(ROOT / "tests/support")]
import checks
from checks import check
from study_runs import digest, file_of

try:
    import h5py

    import parts
    import records
    import report
    import study
    from measure import measure
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

SMALL = {"SCP": ({"vectors": 64, "length": 8192}, 1), "TRD": ({"size": "512KiB"}, 1)}
SHORT = {"HISTO": ({"words": 4096, "partial_histograms": 30}, 2), "SCP": ({"vectors": 64, "length": 2048}, 3)}  # and repeats
PARTS = ["pairs", "readings", "splits", "number", "generality", "tlb_sizes", "large_pages", "sensitivity"]


def first_runs(path, times):
    """IPC of each application over its first `times` runs, from the table of runs."""
    with h5py.File(path, "r") as f:
        period = int(f["summary/machine/end"][0]) / int(f["summary/machine/cycles"][0])
        runs = list(zip(*(f["tables/runs"][key][:].tolist() for key in ("application", "run", "started", "finished", "instructions"))))
        found = []
        for name in f["summary/application/name"][:].tolist():
            own = sorted(r[1:] for r in runs if r[0] == name)[:times[name.decode()]]
            found.append(sum(r[3] for r in own) / (own[-1][2] - own[0][1]) * period)
        return found, len(runs)


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    listed = json.loads(subprocess.run([program, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    keys = {p["key"] for p in listed}
    pairs = study.pairs()
    check(len(set(pairs)) == 35 and pairs == study.pairs(), "35 pairs, the same each time")
    check(all(a != b for a, b in pairs) and not any({a, b} <= {"LUD", "NN"} for a, b in pairs), "two low applications, or one twice")
    check(len(study.RATES) == 27 and study.RATES.keys() == study.WORKLOADS.keys(), "27 applications, each with its class and its workload")
    check([study.class_of(m) for m in (("LUD", "GUP"), ("LUD", "3DS"), ("RED", "3DS"))] == [0, 1, 2], "classes by Table 2")
    check(study.class_of(("A", "B"), {"A": (0.2, 0.2), "B": (0.9, 0.19)}) == 1, "classes by measured rates")
    check(len(study.splits()) == 29 and all(sum(s) == 30 and min(s) > 0 for s in study.splits(3)) and len(study.splits(3)) == 406, "splits")
    check(study.SIZES.keys() == study.WORKLOADS.keys(), "each application has its size")
    sizes = {f"workload.{study.WORKLOADS[name]}.{key}" for name, (own, *_) in study.SIZES.items() for key in own}
    check(sizes <= keys, f"the program has no {sizes - keys}")
    check(all(repeats == 1 or (repeats - 1) * length / repeats < 1.05 for _, repeats, length, _ in study.SIZES.values()), "at most the repeats that ten epochs need")
    check(set(study.NAMED) <= set(pairs) and set(study.NAMED) <= set(itertools.combinations(sorted(study.RATES), 2)), "the pairs named in the text")
    check(all(length >= 1 for _, _, length, _ in study.SIZES.values()), "applications run for ten epochs")
    quick = parts.first_of_each_class(pairs, parts.OF_EACH_CLASS)
    check([sum(study.class_of(p) == n for p in quick) for n in range(3)] == [5, 5, 5], "five pairs of each class")
    check([study.class_of(p) for p in parts.Parts([], True, list(study.WORKLOADS)).some] == [1, 2, 0], "one of each class")
    designs = study.DESIGNS | {f"{key}={value}": {key: value} for key, values in study.SENSITIVITY.items() for value in values}
    unknown = {key for settings in designs.values() for key in settings} - keys
    check(not unknown, f"the program has no {unknown}")
    with tempfile.TemporaryDirectory() as folder:
        for quick in (True, False):
            made = parts.Parts(PARTS, quick, list(study.WORKLOADS)).runs
            runs = [run for found in made.values() for run in found.values()]
            check(len({run.name for run in runs}) == len(runs), "two runs have the same name")
            check(not {key for run in runs for key in run.settings} - keys, "the program lacks a key")
            check(all(run.cost() > 0 for run in runs), "a run has no estimated cost")
            varied = {tuple(run.settings.items()) for key, run in made["sensitivity"].items() if key[2] == "mask"}
            for (what, mix, design), run in made["readings"].items():
                own = next(r.settings for r in study.READINGS if r.name() == what)
                alone = [made["alone"][(what if own else "") + "15", (name,), "shared_tlb"] for name in mix]
                check(all(r.settings == study.SHARED_TLB | own | {"gpu.sms": 15} for r in alone), f"{what}: alone on a different system")
                check(run.settings == study.DESIGNS[design] | own, f"{what}, {design}: {run.settings}")
            check({k[0] for k in made["readings"]} == {r.name() for r in study.READINGS}, "each interpretation is executed")
            check(len(varied) == 1 + sum(map(len, (study.SENSITIVITY | study.SYSTEM).values())), "each value of each parameter separately")
        small = parts.Parts(["pairs"], True, ["HISTO", "SCP"]).runs
        measured = {part: {} for part in small}
        for part, found in small.items():
            for key, run in found.items():
                run.sizes = SHORT
                said = digest(program, Path(folder), run)
                measured[part][key] = measure(file_of(Path(folder), run)) if re.fullmatch("[0-9a-f]{32}", said) else None
                check(measured[part][key] and measured[part][key]["digest"] == said, f"{key}: {said}")
        shared = small["pairs"]["equal", ("HISTO", "SCP"), "mask"]
        told, runs = first_runs(file_of(Path(folder), shared), {"a0_histo": 2, "a1_scp": 3})
        ipc = measured["pairs"]["equal", ("HISTO", "SCP"), "mask"]["ipc"]
        check(runs > 5 and all(abs(a - b) < 1e-9 * b for a, b in zip(ipc, told)), f"IPC of the requested runs: {ipc}, {told}, {runs} runs")
        base = measured["pairs"]["equal", ("HISTO", "SCP"), "shared_tlb"]
        check(0.99 > base["depth_hit"][0] > base["depth_hit"][3] > 0.2, f"hit rates by depth: {base['depth_hit']}")
        check(base["walk_wait"] >= 0 and base["accesses_a_walk"] >= 1 and 40 < base["walk_latency"] < 2000, f"a walk: {base}")
        check(base["bypassed"] == 0 and base["token_moves"] == 0, "SharedTLB uses no mechanism of MASK")
        report.write(Path(folder) / "tables", measured, {"checkout": "", "program": "farfault", "program_sha256": "0", "runs": 0, "results": "0"})
        rows = records.read(Path(folder) / "tables")["averages"]
        ipc = {d: measured["pairs"]["equal", ("HISTO", "SCP"), d]["ipc"] for d in ("mask", "ideal", "shared_tlb")}
        alone = [measured["alone"]["15", (name,), "shared_tlb"]["ipc"][0] for name in ("HISTO", "SCP")]
        speedup = {d: sum(a / b for a, b in zip(of, alone)) for d, of in ipc.items()}
        told = rows["MASK to Ideal, weighted speedup"]["measured"]
        check(abs(told - speedup["mask"] / speedup["ideal"]) < 1e-8, f"MASK to Ideal {told}, {speedup}")
        slowest = {d: max(b / a for a, b in zip(of, alone)) for d, of in ipc.items()}
        told = rows["MASK over SharedTLB, largest slowdown"]["measured"]
        check(abs(told - slowest["mask"] / slowest["shared_tlb"]) < 1e-9, f"largest slowdown {told}, {slowest}")
        text = (Path(folder) / "tables/results.md").read_text()
        check("| HISTO+SCP | 0 |" in text and "low/high" in text, "the pair and its class are in the tables")
        del measured["alone"]["15", ("HISTO",), "shared_tlb"]
        report.write(Path(folder) / "tables", measured, {"checkout": "", "program": "farfault", "program_sha256": "0", "runs": 0, "results": "0"})
        check("| HISTO+SCP | 0 | - |" in (Path(folder) / "tables/results.md").read_text(), "missing runs are omitted")
        ends, walks = {}, {}
        for name, settings in designs.items():
            # Epochs that end within these runs.
            short = {f"gpu.{epoch}": 5000 for epoch in ("l2_tlb.tokens.epoch", "l2_cache.translation_aware_bypass.epoch", "dram.address_space_aware.epoch")}
            run = study.Run(("SCP", "TRD"), name, short | settings, sms=(12, 18), sizes=SMALL)
            first = digest(program, Path(folder), run, "--threads", "1")
            check(re.fullmatch("[0-9a-f]{32}", first), f"{name}: {first}")
            if name in study.DESIGNS:
                second = digest(program, Path(folder), run, "--threads", "2", "--partitions", "split")
                check(first == second, f"{name}: {first} and {second}")
            with h5py.File(file_of(Path(folder), run)) as f:
                ends[name] = int(f["summary/machine/end"][0])
            walks[name] = measure(file_of(Path(folder), run))["walk_latency"]
        changed = [name for name in study.DESIGNS if ends[name] != ends["shared_tlb"]]
        check({"pw_cache", "mask_tlb", "mask_dram", "mask", "ideal"} <= set(changed), f"designs do not differ: {ends}")
        check(walks["ideal"] is None and walks["shared_tlb"] > 0, f"cycles of a walk: {walks}")
        # TRD alone: SCP of this size, and the pair, are slower with an ideal TLB on these channels.
        alone = {}
        for design in ("shared_tlb", "ideal"):
            run = study.Run(("TRD",), f"alone, {design}", study.DESIGNS[design] | {"gpu.sms": 12}, sizes=SMALL)
            digest(program, Path(folder), run)
            with h5py.File(file_of(Path(folder), run)) as f:
                alone[design] = int(f["summary/machine/end"][0])
        check(alone["ideal"] < alone["shared_tlb"], f"an ideal TLB is slower: {alone}")
        for applications in range(1, 6):
            run = study.Run(("SCP",), f"part of {applications}", study.static_part(applications) | {"gpu.sms": 6}, sizes=SMALL)
            found = digest(program, Path(folder), run)
            check(re.fullmatch("[0-9a-f]{32}", found), f"a part of {applications}: {found}")
    print(checks.counts())
    return 1 if checks.failed() else 0


sys.exit(main())
