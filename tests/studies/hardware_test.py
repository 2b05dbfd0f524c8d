# SPDX-License-Identifier: Apache-2.0
"""The hardware study. The presets reproduce its published inputs to the cycle, and no input is used as a judge; its output names the
program; and each file of ../shared/data/measured has a line in its README."""
import fnmatch
import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/studies/hardware"), str(ROOT / "tests/support")]
import checks
from checks import check

try:
    import study
    import measure
    import provenance
    import records
    import report
    from sweeps import Sweep
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    values = measure.PUBLISHED["values"]
    for v in values + measure.PUBLISHED["curves"]:
        check(v["role"] in ("input", "judge") and v["source"] in measure.PUBLISHED["sources"], f"{v}: role or source")
    inputs = {(v["gpu"], v["what"], v["source"]) for v in values if v["role"] == "input"}
    judges = {(v["gpu"], v["what"], v["source"]) for v in values if v["role"] == "judge"}
    check(not inputs & judges, f"both input and reference: {inputs & judges}")
    sources = {(v["gpu"], v["source"]) for v in values if v["role"] == "input"}
    for c in measure.PUBLISHED["curves"]:
        check((c["gpu"], c["source"]) not in sources, f"{c['gpu']}: {c['source']} is a source of the preset that its curve is compared with")

    # A value from which an input was derived is an input as well.
    for v in values:
        for what in v.get("from", []):
            check((v["gpu"], what, v["source"]) in inputs, f"{v['gpu']}: {what} of {v['source']} is a source of {v['what']} and a reference")
    check(any("from" in v for v in values), "no input was derived from another")
    named = {e["source"] for e in values + measure.PUBLISHED["curves"]} | {"cuda-gpu-tlb", "vcopy"}
    check(set(measure.PUBLISHED["sources"]) == named, f"unused sources: {set(measure.PUBLISHED['sources']) - named}")

    # An input is shown next to the model but enters no median: here every judge is off by half, and every input by far
    # more.
    off = {"v100": {"levels": {"l1": 42.0, "l2": 289.5, "memory": 1e6}, "peak": 900.0, "read": 1299.0, "copy": 1203.0, "l2_read": 3675.0,
                    "pair_write": 71.85, "pair_read": 1.0, "curve": [], "mhz": 1380, "line": 128, "l2_bytes": 6 << 20, "stages": {}}}
    rows = report.judged(off)
    errors = {r[4] for r in rows if r[6] == "judge"}
    check(len(errors) > 0 and max(errors) - 0.5 < 1e-9 and min(errors) > 0.499999, f"references: {errors}")
    check(any(r[6] == "input" and r[1] == "memory" and r[5] == "jia" for r in rows), "V100's input is not listed with the model")

    # Each SM's part of the L2 has its own points, and a lap precedes the measured loads if a cache holds some of them.
    preset = {"l1_cache": {"size": "32 KiB"}, "l2_cache": {"size": "32 MiB", "partitions": 8}, "l1_tlb": {"entries": 32},
              "memory_cache": {"size": "256 MiB"}}
    check(measure.caches(preset) == (4 << 20, 32 << 20, 256 << 20) and measure.beyond(preset) == 384 << 20, "caches of a preset")
    check({2 << 20, 512 << 20} <= set(measure.footprints(preset, True)), "footprints of a preset with partitions")
    short, long, loads = study.chase("mi300x", 2100, 128 << 20, 128, measure.beyond(preset))
    check(short.settings["workload.pointer_chase.hops"] == 1 << 20 and loads == 8192, "a round through the memory-side cache")

    # The README has a line for every measured file.
    if study.MEASURED.is_dir():
        readme = (study.FOLDER / "README.md").read_text().split("## Which files")[1].split("## ")[0]
        patterns = re.findall(r"^\| `([^`]+)` \|", readme, re.MULTILINE)
        for file in (f for f in study.MEASURED.rglob("*") if f.is_file()):
            name = str(file.relative_to(study.MEASURED))
            check(any(fnmatch.fnmatch(name, p) for p in patterns), f"{name} has no line in {study.FOLDER}/README.md")

    # A chase through 4 KiB hits the L1; one through 1 MiB, half of a page, hits the L2.
    with tempfile.TemporaryDirectory() as scratch:
        sweep = Sweep(provenance.Program(program), Path(scratch), study.figures, 2, quiet=True)
        chases = {}
        for v in values:
            if v["role"] == "input" and v["what"] in ("l1", "l2"):
                line = 64 if v["gpu"] in ("mi100", "mi210") else 128
                size = study.MIB if v["what"] == "l2" else 4 * study.KIB
                chases[v["gpu"], v["what"]] = v, study.chase(v["gpu"], v["mhz"], size, line, 12 * study.MIB)
        done = measure.figures_of(sweep, [r for _, c in chases.values() for r in c[:2]])
        for (gpu, what), (v, c) in chases.items():
            cycles = measure.per_load(done, *c, v["mhz"])
            check(abs(cycles - v["value"]) < 0.5, f"{gpu}, {what}: {cycles:.2f} cycles, published {v['value']}")
        made = provenance.mark(sweep.program, sweep.all_digests(), quick=True)
        check(made["runs"] == len(done) and made["program_sha256"] == sweep.program.hash[:16], f"the mark has {made}")
        folder = Path(scratch)
        off["v100"]["curve"] = [[1380, f, 42.0] for f in (4096, 3 << 20, 1 << 30)]
        report.write(folder, off, made)
        for name in ("results.md", "chase.svg"):
            check(made["program_sha256"] in (folder / name).read_text(), f"{name} does not name the program")
        check(records.read(folder)["about"] == made, "results.json.xz has another header")
        text = (folder / "results.md").read_text()
        check("| V100 | no curve | 0 | 50% | 6 |" in text, "the median includes inputs")

        # An invalid run is reported in one sentence, and so is a failed one.
        for settings, word in (({"workload.name": "nothing"}, "nothing"), ({"workload.name": "stream", "workload.stream.bytes": "64 TiB"}, "stream")):
            bad = study.Run("gpu-v100", settings)
            try:
                measure.figures_of(sweep, [bad])
                check(False, f"{settings}: accepted")
            except study.StudyError as problem:
                check(word in str(problem) and "\n" not in str(problem) and sweep.of(bad) is None, f"{problem}")
    print(checks.counts())
    return 1 if checks.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
