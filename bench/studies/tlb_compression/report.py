# SPDX-License-Identifier: Apache-2.0
"""results.md: the paper's figures beside the measured ones; results.json: every figure of every run."""
import json
import math
from pathlib import Path

from configuration import flat
from provenance import sentence
from study import (DESIGNS, FOLDER, FRAMES, HIGH, INTENSIVE_OR_IRREGULAR, IRREGULAR, MORE, NAMES, OTHERS, PUBLISHED, SENSITIVITY, SYSTEM, TABLE_2,
                   VARIANTS, WORKLOADS)
from tables import average, percent, ratio, show, table

PAPER = json.loads((FOLDER / "paper.json").read_text())
AS_IT_IS = "as it is"
SPEEDUPS = [d for d in DESIGNS if d != "plain"]
L2_RATES = ["plain", "compressed", "naive", "plain_1024", "plain_256", "range"]


def points(value, digits=1):
    """A difference of two shares."""
    return "-" if value is None else f"{100 * value:+.{digits}f}"


def geometric(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def difference(a, b):
    return None if a is None or b is None else a - b


class Figures:
    """What the tables ask of the measures: {(what, benchmark, design): measures} by part."""

    def __init__(self, measured):
        self.measured = measured

    def of(self, part, what, benchmark, design, name):
        found = self.measured.get(part, {}).get((what, benchmark, design))
        return found[name] if found else None

    def benchmarks(self, part):
        return list(dict.fromkeys(k[1] for k in self.measured.get(part, {})))

    def speedup(self, part, what, benchmark, design, over="plain", base=None):
        return ratio(self.of(part, base or what, benchmark, over, "cycles"), self.of(part, what, benchmark, design, "cycles"))

    def change(self, part, what, benchmark, design, name="l2_hit", over="plain", base=None):
        """Of a rate, in points and relative."""
        ours, theirs = self.of(part, what, benchmark, design, name), self.of(part, base or what, benchmark, over, name)
        return difference(ours, theirs), difference(ratio(ours, theirs), 1)

    def mean_speedup(self, part, what, design, among, over="plain", mean=average):
        return mean([self.speedup(part, what, b, design, over) for b in self.benchmarks(part) if b in among])

    def mean_change(self, part, what, design, among, name="l2_hit", over="plain"):
        found = [self.change(part, what, b, design, name, over) for b in self.benchmarks(part) if b in among]
        return tuple(average([f[i] for f in found]) for i in range(2))


def letter(rate):
    return "-" if rate is None else "H" if rate >= HIGH else "L"


def overview_rows(f):
    """text -> (measured, the paper's, where it says so, how it is shown)."""
    part, found = "benchmarks", {}
    groups = {"all 22": (TABLE_2, "all"), "the 16 memory-intensive or irregular": (INTENSIVE_OR_IRREGULAR, "intensive_or_irregular"), "the other 6": (OTHERS, None)}

    def add(text, value, paper=None, how="speedup"):
        found[text] = (value, paper, how)

    for text, (among, key) in groups.items():
        add(f"compressed, {text}", f.mean_speedup(part, AS_IT_IS, "compressed", among), PAPER["speedup"].get(key))
    add("the same of all 22, geometric mean", f.mean_speedup(part, AS_IT_IS, "compressed", TABLE_2, mean=geometric))
    gains = [g for g in (f.speedup(part, AS_IT_IS, b, "compressed") for b in f.benchmarks(part)) if g]
    add("compressed, the most", max(gains, default=None), PAPER["speedup"]["most"])
    add("compressed, the least", min(gains, default=None))
    add("compressed, kmeans", f.speedup(part, AS_IT_IS, "kmeans", "compressed"), PAPER["speedup"]["kmeans"])
    for design in ("compressed", "naive", "plain_1024", "plain_256"):
        paper = PAPER["l2_hit"].get(design)
        for i, how in enumerate(("points", "relative")):
            add(f"{NAMES[design]}, L2 hit rate, {how}", f.mean_change(part, AS_IT_IS, design, TABLE_2)[i], paper, "change")
    for i, how in enumerate(("points", "relative")):
        add(f"compressed, L2 hit rate of kmeans, {how}", f.change(part, AS_IT_IS, "kmeans", "compressed")[i], PAPER["l2_hit"]["kmeans"], "change")
    for b in ("page_rank", "mis", "bfs"):
        add(f"without re-basing, {b}", f.speedup(part, AS_IT_IS, b, "naive"), PAPER["naive_loss"])
    for design in ("plain_1024", "plain_256"):
        add(f"{NAMES[design]}, all 22", f.mean_speedup(part, AS_IT_IS, design, TABLE_2))
    add("range TLB, all 22", f.mean_speedup(part, AS_IT_IS, "range", TABLE_2))
    add("compressed over range TLB, irregular ones", f.mean_speedup(part, AS_IT_IS, "compressed", IRREGULAR, "range"), PAPER["range"])
    for design in ("ideal_l2", "ideal"):
        add(f"{NAMES[design]}, all 22", f.mean_speedup(part, AS_IT_IS, design, TABLE_2), PAPER[design])
    add("compressed L1 TLB, all 22", f.mean_speedup(part, AS_IT_IS, "compressed_l1", TABLE_2))
    add("compressed L1 TLB, L1 hit rate, points", f.mean_change(part, AS_IT_IS, "compressed_l1", TABLE_2, "l1_hit")[0], None, "change")
    return found


def overview(f):
    shown = {"speedup": lambda v: show(v, 3), "change": points}
    rows = [[text, shown[how](value), shown[how](paper["value"]) if paper else "", paper["where"] if paper else ""]
            for text, (value, paper, how) in overview_rows(f).items()]
    return ["## Overview", "", "Speedups over the baseline, arithmetic means; differences of hit rates in points or, relative, in per cent. The paper says "
            "per cent of both: its number stands beside either."] + table(["", "here", "paper", "where"], rows)


def classes(f, sizes):
    rows, agree = [], 0
    for b in f.benchmarks("benchmarks"):
        def of(name):
            return f.of("benchmarks", AS_IT_IS, b, "plain", name)
        paper, here = TABLE_2[b][2:], (letter(of("l1_hit")), letter(of("l2_hit")))
        agree += here == paper
        own = ", ".join(f"{k} {v}" for k, v in flat(sizes[b][0]).items()) or "defaults"
        rows.append([b, ", ".join(TABLE_2[b][:2]), f"`{WORKLOADS[b]}`", own, PUBLISHED[b], show((of("pages") or 0) / 256, 1), percent(of("l1_hit")), percent(of("l2_hit")),
                     percent(of("merged")), ", ".join(here), ", ".join(paper), "" if here == paper else "differs",
                     show(ratio(1000 * (of("walks") or 0), of("instructions")), 2), percent(of("translating"), 0)])
    return ["## Benchmarks (Tables 2 and 3, Fig. 3)", "", "The baseline. H is a hit rate of at least 75 %. Under way: look-ups of the L2 TLB, as a share of all, "
            "that find their page's walk under way; they count as misses. The reach of the L2 TLB is 2 MiB. Walks are per thousand warp instructions; "
            f"translating is the share of an access's time. {agree} of {len(rows)} are in their class. " +
            ", ".join(MORE) + " have 256 KB of registers an SM."] + \
        table(["", "category", "workload", "size", "published", "MiB", "L1 TLB", "L2 TLB", "under way", "here", "paper", "", "walks", "translating"], rows)


def means(row_of):
    return [[f"**{text}**"] + row_of(among) for text, among in
            (("all", TABLE_2), ("16 memory-intensive or irregular", INTENSIVE_OR_IRREGULAR), ("other 6", OTHERS))]


def speedups(f):
    part = "benchmarks"
    rows = [[b] + [show(f.speedup(part, AS_IT_IS, b, d), 3) for d in SPEEDUPS] for b in f.benchmarks(part)]
    rows += means(lambda among: [show(f.mean_speedup(part, AS_IT_IS, d, among), 3) for d in SPEEDUPS])
    return ["## Speedups (Figs. 5, 12, 14 and 18)", "", "Cycles of the baseline to those of each. In \"ideal\" no translation takes time, at either level."] + \
        table([""] + [NAMES[d] for d in SPEEDUPS], rows)


def hit_rates(f):
    part = "benchmarks"

    def changes(found):
        return [points(found[0]), points(found[1])]
    rows = []
    for b in f.benchmarks(part):
        rows.append([b] + [percent(f.of(part, AS_IT_IS, b, d, "l2_hit")) for d in L2_RATES] + changes(f.change(part, AS_IT_IS, b, "compressed")) +
                    [show(ratio(f.of(part, AS_IT_IS, b, "compressed", "walks"), f.of(part, AS_IT_IS, b, "plain", "walks")), 3)] +
                    [percent(f.of(part, AS_IT_IS, b, d, "l1_hit")) for d in ("plain", "compressed_l1")])
    rows += means(lambda among: [percent(average([f.of(part, AS_IT_IS, b, d, "l2_hit") for b in f.benchmarks(part) if b in among])) for d in L2_RATES] +
                  changes(f.mean_change(part, AS_IT_IS, "compressed", among)) +
                  [show(average([ratio(f.of(part, AS_IT_IS, b, "compressed", "walks"), f.of(part, AS_IT_IS, b, "plain", "walks"))
                                 for b in f.benchmarks(part) if b in among]), 3)] +
                  [percent(average([f.of(part, AS_IT_IS, b, d, "l1_hit") for b in f.benchmarks(part) if b in among])) for d in ("plain", "compressed_l1")])
    return ["## Hit rates (Figs. 13 and 15)", "", "Of the L2 TLB; what compression changes, in points and relative; its walks to the baseline's. Of the L1 TLBs with "
            "plain and with compressed ones."] + \
        table([""] + [NAMES[d] for d in L2_RATES] + ["points", "relative", "walks"] + ["L1", "L1, compressed"], rows)


def compression(f):
    rows = []
    for b in f.benchmarks("benchmarks"):
        cells = [b]
        for design in ("compressed", "naive"):
            cells += [percent(f.of("benchmarks", AS_IT_IS, b, design, name), 0) for name in ("compressed_fills", "compressed_hits")]
        cells += [show(f.of("benchmarks", AS_IT_IS, b, "compressed", "fills_a_rebasing"), 0), percent(f.of("benchmarks", AS_IT_IS, b, "compressed", "flushed"), 0),
                  percent(f.of("benchmarks", AS_IT_IS, b, "range", "range_hits"), 0)]
        rows.append(cells)
    return ["## What compresses (Fig. 7)", "", "Shares of the translations that come to the L2 TLB, and of its hits, that are compressed; translations that come for each change of a "
            "base; compressed translations that went because their base was changed; hits of the range TLB that are in ranges. The paper's Fig. 7 counts bits of "
            "differences in snapshots, which are not recorded here."] + \
        table(["", "compressed", "hits in them", "without re-basing", "hits in them", "come per re-basing", "flushed", "in ranges"], rows)


def benchmarks(f, sizes):
    return overview(f) + classes(f, sizes) + speedups(f) + hit_rates(f) + compression(f)


def variants(f, _):
    part, names = "variants", f.benchmarks("variants")
    rows, each = [], []
    for d in ["compressed"] + list(VARIANTS):
        change = f.mean_change(part, AS_IT_IS, d, TABLE_2)
        over = f.mean_change(part, AS_IT_IS, d, TABLE_2, over="compressed")
        paper = PAPER["variants"].get(d)
        rows.append([NAMES[d], show(f.mean_speedup(part, AS_IT_IS, d, TABLE_2), 3), show(f.mean_speedup(part, AS_IT_IS, d, TABLE_2, "compressed"), 3),
                     show(paper["value"], 3) if paper else "", points(change[0]), points(change[1]), points(over[0]),
                     points(PAPER["l2_hit"][d]["value"]) if d in ("ratio_3",) else "",
                     percent(average([f.of(part, AS_IT_IS, b, d, "compressed_fills") for b in names]), 0)])
        each.append([NAMES[d]] + [f"{show(f.speedup(part, AS_IT_IS, b, d), 2)}, {points(f.change(part, AS_IT_IS, b, d)[0])}" for b in names])
    return ["## Variants (section 5.2, Figs. 16 and 17)", "", f"Means over {', '.join(names)}. Partitions are named (uncompressed, compressed). Hit rates of the L2 TLB, in points and "
            "relative, over the baseline's and over compression's. The paper gives no widths for a ratio of 3, and the last three rows are not the paper's."] + \
        table(["", "over the baseline", "over compression", "paper", "points", "relative", "points over compression", "paper", "compressed"], rows) + \
        ["Of each: speedup and points over the baseline."] + table([""] + names, each)


def frames(f, _):
    part, names = "frames", f.benchmarks("frames")
    rows, each = [], []
    for order in FRAMES:
        change = f.mean_change(part, order, "compressed", TABLE_2)
        compressed = [average([f.of(part, order, b, "compressed", name) for b in names]) for name in ("compressed_fills", "compressed_hits")]
        rows.append([f"`{order}`"] + [show(f.mean_speedup(part, order, d, TABLE_2), 3) for d in ("compressed", "range")] +
                    [show(f.mean_speedup(part, order, "compressed", IRREGULAR, "range"), 3), points(change[0]), points(change[1])] +
                    [percent(c, 0) for c in compressed] + [percent(average([f.of(part, order, b, "range", "range_hits") for b in names]), 0)])
        each.append([f"`{order}`"] + [", ".join(show(f.speedup(part, order, b, d)) for d in ("compressed", "range")) for b in names])
    return ["## Orders of frames", "", "The paper does not say in which order pages get frames. Each order with its own baseline; \"first_touch\": as the GPU's threads come to them; \"fragmented\" is `on_demand` with data of others in half of "
            "each large frame. Compression over range TLB, irregular ones: 1.496 in the paper."] + \
        table(["", "compressed", "range TLB", "compressed over range", "points", "relative", "compressed", "hits in them", "hits in ranges"], rows) + \
        ["Of each: speedups of compression and of the range TLB."] + table([""] + names, each)


def pages(f, _):
    part = "pages"
    rows = []
    for b in f.benchmarks(part):
        change = f.change(part, "2 MiB", b, "compressed")
        rows.append([b] + [percent(f.of(part, what, b, d, "l2_hit")) for what, d in (("4 KiB", "plain"), ("2 MiB", "plain"), ("2 MiB", "compressed"))] +
                    [points(change[0]), points(change[1])] + [show(f.speedup(part, "2 MiB", b, d, base="4 KiB"), 3) for d in ("plain", "compressed")] +
                    [show(f.speedup(part, "2 MiB", b, "compressed"), 3)])
    change = f.mean_change(part, "2 MiB", "compressed", TABLE_2)
    rows.append(["**all**"] + [percent(average([f.of(part, what, b, d, "l2_hit") for b in f.benchmarks(part)]))
                               for what, d in (("4 KiB", "plain"), ("2 MiB", "plain"), ("2 MiB", "compressed"))] + [points(change[0]), points(change[1])] +
                [show(average([f.speedup(part, "2 MiB", b, d, base="4 KiB") for b in f.benchmarks(part)]), 3) for d in ("plain", "compressed")] +
                [show(f.mean_speedup(part, "2 MiB", "compressed", TABLE_2), 3)])
    rows.append(["paper", "", "", "", points(PAPER["l2_hit"]["pages_2mib"]["value"]), "", "", "", show(PAPER["pages_2mib"]["value"], 3)])
    return ["## Pages of 2 MiB (Figs. 19 and 20)", "", "Hit rates of the L2 TLB; what compression changes; speedups over the baseline with pages of 4 KiB, and, last, over that with 2 MiB."] + \
        table(["", "4 KiB", "2 MiB", "2 MiB, compressed", "points", "relative", "2 MiB over 4 KiB", "and compressed", "compressed over 2 MiB"], rows)


def sensitivity(f, _):
    part, names = "sensitivity", f.benchmarks("sensitivity")
    rows = []
    own = [f"{key}={value}" for key, values in SENSITIVITY.items() for value in values]
    for what in [AS_IT_IS] + own + [f"{key}={value}" for key, values in SYSTEM.items() for value in values]:
        base = AS_IT_IS if what in own else what
        gains = [f.speedup(part, what, b, "compressed", base=base) for b in names]
        changes = [f.change(part, what, b, "compressed", base=base) for b in names]
        rows.append([f"`{what}`", show(average(gains), 3), points(average([c[0] for c in changes])), points(average([c[1] for c in changes]))] + [show(g, 3) for g in gains])
    return ["## What is assumed", "", "Compression over the baseline, each parameter by itself; those of the GPU with the baseline, too. Of the L2 TLB's hit rate: points, relative."] + \
        table(["", "mean", "points", "relative"] + names, rows)


SECTIONS = {"benchmarks": benchmarks, "variants": variants, "frames": frames, "pages": pages, "sensitivity": sensitivity}


def write(folder, measured, made, sizes):
    folder.mkdir(parents=True, exist_ok=True)
    f = Figures(measured)
    listed = [{"part": part, "what": key[0], "benchmark": key[1], "design": key[2]} | m for part, found in measured.items() for key, m in found.items()]
    summary = {text: {"measured": value, "paper": paper and paper["value"]} for text, (value, paper, _) in overview_rows(f).items()} if measured.get("benchmarks") else {}
    rows = ",\n".join(json.dumps(row) for row in listed)  # one per line
    about = json.dumps({"about": made, "overview": summary}, indent=1)[:-2]
    (folder / "results.json").write_text(f'{about},\n "rows": [\n{rows}\n ]\n}}\n')
    lines = ["# TLB compression: the paper and Farfault", "", f"Written by `run`; do not edit. {sentence(made)} {PAPER['source']}", "",
             "The 22 benchmarks on the preset `paper-tlb-compression`.", ""]
    discussion = FOLDER / "discussion.md"
    if discussion.exists() and Path(folder).resolve() == FOLDER:
        lines += [discussion.read_text().strip(), ""]
    for name, section in SECTIONS.items():
        if measured.get(name):
            lines += section(f, sizes)
    lines += ["", "The digest of each run is in results.json."]
    (folder / "results.md").write_text("\n".join(lines).rstrip() + "\n")
