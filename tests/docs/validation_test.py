#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Figures and settings in docs/validation are those of the committed results and of the program.

Usage: validation_test.py BUILD_FOLDER/anything
"""
import json
import lzma
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "docs/tools")]
import checks
import program
from checks import check

STUDIES = ROOT / "bench/studies"
PAGES = ROOT / "docs/validation"


def results(study):
    with lzma.open(STUDIES / study / "results.json.xz") as file:
        return json.load(file)


def averages_of_paper(study):
    return json.loads((STUDIES / study / "paper.json").read_text(encoding="utf-8"))["averages"]


def gmmu_bypass():
    measured = {row["series"]: row for row in results("gmmu_bypass")["rows"]
                if row["figure"] == "5" and row["placement"] == "recorded" and row["workload"] == "average"}
    both = [measured[f"bypass_over_{other}"] for other in ("distributed", "centralized")]
    return [row["measured"] for row in both], [row["paper"] for row in both]


def mosaic():
    found, paper = results("mosaic"), averages_of_paper("mosaic")
    # Copies of one application have equal SMs, so the ratio of weighted speedups is the ratio of summed IPC.
    ipc = {(row["mix"], row["design"]): sum(row["ipc"].values()) for row in found["rows"] if row["part"] == "homogeneous"}
    gains = [ipc[mix, "mosaic"] / value for (mix, design), value in ipc.items()
             if design == "gpu_mmu" and mix.split("+")[0] not in ("MUM", "GUP", "NW", "QTC", "SC")]
    averages = [f"mosaic_{part}" for part in ("homogeneous", "heterogeneous")]
    here = [found["averages"][name] for name in averages]
    return [here[0], sum(gains) / len(gains), here[1]], [paper[name]["value"] for name in averages]


def batch_aware():
    return [results("batch_aware")["averages"]["to_ue_over_baseline"]], [averages_of_paper("batch_aware")["to_ue_over_baseline"]["value"]]


def mask():
    averages = results("mask")["averages"]
    mask, ideal = (averages[f"{design} over SharedTLB, weighted speedup"] for design in ("MASK", "Ideal"))
    # Pairs in which Ideal gains: number of pairs, Ideal, three parts of MASK, MASK.
    text = (STUDIES / "mask/results.md").read_text(encoding="utf-8")
    headroom = re.search(r"^\| at least 10% \| 5 \| ([\d.]+) \|(?: [\d.]+ \|){3} ([\d.]+) \|", text, re.MULTILINE)
    return ([mask["measured"], float(headroom[2]), ideal["measured"], float(headroom[1])],
            [mask["paper"], 1 / averages["SharedTLB to Ideal, weighted speedup"]["paper"]])


def tlb_compression():
    overview = results("tlb_compression")["overview"]
    here = [overview["compressed, " + of] for of in ("all 22", "all but atax, mvt, bicg", "the 16 memory-intensive or irregular")]
    return [row["measured"] for row in here], [row["paper"] for row in here if row["paper"]]


# Ratios of each row of the table of gains, in the order of its columns "Gain here" and "Paper".
GAINS = {"GMMU bypass": gmmu_bypass, "Mosaic": mosaic, "Batch-aware": batch_aware, "MASK": mask, "TLB compression": tlb_compression}


def table(page, heading):
    """The rows of the first table below a heading, as lists of cells, without its head."""
    lines = page.split(f"## {heading}\n\n")[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def shows(cell, ratios):
    """True if the percentages in a cell are the gains of these ratios, each rounded to its digits."""
    shown = re.findall(r"[+-]\d+(?:\.(\d+))?%", cell)
    values = [float(text) for text in re.findall(r"([+-][\d.]+)%", cell)]
    return len(values) == len(ratios) and all(abs(100 * (ratio - 1) - value) <= 0.5001 * 10 ** -len(digits)
                                              for ratio, value, digits in zip(ratios, values, shown))


def wrong_gains(page):
    rows = {row[0].split(" (")[0]: row for row in table(page, "Gains")}
    if list(rows) != list(GAINS):
        return [f"rows {list(rows)}, not {list(GAINS)}"]
    return [f"{name}: '{cell}', results: {ratios}" for name, row in rows.items()
            for cell, ratios in zip((row[2], row[3]), GAINS[name]()) if not shows(cell, ratios)]


def wrong_grit(page):
    """Rows of the table of GRIT that differ from the study's results."""
    rows, averages = table(page, "GRIT"), results("grit")["averages"]
    wrong = [f"'{name}': {cells}, results: {of}" for (name, *cells), of in zip(rows, averages.values())
             if not (shows(cells[0], [of["geometric"]]) and shows(cells[1], [of["20 us per page"]]) and shows(cells[2], [of["memory of all GPUs"]])
                     and shows(cells[3], [of["paper"]]))]
    return wrong if len(rows) == len(averages) else [*wrong, f"{len(rows)} rows, not {len(averages)}"]


def wrong_mgvm(page):
    """Rows of the table of MGvm that differ from the study's results."""
    rows, averages = table(page, "MGvm"), results("mgvm")["averages"]
    over = [averages["mgvm"], averages["mgvm_over_shared"]]
    wrong = [f"'{name}': {cells}, results: {of}" for (name, *cells), of in zip(rows, over)
             if not (shows(cells[0], [of["geometric"]]) and shows(cells[1], [of["same_division"]]) and shows(cells[2], [of["paper"]] if of["paper"] else []))]
    return wrong if len(rows) == len(over) else [*wrong, f"{len(rows)} rows, not {len(over)}"]


def wrong_settings(page, choices):
    """Rows of the table of mechanisms with an unknown setting, a missing preset or a missing study."""
    rows, wrong = table(page, "Five papers' mechanisms, one model"), []
    for _, _, settings, preset, study in rows:
        pairs = re.findall(r"`([\w.]+)` = `\"(\w+)\"`", settings)
        wrong += [] if pairs else [f"no setting in '{settings}'"]
        wrong += [f"{key} = {value} is unknown" for key, value in pairs if value not in choices.get(key, [])]
        files = [f"topologies/presets/{preset.strip('`')}.toml", re.search(r"`(.*?)`", study)[1]]
        wrong += [f"{file} is missing" for file in files if not (ROOT / file).exists()]
    return wrong if len(rows) == len(GAINS) else [*wrong, f"{len(rows)} rows, not {len(GAINS)}"]


def gpu_rows(text):
    return re.findall(r"^\| (?:V100|A100|H100|MI100|MI210|MI300X) (?:\| [^|]*){6}\|$", text, re.MULTILINE)


def main():
    papers = (PAGES / "papers.md").read_text(encoding="utf-8")
    parameters = program.Program(Path(sys.argv[1]).resolve().parent / "farfault").parameters()
    choices = {p.key: [c.name for c in p.choices] for p in parameters}
    wrong = wrong_gains(papers) + wrong_grit(papers) + wrong_mgvm(papers) + wrong_settings(papers, choices)
    check(not wrong, f"docs/validation/papers.md: {wrong}")
    for text, other in (("+8.4%", "+8.5%"), ("| +6.0%, +106% |", "| +106%, +6.0% |"), ("; +10.1%", ""), ("| MASK |", "| MASKS |")):
        check(text in papers and len(wrong_gains(papers.replace(text, other))) == 1, f"'{other}' in place of '{text}' is not found")
    for text, other in (("| +60% |", "| +61% |"), ("| GRIT vs. duplication |", "\n| GRIT vs. duplication |")):
        check(text in papers and len(wrong_grit(papers.replace(text, other))) == 1, f"'{other}' in place of '{text}' is not found")
    for text, other in (("| +52% |", "| +53% |"), ("| +185% |", "| +231% |")):
        check(text in papers and len(wrong_mgvm(papers.replace(text, other))) == 1, f"'{other}' in place of '{text}' is not found")
    for text, other in (("`paper-mask`", "`paper-masks`"), ('"tokens"', '"token"'), ("mosaic/run`", "mosaics/run`")):
        check(text in papers and len(wrong_settings(papers.replace(text, other), choices)) == 1, f"'{other}' in place of '{text}' is not found")

    # The table of GPU presets is the first one of the study's results.
    shown = gpu_rows((PAGES / "hardware.md").read_text(encoding="utf-8"))
    measured = gpu_rows((STUDIES / "hardware/results.md").read_text(encoding="utf-8"))[:6]
    check(len(shown) == 6 and shown == measured, f"docs/validation/hardware.md has {shown}, the results have {measured}")
    print(checks.counts())
    return 1 if checks.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
