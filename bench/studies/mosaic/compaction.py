# SPDX-License-Identifier: Apache-2.0
"""Sections on compaction: Table 2 in each reading; assumed parameters of CAC and CAC-BC."""
import json

from parts import ASSUMED_OF_COMPACTION, INDEX, OCCUPANCY, THRESHOLD_OF, THRESHOLDS, TOGETHER, memory_of
from study import FOLDER, NAMES
from tables import average, percent, ratio, show, table

PAPER = json.loads((FOLDER / "paper.json").read_text())


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
            "pre-fragmented data is allocated, too (relative to all data); the other reading is relative to the data of the application. The free memory that Mosaic keeps does not depend on the occupancy: relative to all data the "
            "ratio decreases because the allocated data increases. The threshold and the reference of the bloat were selected before these runs were executed."] + \
        table(["reading", "quotation or source"] + shares + ["decreases"], rows) + \
        ["Frames allocated from the emergency list, because no large frame is free and none can be emptied, by threshold:"] + table(["threshold"] + shares, emergency) + \
        ["Bloat by fragmentation index, at an occupancy of 50% (the paper: \"negligible (<1%) memory bloat when the fragmentation index is less than 100%\", section 6.4):"] + \
        table(["index", "relative to all data", "relative to the application"],
              [[percent(i, 0)] + [percent(kept(f, f"index={i}", "mosaic", 0.5 * i, of_all), 2) for of_all in (True, False)] for i in INDEX])


def of_compaction(f):
    def gains(what):
        return [show(ratio(f.weighted_speedup("fragmentation", what, mix, d), f.weighted_speedup("fragmentation", what, mix, "no_cac")), 3)
                for mix in mixes(f) for d in ("mosaic", "cac_bc")]
    rows = [["preset", "", "", ""] + gains("occupancy=0.5")]
    for key, default, values in ASSUMED_OF_COMPACTION:
        rows += [[f"`{key}`", default, str(value), source] + gains(f"{key}={value}") for value, source in values.items()]
    rows += [["together", "", name.replace(", ", "; "), "large frames in one channel; one copy per channel needs six large frames emptied at a time"] + gains(name) for name in TOGETHER]
    return ["Assumed parameters of compaction: weighted speedup relative to no compaction with the same value, at index 100% and occupancy 50%. With `gpu.l2_cache.interleave` of 2 MiB a large frame is in one channel, as in the "
            "paper; here its pages may move to another channel:"] + \
        table(["parameter", "preset", "value", "quotation or source"] + [f"{'+'.join(mix)}, {name}" for mix in mixes(f) for name in ("CAC", "CAC-BC")], rows)
