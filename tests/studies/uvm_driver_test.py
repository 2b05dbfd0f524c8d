# SPDX-License-Identifier: Apache-2.0
"""The study of NVIDIA's UVM driver at its small size. Each workload has one digest on one and two threads; every run has a valid
configuration and a unique name and identity; every assumed parameter is varied; and the report has each part."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/studies/uvm_driver"), str(ROOT / "tests/support")]
import checks
from checks import check

try:
    import h5py

    import study
    import parts
    import batch_lines
    import lines_check
    import records
    import report
    from study_runs import digest, file_of, identity
    from measure import line, measure
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

PARTS = ["driver", "checks", "assumed", "others"]


def check_line():
    a, b, r2 = line([1, 2, 3], [12, 14, 16])
    check((round(a, 9), round(b, 9), round(r2, 9)) == (10, 2, 1), f"a line through three points: {a}, {b}, {r2}")
    check(line([1, 1, 1], [1, 2, 3]) == (None, None, None), "a line through points of one x")


def check_batches(path, share, found):
    """Invariants of every batch."""
    with h5py.File(path) as f:
        b = {name: f["tables/fault_batches"][name][:] for name in f["tables/fault_batches"]}
    check(found["batches"] == len(b["raw_faults"]) > 0, f"{path}: no batches")
    check((b["raw_faults"] <= 256).all(), f"{path}: a batch has more faults than the driver reads")
    check((b["duplicates"] <= b["raw_faults"]).all(), f"{path}: more duplicates than faults")
    check((b["pages"] + b["duplicates"] <= b["raw_faults"]).all(), f"{path}: more pages than faults without duplicates")
    check((b["bytes_in"] <= 4096 * (b["pages"] + b["prefetched_pages"])).all(), f"{path}: more bytes than pages")
    check((b["bytes_out"] == 4096 * (b["evicted_pages"] - b["dropped_pages"])).all(), f"{path}: bytes out are not the pages'")
    check((b["blocks"] <= b["pages"]).all(), f"{path}: a block without a faulted page")
    check((b["ended"] > b["began"]).all() and (b["began"][1:] >= b["ended"][:-1]).all(), f"{path}: two concurrent batches")
    check((b["evicted_pages"].sum() == 0) == (share == 1), f"{path}: {b['evicted_pages'].sum()} pages evicted of a memory of {share}")


def check_fit():
    """The fit yields the preset's values, and reproduces each published line within 25%."""
    preset = (ROOT / "topologies/presets/nvidia-uvm.toml").read_text()
    time, block, page = batch_lines.rounded()
    for key, us in (("time", time), ("block_time", block), ("page_time", page)):
        found = re.search(rf'^{key} = "(\d+)(us|ns)"', preset, re.MULTILINE)
        check(found and float(found[1]) * {"us": 1, "ns": 1e-3}[found[2]] == us, f"driver.batch.{key} is not the fit's {us} us")
    for program, kib, _, blocks, _, residual in batch_lines.rows():
        check(abs(residual) <= batch_lines.LIMIT, f"{program}, {kib} KiB: residual {residual:+.1%}")
        check(1 <= blocks <= max(1, kib / batch_lines.PAGE_KIB), f"{program}, {kib} KiB: {blocks} VA blocks")


def check_lines(program, folder):
    """Mean batches without prefetching are within 25% of the published lines; with the times from before the fit they are not."""
    runs = parts.Parts("small", ["driver", "checks"]).runs
    measured = {"driver": {}, "checks": {}}
    for part, what in (("driver", "none"), ("checks", "before the fit")):
        for w in lines_check.PRODUCED:
            key = (what, w, parts.cell(1))
            if re.fullmatch("[0-9a-f]{32}", digest(program, folder, runs[part][key])):
                measured[part][key] = measure(file_of(folder, runs[part][key]))
    found = lines_check.of_lines(measured)
    check(len(found) == 4, f"generated lines: {found}")
    for w, program_of_line, reading, m, us, residual in found:
        is_off = abs(residual) > lines_check.LIMIT
        where = f"{w} against {program_of_line}, {reading}: {m['batch_us']:.1f} us, published {us:.1f} us"
        check(is_off == (reading != "preset"), where)
    # Published: 4 VA blocks, 60 distinct pages. An array of the small size is one VA block, so a batch has two or
    # three.
    stream = measured["driver"].get(("none", "vectoradd", parts.cell(1)))
    check(stream and 2 <= stream["blocks"] <= 5 and 55 <= stream["distinct"] <= 70, f"a batch of the stream: {stream}")


def main():
    program = (Path(sys.argv[1]).parent / "farfault").resolve()
    listed = json.loads(subprocess.run([program, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    keys = {p["key"] for p in listed}
    check_line()
    check_fit()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        check_lines(program, folder)
        small = parts.Parts("small", PARTS)
        runs = [run for found in small.runs.values() for run in found.values()]
        check(len({run.name for run in runs}) == len(runs), "two runs have the same name")
        check(len({identity(run) for run in runs}) == len(runs), "two runs are identical")
        unknown = {key for run in runs for key in run.all_settings()} - keys
        check(not unknown, f"the program has no {unknown}")
        varied = {key for key, *_ in parts.ASSUMED + parts.OTHERS} | set(parts.UNUSED)
        assumed = {p["key"] for p in listed if p["source"].startswith("assumed") and p["key"].startswith("driver.") and p["key"].count(".") < 3}
        check(assumed <= varied, f"assumed, and not varied: {assumed - varied}")

        measured = {part: {} for part in PARTS}
        for w in study.WORKLOADS:
            for share in (1, 0.5):
                run = small.runs["driver"]["tree", w, parts.cell(share)]
                first, second = digest(program, folder, run, "--threads", "1"), digest(program, folder, run, "--threads", "2", "--partitions", "split")
                check(re.fullmatch("[0-9a-f]{32}", first) and first == second, f"{w}, {share}: {first}, {second}")
                if not re.fullmatch("[0-9a-f]{32}", first):
                    continue
                found = measure(file_of(folder, run))
                check(found["digest"] == first and found["kernel_us"] > 0, f"{w}: {found}")
                check_batches(file_of(folder, run), share, found)
                for part in PARTS:
                    for key in small.runs[part]:
                        if key[1] == w and (key[2] == parts.cell(share) or part != "driver"):
                            measured[part][key] = found
        for key in small.runs["checks"]:
            measured["checks"][key] = measured["driver"]["tree", "vectoradd", parts.cell(1)]
        quick = parts.Parts("quick", PARTS, True)
        check(sum(len(q) for q in quick.runs.values()) < len(runs) / 2, "--quick has at least half of the runs")
        made = {"program": "farfault", "program_sha256": "0", "checkout": "", "runs": 1, "results": "0", "size": "small"}
        report.write(folder / "tables", measured, made)
        text = (folder / "tables/results.md").read_text()
        for heading in ("Batch contents", "Batch times", "Batch time by bytes", "Assumed parameters", "Other parameters", "Readings", "Checks",
                        "Constants"):
            check(f"## {heading}" in text, f"results.md has no '{heading}'")
        check(lines_check.SOURCES.keys() == {"preset", *parts.READINGS}, "each reading has its source")
        m = measured["driver"]["tree", "vectoradd", parts.cell(1)]  # stands for all runs of the checks
        check(re.search(rf"\| no interrupt time \| [^|]+ \| - \| - \| {m['batch_us_median']:.0f} \| {m['batch_us_median']:.0f} \| {m['raw_faults']:.0f} \|", text) is not None,
              "results of a reading")
        rows = records.read(folder / "tables")["rows"]
        check(len(rows) == sum(len(found) for found in measured.values()), "rows of results.json.xz")
    print(checks.counts())
    return 1 if checks.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
