# SPDX-License-Identifier: Apache-2.0
"""Readings of details that the paper states in two ways or not at all, with the result of each."""
from figures import AS_IT_IS, points
from study import INTENSIVE_OR_IRREGULAR, NAMES, READINGS, TABLE_2, WALKER_BOUND, WITHOUT_WALKER_BOUND
from tables import show, table

PART = "benchmarks"
SENTENCES = {
    "compressed": "section 5.2: \"a re-basing is only triggered after a number of consecutive uncompressible address translations\", counting hits and insertions; the preset",
    "consecutive": "the same quotation, counting insertions (misses) only",
    "cumulative": "section 4.5: \"whenever an uncompressed translation occurs, the re-basing counter is decremented\"",
}
MERGED = "section 3.3 gives hit rates; it does not state if a look-up merged with an outstanding walk is a hit"
SEGMENTS = "section 3.4: \"data structures allocated from different memory segments\"; in gem5, programs have small blocks in the heap and large ones far above it (glibc's malloc: 128 KiB)"


def readings(f, paper):
    whole = len(f.benchmarks(PART)) == len(TABLE_2)  # otherwise the paper's means are of other benchmarks
    rows = [["paper", ""] + [show(paper["speedup"][key]["value"], 3) for key in ("all", "intensive_or_irregular")] +
            ["", show(paper["speedup"]["most"]["value"], 3), points(paper["l2_hit"]["compressed"]["value"])]] if whole else []
    for d in READINGS:
        gains = [g for g in (f.speedup(PART, AS_IT_IS, b, d) for b in f.benchmarks(PART)) if g]
        rows.append(["consecutive hits and insertions" if d == "compressed" else NAMES[d], SENTENCES[d]] +
                    [show(f.mean_speedup(PART, AS_IT_IS, d, among), 3) for among in (TABLE_2, INTENSIVE_OR_IRREGULAR, WITHOUT_WALKER_BOUND)] +
                    [show(max(gains, default=None), 3), points(f.mean_change(PART, AS_IT_IS, d)[0])])
    rows.append(["merged misses counted as hits", MERGED, "", "", "", "", points(f.mean_change(PART, AS_IT_IS, "compressed", name="l2_no_walk")[0])])
    few, key, buffers = f.benchmarks("sensitivity"), "workload.small_buffers=128KiB", []
    for what, text in ((AS_IT_IS, "adjacent buffers"), (key, "small buffers in a separate segment")):
        gains = [g for g in (f.speedup("sensitivity", what, b, "compressed") for b in few) if g]
        buffers.append([text, SEGMENTS if what == key else "the paper does not state buffer addresses; the preset",
                        show(f.mean_speedup("sensitivity", what, "compressed"), 3), show(max(gains, default=None), 3), points(f.mean_change("sensitivity", what, "compressed")[0])])
    lines = ["## Readings", "", "Mean and largest speedup of compression over the baseline, and change of the L2 TLB hit rate in percentage points. The preset's reading was selected from its sentence before its runs were executed; earlier versions of the study used the other two."] + \
        table(["reading", "quotation or source", "all 22", "the 16 memory-intensive or irregular", f"without {', '.join(WALKER_BOUND)}", "largest", "points"], rows)
    if few:
        lines += [f"Buffer addresses: means over {', '.join(few)}."] + table(["reading", "quotation or source", f"mean of {len(few)}", "largest", "points"], buffers)
    return lines
