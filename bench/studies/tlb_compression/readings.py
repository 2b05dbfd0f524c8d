# SPDX-License-Identifier: Apache-2.0
"""Readings of details that the paper states in two ways or not at all, with the result of each."""
from figures import AS_IT_IS, points
from study import INTENSIVE_OR_IRREGULAR, NAMES, READINGS, TABLE_2, WALKER_BOUND, WITHOUT_WALKER_BOUND
from tables import show, table

PART = "benchmarks"
SENTENCES = {
    "compressed": "section 5.2: \"a re-basing is only triggered after a number of consecutive uncompressible address translations\", of hits and insertions: the preset's",
    "consecutive": "the same, of insertions alone, which are misses",
    "cumulative": "section 4.5: \"whenever an uncompressed translation occurs, the re-basing counter is decremented\"",
}
MERGED = "section 3.3 gives hit rates; it does not state whether a look-up that waits for a walk of its page is a hit"
SEGMENTS = "section 3.4: \"data structures allocated from different memory segments\"; gem5 runs programs whose small blocks are in the heap and large ones far above (glibc's malloc: 128 KiB)"


def readings(f, paper):
    rows = [["the paper", ""] + [show(paper["speedup"][key]["value"], 3) for key in ("all", "intensive_or_irregular")] +
            ["", show(paper["speedup"]["most"]["value"], 3), points(paper["l2_hit"]["compressed"]["value"])]]
    for d in READINGS:
        gains = [g for g in (f.speedup(PART, AS_IT_IS, b, d) for b in f.benchmarks(PART)) if g]
        rows.append(["counter of a stream" if d == "compressed" else NAMES[d], SENTENCES[d]] +
                    [show(f.mean_speedup(PART, AS_IT_IS, d, among), 3) for among in (TABLE_2, INTENSIVE_OR_IRREGULAR, WITHOUT_WALKER_BOUND)] +
                    [show(max(gains, default=None), 3), points(f.mean_change(PART, AS_IT_IS, d)[0])])
    rows.append(["merged misses are hits", MERGED, "", "", "", "", points(f.mean_change(PART, AS_IT_IS, "compressed", name="l2_no_walk")[0])])
    few, key = f.benchmarks("sensitivity"), "workload.small_buffers=128KiB"
    for what, text in ((AS_IT_IS, "buffers adjacent"), (key, "small buffers in their own segment")):
        gains = [g for g in (f.speedup("sensitivity", what, b, "compressed") for b in few) if g]
        rows.append([f"{text}; {', '.join(few)}", SEGMENTS if what == key else "the paper does not state where buffers are: the preset's", show(f.mean_speedup("sensitivity", what, "compressed"), 3), "", "",
                     show(max(gains, default=None), 3), points(f.mean_change("sensitivity", what, "compressed")[0])])
    return ["## Readings", "", "Mean speedups of compression over the baseline, the largest, and points of the L2 TLB's hit rate. The reading of the preset was decided from its sentence before its runs were made; the other two were the readings before."] + \
        table(["reading", "sentence", "all 22", "the 16 memory-intensive or irregular", f"without {', '.join(WALKER_BOUND)}", "at most", "points"], rows)
