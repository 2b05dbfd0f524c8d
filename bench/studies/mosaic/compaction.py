# SPDX-License-Identifier: Apache-2.0
"""Sections on compaction: Table 2 in each reading; assumed parameters of CAC and CAC-BC."""
import json

from parts import ASSUMED_OF_COMPACTION, OCCUPANCY, THRESHOLDS, memory_of
from study import FOLDER, NAMES
from tables import average, percent, ratio, show, table

PAPER = json.loads((FOLDER / "paper.json").read_text())
SPLINTERS = "section 4.4: \"If the number of allocated base pages falls below a predetermined threshold\""
THRESHOLD_OF = {
    0.8: f"{SPLINTERS}, \"configurable\"; section 6.4: \"when the large page frame occupancy is very high (e.g., above 75%), CAC compacts the pages effectively\"; the preset",
    0.5: f"{SPLINTERS}; one half, without section 6.4",
    1.0: f"{SPLINTERS}; every large page that is not full",
}


def mixes(f):
    return list(dict.fromkeys(key[1] for key in f.measured.get("fragmentation", {})))


def kept(f, what, design, occupancy, of_all):
    """Free memory in large frames reserved for one application, when all of its data is mapped, divided by its data or, with `of_all`, by all data."""
    found = []
    for mix in mixes(f):
        m = f.of("fragmentation", what, mix, design)
        if m:
            others = memory_of(len(mix)) * m["footprint"] * occupancy if of_all else 0
            found.append(ratio(m["kept_bytes"], m["footprint"] + others))
    return average(found)


def bloat_by_occupancy(f):
    def row(name, source, what, design, of_all):
        cells = [kept(f, what(o), design, o, of_all) for o in OCCUPANCY]
        falls = all(a > b for a, b in zip(cells, cells[1:])) if None not in cells else None
        return [name, source] + [percent(c, 2) for c in cells] + ["" if falls is None else "yes" if falls else "no"]

    def at(threshold):
        return lambda o: f"occupancy={o}" if threshold == 0.8 else f"occupancy={o}, threshold={threshold}"
    rows = [["paper", ""] + [f"{v}%" for v in PAPER["bloat_by_occupancy"]] + ["yes"]]
    for threshold in (0.8, *THRESHOLDS):
        for of_all in (True, False):
            rows.append(row(f"threshold {threshold}, relative to {'all data' if of_all else 'the application'}", THRESHOLD_OF[threshold] if of_all else "same", at(threshold), "mosaic", of_all))
    for design in ("no_cac", "cac_bc", "ideal_cac"):
        rows.append(row(f"{NAMES[design]}, relative to all data", "", at(0.8), design, True))
    emergency = [[f"{t}"] + [show(average([(f.of("fragmentation", at(t)(o), mix, "mosaic") or {}).get("emergency") for mix in mixes(f)]), 0) for o in OCCUPANCY]
                 for t in (0.8, *THRESHOLDS)]
    shares = [percent(o, 0) for o in OCCUPANCY]
    return ["## Readings of compaction: memory bloat (Table 2)", "",
            "Index 100%. Free memory in large frames reserved for one application, when all of its data is mapped, relative to allocated memory. The paper compares with a manager \"that uses only 4KB base pages\", in which the "
            "pre-fragmented data is allocated, too (relative to all data); the other reading is relative to the data of the application. The threshold and the reference of the bloat were selected before these runs were executed."] + \
        table(["reading", "quotation or source"] + shares + ["decreases"], rows) + \
        ["Frames allocated from the emergency list, because no large frame is free and none can be emptied, by threshold:"] + table(["threshold"] + shares, emergency)


def of_compaction(f):
    rows = []
    for key, default, values in ASSUMED_OF_COMPACTION:
        for value in values:
            cells = []
            for mix in mixes(f):
                for d in ("mosaic", "cac_bc"):
                    gain = ratio(f.weighted_speedup("fragmentation", f"{key}={value}", mix, d), f.weighted_speedup("fragmentation", f"{key}={value}", mix, "no_cac"))
                    cells.append(show(gain, 3))
            rows.append([f"`{key}`", default, str(value)] + cells)
    first = [show(ratio(f.weighted_speedup("fragmentation", "occupancy=0.5", mix, d), f.weighted_speedup("fragmentation", "occupancy=0.5", mix, "no_cac")), 3)
             for mix in mixes(f) for d in ("mosaic", "cac_bc")]
    return ["Assumed parameters of compaction: weighted speedup relative to no compaction with the same value, at index 100% and occupancy 50%. With `gpu.l2_cache.interleave` of 2 MiB a large frame is in one channel, as in the "
            "paper, where CAC has to \"migrate base pages between only large page frames that reside within the same memory channel\" (section 4.4); here its pages may move to another channel:"] + \
        table(["parameter", "preset", "value"] + [f"{'+'.join(mix)}, {name}" for mix in mixes(f) for name in ("CAC", "CAC-BC")], [["preset", "", ""] + first] + rows)
