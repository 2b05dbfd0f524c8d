# SPDX-License-Identifier: Apache-2.0
"""The tables of the study of TLB compression, from pairwise different measures: each cell has the figure of its column for the benchmark or
setting of its row. For tlb_compression_test.py."""
import random
import re
from statistics import mean

import parts
import records
import report
import study
from checks import check

AS = "as it is"
RATES = ("l1_hit", "l2_hit", "merged", "l2_no_walk", "translating", "walk_queue", "compressed_fills", "compressed_hits", "flushed", "range_hits")
COUNTS = ("cycles", "instructions", "pages", "walks", "l2_lookups", "fills_a_rebasing", "moved")
MADE = {"checkout": "", "program": "farfault", "program_sha256": "0", "runs": 0, "results": "0"}
READINGS = ["compressed", "consecutive", "cumulative"]
COUNTERS = [*READINGS, "naive", "plain_1024"]
GRAPH = "ring.txt"


def tables_of(text):
    """{section: [{first cell: the others}]}; the header's first cell is ''."""
    found, section, inside = {}, "", False
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:].split(" (")[0]
        if line.startswith("| "):
            cells = [c.strip() for c in line.split("|")[1:-1]]
            if not inside:
                found.setdefault(section, []).append({"": cells[1:]})
            elif not cells[0].startswith("---"):
                found[section][-1][cells[0]] = cells[1:]
        inside = line.startswith("| ")
    return found


def made_up():
    """Random measures. One of two given hit rates rounds to 97%, the other one does not."""
    draw = random.Random(16)
    runs = parts.Parts([*report.sections.SECTIONS, "benchmarks"], True, list(study.WORKLOADS), [f"/a/{GRAPH}"]).runs
    measured = {part: {key: {name: draw.random() for name in RATES} | {name: draw.randrange(1000, 9000) for name in COUNTS} for key in found}
                for part, found in runs.items()}
    for b, rate in (("fw", 0.968), ("bh", 0.964)):
        measured["benchmarks"][AS, b, "plain"]["l2_hit"] = rate
    return measured


def points(value):
    return f"{100 * value:+.1f}"


def share(value, digits=1):
    return f"{100 * value:.{digits}f}%"


class Expected:
    def __init__(self, measured):
        self.measured = measured

    def gain(self, part, what, b, d, base=None, over="plain"):
        of = self.measured[part]
        return of[base or what, b, over]["cycles"] / of[what, b, d]["cycles"]

    def points(self, part, what, b, d, base=None, over="plain"):
        of = self.measured[part]
        return of[what, b, d]["l2_hit"] - of[base or what, b, over]["l2_hit"]

    def relative(self, part, what, b, d, base=None, over="plain"):
        of = self.measured[part]
        return of[what, b, d]["l2_hit"] / of[base or what, b, over]["l2_hit"] - 1

    def benchmarks(self, b):
        """Rows of speedups, hit rates, classes and compression."""
        of = {d: self.measured["benchmarks"][AS, b, d] for d in study.DESIGNS}
        plain, packed = of["plain"], of["compressed"]
        yield "Speedups", [f"{plain['cycles'] / of[d]['cycles']:.3f}" for d in
                           (*COUNTERS, "plain_256", "range", "ideal_l2", "ideal", "compressed_l1")]
        yield "Hit rates", [share(of[d]["l2_hit"]) for d in ("plain", *COUNTERS, "plain_256", "range")] + \
            [points(of[d]["l2_hit"] - plain["l2_hit"]) for d in (*READINGS, "plain_1024")] + \
            [points(packed["l2_hit"] / plain["l2_hit"] - 1), share(plain["l2_no_walk"])] + [points(of[d]["l2_no_walk"] - plain["l2_no_walk"]) for d in READINGS] + \
            [f"{packed['walks'] / plain['walks']:.3f}", share(plain["l1_hit"]), share(of["compressed_l1"]["l1_hit"])]
        yield "Compressed translations", [share(of[d][name], 0) for d in (*READINGS, "naive") for name in ("compressed_fills", "compressed_hits")] + \
            [cell for m in (of[d] for d in READINGS) for cell in (f"{m['fills_a_rebasing']:.0f}", share(m["flushed"], 0))] + [share(of["range"]["range_hits"], 0)]
        here = "".join("HL"[plain[level] < 0.75] for level in ("l1_hit", "l2_hit"))
        yield "Benchmarks", [None] * 4 + [f"{plain['pages'] / 256:.1f}", share(plain["l1_hit"]), share(plain["l2_hit"]), share(plain["merged"]), ", ".join(here),
                                          ", ".join(study.TABLE_2[b][2:]), "" if tuple(here) == study.TABLE_2[b][2:] else "differs",
                                          f"{1000 * plain['walks'] / plain['instructions']:.2f}", share(plain["translating"], 0)]

    def counters(self, part, what, b):
        of = self.measured[part][what, b, "plain"]
        return [f"{of['pages'] / 256:.1f}", share(of["l1_hit"]), share(of["l2_hit"])] + [f"{self.gain(part, what, b, d):.3f}" for d in COUNTERS] + \
            [points(self.points(part, what, b, d)) for d in COUNTERS] + [share(self.measured[part][what, b, "compressed"]["flushed"], 0)]

    def compared(self, part, what, names, d, base=None):
        """Means: speedup, points, relative."""
        return [f"{mean(self.gain(part, what, b, d, base) for b in names):.3f}", points(mean(self.points(part, what, b, d, base) for b in names)),
                points(mean(self.relative(part, what, b, d, base) for b in names))]

    def average(self, part, what, names, d, name):
        return mean(self.measured[part][what, b, d][name] for b in names)


def same(found, section, number, row, expected):
    """Compares a row with the expected cells; None matches any value."""
    told = found[section][number].get(row)
    check(told is not None and len(told) == len(expected) == len(found[section][number][""]) and all(e in (None, t) for t, e in zip(told, expected)),
          f"{section}, {row}: {told}, not {expected}")


def check_means(e, found):
    groups = {"**all**": list(study.TABLE_2), "**16 memory-intensive or irregular**": study.INTENSIVE_OR_IRREGULAR, "**other 6**": study.OTHERS,
              "**all but atax, mvt, bicg**": [b for b in study.TABLE_2 if b not in ("atax", "mvt", "bicg")]}
    for row, names in groups.items():
        same(found, "Speedups", 0, row, [e.compared("benchmarks", AS, names, d)[0] for d in study.DESIGNS if d != "plain"])
        walks = mean(e.measured["benchmarks"][AS, b, "compressed"]["walks"] / e.measured["benchmarks"][AS, b, "plain"]["walks"] for b in names)
        rates = [share(e.average("benchmarks", AS, names, d, "l2_hit")) for d in ("plain", *COUNTERS, "plain_256", "range")]
        changes = [e.compared("benchmarks", AS, names, d)[1] for d in (*READINGS, "plain_1024")]
        same(found, "Hit rates", 0, row, rates + changes + [e.compared("benchmarks", AS, names, "compressed")[2]] +
             [share(e.average("benchmarks", AS, names, "plain", "l2_no_walk"))] +
             [points(e.average("benchmarks", AS, names, d, "l2_no_walk") - e.average("benchmarks", AS, names, "plain", "l2_no_walk")) for d in READINGS] + [f"{walks:.3f}"] +
             [share(e.average("benchmarks", AS, names, d, "l1_hit")) for d in ("plain", "compressed_l1")])


def check_readings(e, found):
    names = list(study.TABLE_2)
    for text, d in (("consecutive hits and insertions", "compressed"), ("consecutive counter", "consecutive"), ("cumulative counter", "cumulative")):
        gains = [e.compared("benchmarks", AS, among, d)[0] for among in (names, study.INTENSIVE_OR_IRREGULAR, [b for b in names if b not in ("atax", "mvt", "bicg")])]
        same(found, "Readings", 0, text, [None, *gains, f"{max(e.gain('benchmarks', AS, b, d) for b in names):.3f}", e.compared("benchmarks", AS, names, d)[1]])
    merged = e.average("benchmarks", AS, names, "compressed", "l2_no_walk") - e.average("benchmarks", AS, names, "plain", "l2_no_walk")
    same(found, "Readings", 0, "merged misses counted as hits", [None, "", "", "", "", points(merged)])
    for text, what in (("adjacent buffers", AS), ("small buffers in a separate segment", "workload.small_buffers=128KiB")):
        gain, change, _ = e.compared("sensitivity", what, parts.FEW, "compressed")
        most = max(e.gain("sensitivity", what, b, "compressed") for b in parts.FEW)
        same(found, "Readings", 1, text, [None, gain, f"{most:.3f}", change])


def check_headline(e, text):
    everything, rest = list(study.TABLE_2), [b for b in study.TABLE_2 if b not in ("atax", "mvt", "bicg")]

    def of(names, d):
        return e.compared("benchmarks", AS, names, d)

    def each(names, i):
        return "{}, {} and {}".format(*(of(names, d)[i] for d in READINGS))
    full = [b for b in study.TABLE_2 if e.measured["benchmarks"][AS, b, "plain"]["l2_hit"] >= 0.965]
    for sentence in (f"Mean speedup of 22 benchmarks over the baseline: {of(everything, 'compressed')[0]} with a counter of consecutive hits and insertions (section 5.2), "
                     f"{of(everything, 'consecutive')[0]} with a counter of consecutive insertions, {of(everything, 'cumulative')[0]} with a cumulative counter (section 4.5); paper: 1.12.",
                     f"changes by {each(everything, 1)} points (paper: +6.3)",
                     f"{len(full)} of the 22 have an L2 TLB hit rate of at least 97% (rounded) in the baseline, which can hardly rise: {', '.join(full)}.",
                     f"Their mean speedup is {of(full, 'ideal_l2')[0]} with an ideal L2 TLB, {each(full, 0)} with compression.",
                     f"At the suites' sizes, mean of {', '.join(parts.FULL)}: " + "{}, {} and {}.".format(*(e.compared("full", AS, parts.FULL, d)[0] for d in READINGS)),
                     f"Without atax, mvt, bicg: {each(rest, 0)}; {each(rest, 1)} points; with 1,024 entries "
                     f"{of(rest, 'plain_1024')[0]} and {of(rest, 'plain_1024')[1]} points"):
        check(sentence in text, f"no sentence: {sentence}")


def check_varied(e, found):
    names = ["page_rank", "mis", "bfs", "bc"]
    for b in names:
        same(found, "Graph files", 0, b, e.counters("graph_files", GRAPH, b))
    of = [e.compared("graph_files", GRAPH, names, d) for d in COUNTERS]
    same(found, "Graph files", 0, "**mean of 4**", [""] * 3 + [c[0] for c in of] + [c[1] for c in of] + [""])
    for b in parts.FULL:
        same(found, "Suite sizes", 0, b, [f"{e.gain('benchmarks', AS, b, d):.3f}" for d in READINGS] + e.counters("full", AS, b))
    names = parts.SOME
    for d, text in [(d, study.NAMES[d]) for d in ["compressed", *study.VARIANTS]]:
        gain, *change = e.compared("variants", AS, names, d)
        over = mean(e.gain("variants", AS, b, d, over="compressed") for b in names), mean(e.points("variants", AS, b, d, over="compressed") for b in names)
        same(found, "Variants", 0, text, [gain, f"{over[0]:.3f}", *change, points(over[1]), share(e.average("variants", AS, names, d, "compressed_fills"), 0)])
        same(found, "Variants", 2, text, [f"{e.gain('variants', AS, b, d):.2f}, {points(e.points('variants', AS, b, d))}" for b in names])
    for b, d, text, told in (("nw", "ratio_3", "nw, ratio 3, deltas of 9 and 6 bits", "+12.3"), ("srad", "uncompressed_25", "srad, partitions (25%, 75%)", "-20.1")):
        same(found, "Variants", 1, text, [points(e.points("variants", AS, b, d, over="compressed")), told, None])
    irregular = [b for b in names if study.TABLE_2[b][1] == "I"]
    check(len(irregular) == 7, f"irregular ones: {irregular}")
    for order in study.FRAMES:
        gain, *change = e.compared("frames", order, names, "compressed")
        same(found, "Frame orders", 0, f"`{order}`", [gain, e.compared("frames", order, names, "range")[0],
             f"{mean(e.gain('frames', order, b, 'compressed', over='range') for b in irregular):.3f}", *change,
             *(share(e.average("frames", order, names, d, name), 0) for d, name in (("compressed", "compressed_fills"), ("compressed", "compressed_hits"), ("range", "range_hits")))])
        same(found, "Frame orders", 1, f"`{order}`", [", ".join(f"{e.gain('frames', order, b, d):.2f}" for d in ("compressed", "range")) for b in names])
    columns = [(n, "compressed") for n in study.INTERLEAVED] + [(AS, "plain_1024")]
    for b in parts.DENSE:
        same(found, "Interleaved frames", 0, b, [f"{e.gain('interleaved', n, b, d):.3f}" for n, d in columns] + [points(e.points("interleaved", n, b, d)) for n, d in columns])
    of = [e.compared("interleaved", n, parts.DENSE, d) for n, d in columns]
    same(found, "Interleaved frames", 0, "**mean of 9**", [c[0] for c in of] + [c[1] for c in of])
    check_moves(e, found)
    check_pages(e, found)
    check_assumed(e, found)


def check_moves(e, found):
    names, of = parts.SOME, e.measured["moves"]

    def gains(cost, d):
        told = [e.gain("moves", cost, b, d, base="none") for b in names]
        return f"{mean(told):.3f}", [f"{t:.3f}" for t in told]
    same(found, "Cost of contiguity", 0, "compressed, no moves", [gains("none", "compressed")[0], "", "", "", *gains("none", "compressed")[1]])
    for cost, text in (("none", "none"), ("ideal", "0"), ("80ns", "80 ns"), ("800ns", "800 ns"), ("copy_engine", "copy engine")):
        over = mean(of[cost, b, "range"]["cycles"] / of["none", b, "compressed"]["cycles"] for b in names)
        same(found, "Cost of contiguity", 0, f"range TLB, {text}", [gains(cost, "range")[0], f"{over:.3f}", share(e.average("moves", cost, names, "range", "range_hits"), 0),
             f"{e.average('moves', cost, names, 'range', 'moved'):.0f}", *gains(cost, "range")[1]])


def check_pages(e, found):
    of = e.measured["pages"]
    for row, names in [(b, [b]) for b in study.TABLE_2] + [("**mean of 22**", list(study.TABLE_2))]:
        gain, *change = e.compared("pages", "2 MiB", names, "compressed")
        same(found, "Pages of 2 MiB", 0, row, [share(mean(of[what, b, d]["l2_hit"] for b in names)) for what, d in (("4 KiB", "plain"), ("2 MiB", "plain"), ("2 MiB", "compressed"))] +
             change + [e.compared("pages", "2 MiB", names, d, base="4 KiB")[0] for d in ("plain", "compressed")] + [gain])


def check_assumed(e, found):
    names = parts.FEW
    own = {f"{key}={value}" for key, values in study.SENSITIVITY.items() for value in values}
    for what in dict.fromkeys(key[0] for key in e.measured["sensitivity"]):
        base = AS if what in own else what
        gains = [f"{e.gain('sensitivity', what, b, 'compressed', base):.3f}" for b in names]
        last = "-" if what in own else f"{mean(e.gain('sensitivity', what, b, 'plain', base=AS) for b in names):.3f}"
        same(found, "Assumed parameters", 0, "preset" if what == AS else what if what.startswith("constant") else f"`{what}`", e.compared("sensitivity", what, names, "compressed", base) + gains + [last])


def check_headers(found):
    readings = ["compressed", "consecutive counter", "cumulative counter"]
    five = [*readings, "without re-basing", "1,024 entries"]
    rates = ["baseline", *five, "256 entries", "range TLB"]
    counted = ["MiB", "L1 TLB", "L2 TLB", *five, *(f"points, {t}" for t in five), "flushed"]
    each = [text for name in ("", ", consecutive", ", cumulative", ", without re-basing") for text in (f"inserted compressed{name}", f"hits on compressed entries{name}")]
    more = [text for name in ("", ", consecutive", ", cumulative") for text in (f"insertions per re-basing{name}", f"flushed{name}")]
    for section, expected in {"Speedups": rates[1:] + ["ideal L2 TLB", "ideal", "compressed L1 TLB"],
                              "Hit rates": rates + [f"points, {t}" for t in (*readings, "1,024 entries")] + ["relative", "baseline, merged as hits"] + [f"points, {t}, merged as hits" for t in readings] + ["walks", "L1", "L1, compressed"],
                              "Compressed translations": each + more + ["hits on ranges"], "Graph files": counted,
                              "Suite sizes": [f"{t}, small" for t in readings] + counted,
                              "Interleaved frames": ["1 part", "2 parts", "4 parts", "8 parts", "1,024 entries, frames in order", "points, 1", "points, 2", "points, 4", "points, 8",
                                                     "points, 1,024 entries"]}.items():
        check(found[section][0][""] == expected, f"{section}: {found[section][0]['']}")


def check_single_means(text):
    """A mean over some of the benchmarks names their number; the paper's means, over all, are not next to it."""
    for header in ("| mean of 8 benchmarks | over the baseline | over compression | points | relative | points over compression | inserted compressed |",
                   "| mean of 8 benchmarks | compressed | range TLB | compressed over range, mean of 7 |", "| TLB, time of a move | mean of 8 | compressed over this |",
                   "| mean of 4 benchmarks | compressed | points | relative |", "| reading | quotation or source | mean of 4 | largest | points |"):
        check(header in text, f"no header: {header}")


def check_committed(folder):
    """The committed results.md is the report of the committed results.json.xz. Hashes of graph files, which are not part of this project, are not compared."""
    kept, measured = records.read(study.FOLDER), {}
    for row in kept["rows"]:
        measured.setdefault(row["part"], {})[row["what"], row["benchmark"], row["design"]] = row
    report.write(folder, measured, kept["about"], study.QUICK)
    discussion = (study.FOLDER / "discussion.md").read_text().strip() + "\n\n"
    committed = (study.FOLDER / "results.md").read_text()
    check(discussion in committed, "results.md lacks discussion.md: run --table-only")
    told, expected = re.sub(r" SHA-256 [0-9a-f]{16}\.$", "", committed.replace(discussion, ""), flags=re.M).splitlines(), (folder / "results.md").read_text().splitlines()
    check(told == expected, f"results.md differs from results.json.xz: {next((lines for lines in zip(told, expected) if lines[0] != lines[1]), 'number of lines')}")


def check_all(folder):
    measured = made_up()
    report.write(folder, measured, MADE, study.QUICK)
    text = (folder / "results.md").read_text()
    found, e = tables_of(text), Expected(measured)
    for b in study.TABLE_2:
        for section, expected in e.benchmarks(b):
            same(found, section, 0, b, expected)
    check_headers(found)
    check_means(e, found)
    check_readings(e, found)
    check_headline(e, text)
    check_varied(e, found)
    check_single_means(text)
    check_committed(folder / "committed")
    check(f"`{GRAPH}`: a file given by the user." in text, "the file of a graph is listed")
