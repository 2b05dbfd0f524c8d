# SPDX-License-Identifier: Apache-2.0
"""Tables of the variations: graph files, sizes, variants, frames, moves, pages, assumptions."""
import hashlib

from figures import AS_IT_IS, points
from study import (CONSTANT_CACHES, FRAMES, GRAPH_FILES, INTERLEAVED, IRREGULAR, MOVE_NAMES, MOVES, NAMES, READINGS, SENSITIVITY, SYSTEM, TABLE_2, VARIANTS)
from tables import average, percent, show, table

COUNTERS = ["compressed", "consecutive", "cumulative", "naive", "plain_1024"]
# Figures that the paper's text gives for one benchmark: key in paper.json -> (benchmark, design).
SINGLE = {"ratio_3_nw": ("nw", "ratio_3"), "compressed_25_75_srad": ("srad", "uncompressed_25")}


def mean_of(names):
    return f"**mean of {len(names)}**"


def of_counters(f, part, what, benchmark):
    """Footprint, the baseline's hit rates, then speedups and points of the three counters, of no re-basing, and of 1,024 entries."""
    def plain(name):
        return f.of(part, what, benchmark, "plain", name)
    return [show((plain("pages") or 0) / 256, 1), percent(plain("l1_hit")), percent(plain("l2_hit"))] + \
        [show(f.speedup(part, what, benchmark, d), 3) for d in COUNTERS] + \
        [points(f.change(part, what, benchmark, d)[0]) for d in COUNTERS] + \
        [percent(f.of(part, what, benchmark, "compressed", "flushed"), 0)]


COUNTER_HEADER = ["MiB", "L1 TLB", "L2 TLB"] + [NAMES[d] for d in COUNTERS] + [f"points, {NAMES[d]}" for d in COUNTERS] + ["flushed"]


def graph_files(f, _, files):
    part, lines = "graph_files", []
    for graph in f.whats(part):
        path = next((p for p in files if p.name == graph), None)
        contents = f" SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}." if path else ""
        lines += [f"`{graph}`: {GRAPH_FILES.get(graph, 'a file given by the user')}.{contents}"]
        names = [b for b in f.benchmarks(part) if f.of(part, graph, b, "plain", "cycles")]
        rows = [[b] + of_counters(f, part, graph, b) for b in names]
        rows.append([mean_of(names)] + [""] * 3 + [show(f.mean_speedup(part, graph, d), 3) for d in COUNTERS] +
                    [points(f.mean_change(part, graph, d)[0]) for d in COUNTERS] + [""])
        lines += table([""] + COUNTER_HEADER, rows)
    return ["## Graph files", "", "The graph benchmarks on files instead of generated graphs. Vertices keep the numbers of the file; vertices of generated graphs are "
            "renumbered at random. Directed edges are used in both directions. Speedups and points over the baseline, as above; flushed: share of the compressed translations that a re-basing "
            "flushed.", ""] + lines


def full(f, _, files):
    part = "full"
    rows = [[b] + [show(f.speedup("benchmarks", AS_IT_IS, b, d), 3) for d in READINGS] + of_counters(f, part, AS_IT_IS, b) for b in f.benchmarks(part)]
    return ["## Suite sizes", "", "Some benchmarks at the suites' sizes, if a run takes at most about 20 seconds; the first three columns have the sizes of the tables above."] + \
        table(["", *(f"{NAMES[d]}, small" for d in READINGS)] + COUNTER_HEADER, rows)


def variants(f, paper, _):
    part, names = "variants", f.benchmarks("variants")
    rows, each = [], []
    for d in ["compressed"] + list(VARIANTS):
        change, over = f.mean_change(part, AS_IT_IS, d), f.mean_change(part, AS_IT_IS, d, over="compressed")
        rows.append([NAMES[d], show(f.mean_speedup(part, AS_IT_IS, d), 3), show(f.mean_speedup(part, AS_IT_IS, d, over="compressed"), 3),
                     points(change[0]), points(change[1]), points(over[0]), percent(f.mean(part, AS_IT_IS, d, "compressed_fills"), 0)])
        each.append([NAMES[d]] + [f"{show(f.speedup(part, AS_IT_IS, b, d), 2)}, {points(f.change(part, AS_IT_IS, b, d)[0])}" for b in names])
    told = "; ".join([f"{NAMES[d]}: {said['where']}" for d, said in paper["variants"].items()] + [f"hit rate with ratio 3: {paper['l2_hit']['ratio_3']['where']}"])
    single = [[f"{b}, {NAMES[d]}", points(f.change(part, AS_IT_IS, b, d, over="compressed")[0]), points(paper["l2_hit"][key]["value"]), paper["l2_hit"][key]["where"]]
              for key, (b, d) in SINGLE.items()]
    return ["## Variants (section 5.2, Figs. 16 and 17)", "", f"Means over {', '.join(names)}. Partitions are named (uncompressed, compressed). Changes of the L2 TLB hit rate over the baseline, in "
            "points and relative, and over compression; the last column is the share of translations that are inserted compressed. The paper gives no widths for a ratio of 3, and the last "
            "three rows are not in the paper. The paper's averages are over its benchmarks, not only these, and its text has no figures of each benchmark, so they are not "
            f"compared: {told}."] + \
        table([f"mean of {len(names)} benchmarks", "over the baseline", "over compression", "points", "relative", "points over compression", "inserted compressed"], rows) + \
        ["Single benchmarks of the paper's text: points of the L2 TLB hit rate over compression."] + table(["", "Farfault", "paper", "source"], single) + \
        ["Each benchmark: speedup and points over the baseline."] + table([""] + names, each)


def frames(f, _, files):
    part, names = "frames", f.benchmarks("frames")
    irregular = [b for b in names if b in IRREGULAR]
    rows, each = [], []
    for order in FRAMES:
        change = f.mean_change(part, order, "compressed")
        rows.append([f"`{order}`"] + [show(f.mean_speedup(part, order, d), 3) for d in ("compressed", "range")] +
                    [show(f.mean_speedup(part, order, "compressed", irregular, "range"), 3), points(change[0]), points(change[1])] +
                    [percent(f.mean(part, order, "compressed", name), 0) for name in ("compressed_fills", "compressed_hits")] +
                    [percent(f.mean(part, order, "range", "range_hits"), 0)])
        each.append([f"`{order}`"] + [", ".join(show(f.speedup(part, order, b, d)) for d in ("compressed", "range")) for b in names])
    return ["## Frame orders", "", "The paper does not state the order in which pages get frames. Each order has its own baseline. `on_demand`, the order of all other tables: the next free frame, "
            "for the pages of one buffer after the other; `first_touch`: in the order of the GPU's first touches; `fragmented`: `on_demand`, with other data in half of each large frame. "
            f"Means over these benchmarks; compression over the range TLB: mean of the irregular ones, {', '.join(irregular)}."] + \
        table([f"mean of {len(names)} benchmarks", "compressed", "range TLB", f"compressed over range, mean of {len(irregular)}", "points", "relative", "inserted compressed", "hits on compressed entries", "hits on ranges"], rows) + \
        ["Each benchmark: speedups of compression and of the range TLB."] + table([""] + names, each)


def interleaved(f, _, files):
    part, names = "interleaved", f.benchmarks("interleaved")
    order = "1,024 entries, frames in order"

    def row(text, gain, change):
        return [text] + [show(gain(n), 3) for n in INTERLEAVED] + [show(gain(None), 3)] + [points(change(n)) for n in INTERLEAVED] + [points(change(None))]
    rows = [row(b, lambda n, b=b: f.speedup(part, n, b, "compressed") if n else f.speedup(part, AS_IT_IS, b, "plain_1024"),
                lambda n, b=b: f.change(part, n, b, "compressed")[0] if n else f.change(part, AS_IT_IS, b, "plain_1024")[0]) for b in names]
    rows.append(row(mean_of(names), lambda n: f.mean_speedup(part, n, "compressed") if n else f.mean_speedup(part, AS_IT_IS, "plain_1024"),
                    lambda n: f.mean_change(part, n, "compressed")[0] if n else f.mean_change(part, AS_IT_IS, "plain_1024")[0]))
    return ["## Interleaved frames", "", "Compression with pages interleaved between parts of the memory (`memory.interleaved.parts`); each number of parts has its own baseline. A base covers 512 frames: with n parts the "
            "pages of one set are 32 / n frames apart in a part, and 16 n of them have one base. For comparison, a TLB of 1,024 plain entries. Speedups, then points of the L2 TLB hit rate."] + \
        table([""] + [f"{n} part{'s' * (n > 1)}" for n in INTERLEAVED] + [order] + [f"points, {n}" for n in INTERLEAVED] + ["points, 1,024 entries"], rows)


def moves(f, _, files):
    part, names = "moves", f.benchmarks("moves")

    def mean(cost, name):
        return average([f.of(part, cost, b, "range", name) for b in names])

    def gains(what, design):
        return [f.speedup(part, what, b, design, base="none") for b in names]
    rows = [["compressed, no moves", show(average(gains("none", "compressed")), 3), "", "", ""] + [show(g, 3) for g in gains("none", "compressed")]]
    for cost in MOVES:
        found = gains(cost, "range")
        over = [f.of(part, cost, b, "range", "cycles") / f.of(part, "none", b, "compressed", "cycles") for b in names
                if f.of(part, cost, b, "range", "cycles") and f.of(part, "none", b, "compressed", "cycles")]
        rows.append([f"range TLB, {MOVE_NAMES[cost]}", show(average(found), 3), show(average(over), 3), percent(mean(cost, "range_hits"), 0), show(mean(cost, "moved"), 0)] +
                    [show(g, 3) for g in found])
    return ["## Cost of contiguity", "", "Half of each large frame holds other data, and pages get frames at their first touch. If a page needs a large frame and none is free, compaction empties "
            "one (`memory.compaction`): base pages are moved while the SMs are stopped. A move takes no time (`ideal`), `memory.cac_bulk_copy.time`, or the time of the copy engine. Speedups "
            "over the plain TLB in the same memory without moves."] + \
        table(["TLB, time of a move", f"mean of {len(names)}", "compressed over this", "hits on ranges", "pages moved"] + names, rows)


def pages(f, paper, _):
    part, names = "pages", f.benchmarks("pages")
    rates = (("4 KiB", "plain"), ("2 MiB", "plain"), ("2 MiB", "compressed"))
    rows = []
    for b in names:
        change = f.change(part, "2 MiB", b, "compressed")
        rows.append([b] + [percent(f.of(part, what, b, d, "l2_hit")) for what, d in rates] +
                    [points(change[0]), points(change[1])] + [show(f.speedup(part, "2 MiB", b, d, base="4 KiB"), 3) for d in ("plain", "compressed")] +
                    [show(f.speedup(part, "2 MiB", b, "compressed"), 3)])
    change = f.mean_change(part, "2 MiB", "compressed")
    rows.append([mean_of(names)] + [percent(f.mean(part, what, d, "l2_hit")) for what, d in rates] + [points(change[0]), points(change[1])] +
                [show(f.mean_speedup(part, "2 MiB", d, base="4 KiB"), 3) for d in ("plain", "compressed")] + [show(f.mean_speedup(part, "2 MiB", "compressed"), 3)])
    if len(names) == len(TABLE_2):
        rows.append(["paper", "", "", "", points(paper["l2_hit"]["pages_2mib"]["value"]), "", "", "", show(paper["pages_2mib"]["value"], 3)])
    return ["## Pages of 2 MiB (Figs. 19 and 20)", "", "L2 TLB hit rates; changes by compression; speedups over the baseline with pages of 4 KiB and, in the last column, over the baseline with pages of 2 MiB."] + \
        table(["", "4 KiB", "2 MiB", "2 MiB, compressed", "points", "relative", "2 MiB over 4 KiB", "2 MiB, compressed, over 4 KiB", "compressed over 2 MiB"], rows)


def sensitivity(f, _, files):
    part, names = "sensitivity", f.benchmarks("sensitivity")
    rows = []
    own = [f"{key}={value}" for key, values in SENSITIVITY.items() for value in values]
    for what in [AS_IT_IS] + own + [f"{key}={value}" for key, values in SYSTEM.items() for value in values] + list(CONSTANT_CACHES):
        base = AS_IT_IS if what in own else what
        change = f.mean_change(part, what, "compressed", base=base)
        rows.append(["preset" if what == AS_IT_IS else what if what in CONSTANT_CACHES else f"`{what}`", show(f.mean_speedup(part, what, "compressed", base=base), 3), points(change[0]), points(change[1])] +
                    [show(f.speedup(part, what, b, "compressed", base=base), 3) for b in names] + [show(f.mean_speedup(part, what, "plain", base=AS_IT_IS), 3)])
    return ["## Assumed parameters", "", "Speedup of compression over the baseline; one parameter is varied at a time. The baseline has the same value of a GPU parameter; the last column is its speedup over the preset's "
            "baseline. Points, relative: change of the L2 TLB hit rate."] + \
        table([f"mean of {len(names)} benchmarks", "compressed", "points", "relative"] + names + ["baseline"], rows)


SECTIONS = {"graph_files": graph_files, "full": full, "variants": variants, "frames": frames, "interleaved": interleaved, "moves": moves, "pages": pages,
            "sensitivity": sensitivity}
