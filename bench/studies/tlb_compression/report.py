# SPDX-License-Identifier: Apache-2.0
"""results.md: measured and published figures; results.json.xz: every figure of every run."""
import json
from pathlib import Path

import records
import sections
from configuration import flat
from figures import AS_IT_IS, Figures, geometric, letter, points
from provenance import sentence
from readings import readings
from study import (DESIGNS, FOLDER, INTENSIVE_OR_IRREGULAR, IRREGULAR, MORE, NAMES, NOTHING_TO_GAIN, OTHERS, PUBLISHED, READINGS, TABLE_2, WALKER_BOUND,
                   WITHOUT_WALKER_BOUND, WORKLOADS)
from tables import average, percent, ratio, show, table

PAPER = json.loads((FOLDER / "paper.json").read_text())
PART = "benchmarks"
SPEEDUPS = [d for d in DESIGNS if d != "plain"]
L2_RATES = ["plain", *READINGS, "naive", "plain_1024", "plain_256", "range"]
CHANGES = [*READINGS, "plain_1024"]
AFTER_READINGS = ["" if d == "compressed" else f", {d}" for d in READINGS]  # in headers
GROUPS = {"all 22": (TABLE_2, "all"), "the 16 memory-intensive or irregular": (INTENSIVE_OR_IRREGULAR, "intensive_or_irregular"), "the other 6": (OTHERS, None),
          f"all but {', '.join(WALKER_BOUND)}": (WITHOUT_WALKER_BOUND, None)}


def overview_rows(f):
    """{text: (measured, the paper's or None, format)}."""
    found = {}
    whole = len(f.benchmarks(PART)) == len(TABLE_2)

    def of_all(paper):
        """The paper's mean, if this run of the study has all of its benchmarks."""
        return paper if whole else None

    def add(text, value, paper=None, how="speedup"):
        found[text] = (value, paper, how)

    for design, name in ((d, "compressed" if d == "compressed" else f"compressed, {NAMES[d]}") for d in READINGS):
        for text, (among, key) in GROUPS.items():
            add(f"{name}, {text}", f.mean_speedup(PART, AS_IT_IS, design, among), of_all(PAPER["speedup"].get(key)))
        add(f"{name}, all 22, geometric mean", f.mean_speedup(PART, AS_IT_IS, design, mean=geometric))
    gains = [g for g in (f.speedup(PART, AS_IT_IS, b, "compressed") for b in f.benchmarks(PART)) if g]
    add("compressed, the most", max(gains, default=None), of_all(PAPER["speedup"]["most"]))
    add("compressed, the least", min(gains, default=None))
    add("compressed, kmeans", f.speedup(PART, AS_IT_IS, "kmeans", "compressed"), PAPER["speedup"]["kmeans"])
    for design in (*READINGS, "naive", "plain_1024", "plain_256"):
        paper = of_all(PAPER["l2_hit"].get("compressed" if design in READINGS else design))
        for i, how in enumerate(("points", "relative")):
            add(f"{NAMES[design]}, L2 hit rate, {how}", f.mean_change(PART, AS_IT_IS, design)[i], paper, "change")
        if design in READINGS:
            add(f"{NAMES[design]}, L2 hit rate with merged misses as hits, points", f.mean_change(PART, AS_IT_IS, design, name="l2_no_walk")[0], paper, "change")
        add(f"{NAMES[design]}, L2 hit rate of all but {', '.join(WALKER_BOUND)}, points", f.mean_change(PART, AS_IT_IS, design, WITHOUT_WALKER_BOUND)[0], None, "change")
    for i, how in enumerate(("points", "relative")):
        add(f"compressed, L2 hit rate of kmeans, {how}", f.change(PART, AS_IT_IS, "kmeans", "compressed")[i], PAPER["l2_hit"]["kmeans"], "change")
    for b in ("page_rank", "mis", "bfs"):
        add(f"without re-basing, {b}", f.speedup(PART, AS_IT_IS, b, "naive"), PAPER["naive_loss"])
        for graph in f.whats("graph_files"):
            add(f"without re-basing, {b}, {graph}", f.speedup("graph_files", graph, b, "naive"), PAPER["naive_loss"])
    for design in ("plain_1024", "plain_256", "range"):
        add(f"{NAMES[design]}, all 22", f.mean_speedup(PART, AS_IT_IS, design))
    add("compressed over range TLB, the 15 irregular", f.mean_speedup(PART, AS_IT_IS, "compressed", IRREGULAR, "range"), of_all(PAPER["range"]))
    for design in ("ideal_l2", "ideal"):
        add(f"{NAMES[design]}, all 22", f.mean_speedup(PART, AS_IT_IS, design), of_all(PAPER[design]))
    add("compressed L1 TLB, all 22", f.mean_speedup(PART, AS_IT_IS, "compressed_l1"))
    add("compressed L1 TLB, L1 hit rate, points", f.mean_change(PART, AS_IT_IS, "compressed_l1", TABLE_2, "l1_hit")[0], None, "change")
    return found


SHOWN = {"speedup": lambda v: show(v, 3), "change": points}


def overview(f):
    def paper(told, how):
        return "" if not told else told.get("text") or SHOWN[how](told["value"])
    rows = [[text, SHOWN[how](value), paper(told, how), told["where"] if told else ""] for text, (value, told, how) in overview_rows(f).items()]
    count = len(f.benchmarks(PART))
    fewer = "" if count == len(TABLE_2) else f" Only {count} of the 22 benchmarks were run: all means are over these, without the paper's, which are over all."
    return ["## Overview", "", "Speedups over the baseline, arithmetic means; changes of hit rates in percentage points or, relative, in percent. The paper states percentages without "
            "this distinction, so its number is in both rows. It describes the re-basing counter twice. Section 5.2: \"a re-basing is only triggered after a number of "
            "consecutive uncompressible address translations\". \"Compressed\" counts all address translations, hits and insertions; \"consecutive counter\" counts only insertions. Section 4.5: "
            "\"whenever an uncompressed translation occurs, the re-basing counter is decremented\". \"Cumulative counter\" counts insertions since the last re-basing." + fewer] + table(["", "Farfault", "paper", "source"], rows)


def suites(f):
    """Benchmarks at the suites' sizes, because the paper uses the largest data sets."""
    names = f.benchmarks("full")
    if not names:
        return []
    return [f"- At the suites' sizes, mean of {', '.join(names)}: " + "{}, {} and {}.".format(*(show(f.mean_speedup("full", AS_IT_IS, d), 3) for d in READINGS)) +
            " At the sizes of these tables: " + "{}, {} and {}.".format(*(show(f.mean_speedup(PART, AS_IT_IS, d, names), 3) for d in READINGS))]


def headline(f):
    """The result as a paragraph."""
    if len(f.benchmarks(PART)) < len(TABLE_2):
        return []

    def speedup(design, among):
        return show(f.mean_speedup(PART, AS_IT_IS, design, among), 3)

    def change(design, among):
        return points(f.mean_change(PART, AS_IT_IS, design, among)[0])
    full = [b for b in f.benchmarks(PART) if round(f.of(PART, AS_IT_IS, b, "plain", "l2_hit") or 0, 2) >= NOTHING_TO_GAIN]
    three, rest = ", ".join(WALKER_BOUND), WITHOUT_WALKER_BOUND

    def each(value, among):
        return "{}, {} and {}".format(*(value(d, among) for d in READINGS))
    return [f"**Mean speedup of 22 benchmarks over the baseline: {speedup('compressed', TABLE_2)} with a counter of consecutive hits and insertions (section 5.2), "
            f"{speedup('consecutive', TABLE_2)} with a counter of consecutive insertions, {speedup('cumulative', TABLE_2)} with a cumulative counter (section 4.5); paper: {PAPER['speedup']['all']['value']}. "
            f"The L2 TLB hit rate changes by {each(change, TABLE_2)} points (paper: {points(PAPER['l2_hit']['compressed']['value'])}).** The 16 memory-intensive or irregular benchmarks: "
            f"{each(speedup, INTENSIVE_OR_IRREGULAR)} (paper: {PAPER['speedup']['intensive_or_irregular']['value']}).", "",
            f"- {len(full)} of the 22 have an L2 TLB hit rate of at least {percent(NOTHING_TO_GAIN, 0)} (rounded) in the baseline, which can hardly rise: {', '.join(full)}. Their mean speedup is "
            f"{speedup('ideal_l2', full)} with an ideal L2 TLB, {each(speedup, full)} with compression.",
            f"- Without {three}: {each(speedup, rest)}; {each(change, rest)} points; with 1,024 entries "
            f"{speedup('plain_1024', rest)} and {change('plain_1024', rest)} points.", *suites(f), ""]


def classes(f, sizes):
    rows, agree = [], 0
    for b in f.benchmarks(PART):
        def of(name):
            return f.of(PART, AS_IT_IS, b, "plain", name)
        paper, here = TABLE_2[b][2:], (letter(of("l1_hit")), letter(of("l2_hit")))
        agree += here == paper
        own = ", ".join(f"{k} {v}" for k, v in flat(sizes[b][0]).items()) or "defaults"
        rows.append([b, ", ".join(TABLE_2[b][:2]), f"`{WORKLOADS[b]}`", own, PUBLISHED[b], show((of("pages") or 0) / 256, 1), percent(of("l1_hit")), percent(of("l2_hit")),
                     percent(of("merged")), ", ".join(here), ", ".join(paper), "" if here == paper else "differs",
                     show(ratio(1000 * (of("walks") or 0), of("instructions")), 2), percent(of("translating"), 0)])
    return ["## Benchmarks (Tables 2 and 3, Fig. 3)", "", "The baseline. H: a hit rate of at least 75%. Merged misses: share of L2 TLB look-ups that merge with an outstanding walk of their page; "
            "they count as misses. The L2 TLB reach is 2 MiB. Walks: per thousand warp instructions; translation: share of access time. "
            f"{agree} of {len(rows)} benchmarks are in the paper's class. " +
            ", ".join(MORE) + " have 256 KB of registers per SM."] + \
        table(["", "category", "workload", "size", "published", "MiB", "L1 TLB", "L2 TLB", "merged misses", "Farfault", "paper", "", "walks", "translation"], rows)


def means(row_of):
    names = {"all": TABLE_2, "16 memory-intensive or irregular": INTENSIVE_OR_IRREGULAR, "other 6": OTHERS, f"all but {', '.join(WALKER_BOUND)}": WITHOUT_WALKER_BOUND}
    return [[f"**{text}**"] + row_of(among) for text, among in names.items()]


def speedups(f):
    rows = [[b] + [show(f.speedup(PART, AS_IT_IS, b, d), 3) for d in SPEEDUPS] for b in f.benchmarks(PART)]
    rows += means(lambda among: [show(f.mean_speedup(PART, AS_IT_IS, d, among), 3) for d in SPEEDUPS])
    return ["## Speedups (Figs. 5, 12, 14 and 18)", "", "Cycles of the baseline divided by the cycles with each TLB. \"Ideal\": translation takes no time at either level."] + \
        table([""] + [NAMES[d] for d in SPEEDUPS], rows)


def hit_rates(f):
    levels = ("plain", "compressed_l1")
    rows = []
    for b in f.benchmarks(PART):
        found = [f.change(PART, AS_IT_IS, b, d) for d in CHANGES]
        rows.append([b] + [percent(f.of(PART, AS_IT_IS, b, d, "l2_hit")) for d in L2_RATES] + [points(c[0]) for c in found] + [points(found[0][1])] +
                    [percent(f.of(PART, AS_IT_IS, b, "plain", "l2_no_walk"))] + [points(f.change(PART, AS_IT_IS, b, d, "l2_no_walk")[0]) for d in READINGS] +
                    [show(f.walks(PART, AS_IT_IS, b, "compressed"), 3)] + [percent(f.of(PART, AS_IT_IS, b, d, "l1_hit")) for d in levels])

    def mean_row(among):
        found = [f.mean_change(PART, AS_IT_IS, d, among) for d in CHANGES]
        walks = average([f.walks(PART, AS_IT_IS, b, "compressed") for b in f.benchmarks(PART) if b in among])
        return [percent(f.mean(PART, AS_IT_IS, d, "l2_hit", among)) for d in L2_RATES] + [points(c[0]) for c in found] + [points(found[0][1])] + \
            [percent(f.mean(PART, AS_IT_IS, "plain", "l2_no_walk", among))] + [points(f.mean_change(PART, AS_IT_IS, d, among, "l2_no_walk")[0]) for d in READINGS] + [show(walks, 3)] + \
            [percent(f.mean(PART, AS_IT_IS, d, "l1_hit", among)) for d in levels]
    return ["## Hit rates (Figs. 13 and 15)", "", "L2 TLB hit rates; changes over the baseline in points; relative change by compression. Then the same with merged misses as hits, because "
            "the paper does not state how it counts them. Walks: walks with compression divided by walks of the baseline. The last two columns are L1 TLB hit rates, plain and compressed."] + \
        table([""] + [NAMES[d] for d in L2_RATES] + [f"points, {NAMES[d]}" for d in CHANGES] + ["relative", "baseline, merged as hits"] + [f"points, {NAMES[d]}, merged as hits" for d in READINGS] + ["walks", "L1", "L1, compressed"], rows + means(mean_row))


def compression(f):
    rows = []
    for b in f.benchmarks(PART):
        def of(design, name):
            return f.of(PART, AS_IT_IS, b, design, name)
        cells = [b]
        for design in (*READINGS, "naive"):
            cells += [percent(of(design, name), 0) for name in ("compressed_fills", "compressed_hits")]
        for design in READINGS:
            cells += [show(of(design, "fills_a_rebasing"), 0), percent(of(design, "flushed"), 0)]
        rows.append(cells + [percent(of("range", "range_hits"), 0)])
    header = [text for name in [*AFTER_READINGS, ", without re-basing"] for text in (f"inserted compressed{name}", f"hits on compressed entries{name}")]
    header += [text for name in AFTER_READINGS for text in (f"insertions per re-basing{name}", f"flushed{name}")]
    return ["## Compressed translations (Fig. 7)", "", "Share of the translations that are inserted compressed in the L2 TLB; share of its hits on compressed entries; insertions per re-basing; "
            "share of the compressed translations that a re-basing flushed; share of the range TLB's hits on ranges. The paper's Fig. 7 counts differing bits in "
            "snapshots, which are not recorded here."] + table([""] + header + ["hits on ranges"], rows)


def benchmarks(f, sizes):
    return overview(f) + readings(f, PAPER) + classes(f, sizes) + speedups(f) + hit_rates(f) + compression(f)


def write(folder, measured, made, sizes, graphs=()):
    """Writes results.json.xz and results.md. `graphs`: graph files of the part graph_files."""
    folder.mkdir(parents=True, exist_ok=True)
    f = Figures(measured)
    listed = [{"part": part, "what": key[0], "benchmark": key[1], "design": key[2]} | m for part, found in measured.items() for key, m in found.items()]
    summary = {text: {"measured": value, "paper": paper and paper["value"]} for text, (value, paper, _) in overview_rows(f).items()} if measured.get(PART) else {}
    records.write(folder, about=made, overview=summary, rows=listed)
    lines = ["# TLB compression: the paper and Farfault", "", f"Written by `run`; do not edit. {sentence(made)} {PAPER['source']}", "",
             "22 benchmarks on the preset `paper-tlb-compression`.", ""] + headline(f)
    discussion = FOLDER / "discussion.md"
    if discussion.exists() and Path(folder).resolve() == FOLDER:
        lines += [discussion.read_text().strip(), ""]
    if measured.get(PART):
        lines += benchmarks(f, sizes)
    for name, section in sections.SECTIONS.items():
        if measured.get(name):
            lines += section(f, PAPER, graphs)
    lines += ["", "The first half of each digest is in results.json.xz."]
    (folder / "results.md").write_text("\n".join(lines).rstrip() + "\n")
