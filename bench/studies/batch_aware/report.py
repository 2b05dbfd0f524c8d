# SPDX-License-Identifier: Apache-2.0
"""results.md: measured and published figures; results.json.xz: every figure of every run."""
import json
import math
from pathlib import Path

import readings
import records
from parts import ASSUMED, EPOCHS, HANDLING, LARGE, LARGER, OF_OTHERS, OF_TO, SHARES, SMALL, SMS
from provenance import sentence
from study import COMPARED, FOLDER, GRAPHS, REGULAR, SLOW, THREE, WORKLOADS
from tables import show, table

PAPER = json.loads((FOLDER / "paper.json").read_text())
NAMES = {"sequential_to": "TO", "sequential_ue": "UE", "sequential_to_ue": "TO+UE", "unlimited": "all memory", "baseline": "baseline", "sequential": "sequential prefetch", "lru": "LRU", "pcie": "PCIe compression",
         "etc": "ETC", "to": "TO", "ue": "UE", "to_ue": "TO+UE", "ideal": "ideal eviction"}


def mean(values):
    """Geometric mean of ratios."""
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def ratio(a, b):
    return a / b if a and b else None


class Figures:
    """Figures of the tables, from {(what, workload, design): measures} by part."""

    def __init__(self, measured, scale):
        self.measured, self.scale, self.paper, self.premature = measured, scale, PAPER["averages"], PAPER["premature_evictions"]

    def of(self, part, what, workload, design, name="kernel_us"):
        found = self.measured.get(part, {}).get((str(what), workload, design))
        return found[name] if found else None

    def graphs(self, part, what):
        """Graph workloads with a baseline run in that part."""
        return [w for w in GRAPHS if self.of(part, what, w, "baseline")]

    def speedup(self, part, what, workload, design, over="baseline"):
        return ratio(self.of(part, what, workload, over), self.of(part, what, workload, design))

    def gains(self, part, what, design, over="baseline", workloads=GRAPHS):
        return [self.speedup(part, what, w, design, over) for w in workloads]

    def ratio_of(self, part, what, workload, design, over, name="kernel_us"):
        return ratio(self.of(part, what, workload, design, name), self.of(part, what, workload, over, name))

    def mean(self, values):
        return mean(values)

    def change(self, name, design, over="baseline", workloads=GRAPHS):
        return [ratio(self.of("headline", 0.5, w, design, name), self.of("headline", 0.5, w, over, name)) for w in workloads]


def averages(f):
    """The paper's averages, measured here; None: not measured."""
    return {
        "to_ue_over_baseline": mean(f.gains("headline", 0.5, "to_ue")),
        "to_over_baseline": mean(f.gains("headline", 0.5, "to")),
        "ue_beside_to": mean(f.gains("headline", 0.5, "to_ue", "to")),
        "to_ue_over_etc": mean(f.gains("headline", 0.5, "to_ue", "etc")),
        "to_ue_over_compression": mean(f.gains("headline", 0.5, "to_ue", "pcie")),
        "bfs_dwc_ue": f.speedup("headline", 0.5, "bfs_dwc", "ue"),
        "batches_to_ue": mean(f.change("batches", "to_ue")),
        "batch_size_to_ue": mean(f.change("batch_kb", "to_ue")),
        "batch_time_to_ue": mean(f.change("batch_us", "to_ue")),
        "batch_time_ue_beside_to": mean(f.change("batch_us", "to_ue", "to")),
        "half_memory": mean(f.gains("headline", 0.5, "baseline", "unlimited")),
        "ideal_over_baseline": mean(f.gains("headline", 0.5, "ideal")),
        "ue_at_a_tenth": mean(f.gains("shares", 0.1, "ue", workloads=THREE)),
        "switching_without_paging": mean([ratio(f.of("switching", 0, w, "resident"), f.of("switching", 1, w, "resident")) for w in GRAPHS if w not in SLOW]),
    }


TEXTS = {
    "to_ue_over_baseline": "TO+UE over the baseline", "to_over_baseline": "TO over the baseline",
    "ue_beside_to": "TO+UE over TO", "bfs_dwc_ue": "BFS-DWC: UE over the baseline",
    "batches_to_ue": "number of batches, TO+UE relative to the baseline", "batch_size_to_ue": "bytes per batch, TO+UE relative to the baseline",
    "batch_time_to_ue": "batch time, TO+UE relative to the baseline", "batch_time_ue_beside_to": "batch time, TO+UE relative to TO",
    "half_memory": "baseline with half of the memory, relative to all memory", "ideal_over_baseline": "ideal eviction over the baseline",
    "ue_at_a_tenth": "UE over the baseline, with a tenth of the memory",
    "switching_without_paging": "one extra block by context switching, all data resident",
    "to_ue_over_etc": "TO+UE over ETC", "to_ue_over_compression": "TO+UE over PCIe compression",
}


def overview(f):
    measured = averages(f)
    rows = [[TEXTS[key], show(paper["value"]), show(measured.get(key)), paper["where"]] for key, paper in PAPER["averages"].items()]
    return ["## Averages", "", "Geometric means over the workloads; with a tenth of the memory, over three workloads. `-`: not measured."] + table(["", "paper", "Farfault", "source"], rows)


def headline(f):
    designs = [d for d in COMPARED if d != "baseline" and not d.startswith("sequential_")]
    rows = []
    for w in f.graphs("headline", 0.5):
        rows.append([WORKLOADS[w], show((f.of("headline", 0.5, w, "baseline", "footprint") or 0) / 2**20, 1),
                     show((f.of("headline", 0.5, w, "baseline") or 0) / 1e3)] +
                    [show(f.speedup("headline", 0.5, w, d)) for d in designs])
    rows.append(["geometric mean", "", ""] + [show(mean(f.gains("headline", 0.5, d))) for d in designs])
    out = ["## Performance with half of the memory (Figs. 8 and 11)", "",
           "Baseline: kernel time in ms, with the tree prefetcher and serialized eviction. Other columns: speedup over the baseline."]
    out += table(["", "MiB", "baseline"] + [NAMES[d] for d in designs], rows)
    fast = [w for w in GRAPHS if w not in SLOW]
    over = [[text] + [show(mean(f.gains("headline", 0.5, before + d, base, fast))) for d in ("to", "ue", "to_ue")]
            for text, before, base in (("tree prefetch, over tree prefetch", "", "baseline"),
                                       ("sequential prefetch, over sequential prefetch", "sequential_", "sequential"))]
    return out + ["Geometric means over the workloads that have all of these designs (`-`: not run, because a run takes minutes):"] + \
        table([""] + [NAMES[d] for d in ("to", "ue", "to_ue")], over)


def batches(f):
    out = ["## Batches (Figs. 12 to 16)", ""]
    names = [("batches", "number of batches", 0), ("batch_kb", "KiB per batch", 0), ("batch_us", "batch time, us", 0), ("handling_us", "until the first transfer, us", 1),
             ("raw_faults", "raw faults per batch", 0), ("duplicates", "duplicates per batch", 0), ("empty", "additional batches without migrated pages", 0), ("premature", "premature evictions", 0),
             ("batch_faulted", "faulted pages per batch", 1),
             ("lifetime_us", "page lifetime, us", 0), ("shrunk", "periods after which the number of extra blocks was reduced", 0), ("gave_way", "blocks swapped out", 0), ("saved", "blocks with saved registers", 0)]
    for name, text, digits in names:
        designs = ["to", "to_ue"] if name in ("shrunk", "gave_way", "saved") else ["baseline", "to", "ue", "to_ue", "ideal"]
        rows = [[WORKLOADS[w]] + [show(f.of("headline", 0.5, w, d, name), digits) for d in designs] for w in f.graphs("headline", 0.5)]
        out += [f"### {text[0].upper()}{text[1:]}"] + table([""] + [NAMES[d] for d in designs], rows)
    return out + per_page(f)


def per_page(f):
    """Figs. 3 and 16: time per page of all batches, by batch size, for the baseline, TO and TO+UE."""
    bounds = [1, 2, 4, 8, 16, 32, 64, 128, 1 << 30]
    out = ["### Time per page by batch size (Figs. 3 and 16)", "", "All workloads: number of batches, and mean time per page in us."]
    rows = []
    for low, high in zip(bounds, bounds[1:]):
        cells = []
        for d in ("baseline", "to", "to_ue"):
            found = [(p, t) for w in GRAPHS for p, t in (f.of("headline", 0.5, w, d, "sizes") or []) if low <= p < high]
            pages = sum(p for p, _ in found)
            cells += [len(found), show(sum(t for _, t in found) / pages if pages else None, 1)]
        rows.append([f"{low * 64} to {high * 64 - 64} KiB" if high < 1 << 30 else f"{low * 64} KiB and more"] + cells)
    return out + table(["batch size", "baseline", "us", "TO", "us", "TO+UE", "us"], rows)


def shares(f):
    designs = ("to", "ue", "to_ue")
    rows = [[WORKLOADS[w]] + [show(f.speedup("shares", 0.75, w, d)) for d in designs] for w in f.graphs("shares", 0.75)]
    rows.append(["geometric mean"] + [show(mean(f.gains("shares", 0.75, d))) for d in designs])
    out = ["## Three quarters of the memory", "", "Speedup over the baseline with the same memory."] + table([""] + [NAMES[d] for d in designs], rows)
    rows = []
    for share in SHARES:
        slow = mean([ratio(f.of("shares", 1, w, "baseline"), f.of("shares", share, w, "baseline")) for w in THREE])
        rows.append([f"{share:g}", show(slow), show(mean(f.gains("shares", share, "ue", workloads=THREE)))])
    names = ", ".join(WORKLOADS[w] for w in THREE)
    return out + ["## Memory shares (Fig. 17)", "", f"Means over {names}."] + \
        table(["share", "baseline, relative to all memory", "UE over the baseline"], rows)


def handling(f):
    designs = ("to", "ue", "to_ue")
    rows = [[us] + [show(mean(f.gains("handling", us, d, workloads=THREE))) for d in designs] for us in HANDLING]
    return ["## Time until the first transfer (Fig. 18)", "",
            f"Speedup over the baseline with the same time; means over {', '.join(WORKLOADS[w] for w in THREE)}."] + \
        table(["us"] + [NAMES[d] for d in designs], rows)


def switching(f):
    def kept(w):
        return ratio(f.of("switching", 0, w, "resident"), f.of("switching", 1, w, "resident"))

    graphs = [w for w in GRAPHS if w not in SLOW]
    rows = [[WORKLOADS[w], show(kept(w)), f.of("switching", 1, w, "resident", "gave_way"), f.of("switching", 1, w, "resident", "saved")]
            for w in graphs] + [["geometric mean", show(mean(map(kept, graphs))), "", ""]]
    return ["## Context switches without paging (Fig. 5)", "",
            "All data is resident from the start. An SM has the registers of one block of the widest kernel, and one extra block; blocks are "
            "swapped out at any long-latency stall. Performance relative to that without an extra block."] + table(["", "1 extra block", "swapped out", "saved"], rows)


def working_set(f):
    out = ["## Working set (Fig. 1)", "",
           "All data is resident from the start. Pages of 64 KiB accessed in an epoch, mean over epochs, relative to 16 SMs. Last column: pages "
           "accessed with 16 SMs, of all pages.", ""]
    for epoch in EPOCHS:
        rows = []
        for w in THREE + list(REGULAR):
            sets = [f.of("working_set", f"{epoch}, {n}", w, "resident", "working_set") for n in SMS]
            pages = (f.of("working_set", f"{epoch}, {SMS[-1]}", w, "resident", "footprint") or 0) / 65536
            rows.append([WORKLOADS[w]] + [show(ratio(s, sets[-1])) for s in sets] + [f"{show(sets[-1], 0)} of {pages:.0f}"])
        out += [f"### Epochs of {epoch.replace('us', ' us').replace('ms', ' ms')}"] + table(["SMs"] + SMS + ["pages"], rows)
    return out


def small(f):
    return another_size(f, "small", "A smaller graph", [w for w in GRAPHS if w not in SLOW], min(SMALL, f.scale), (0.5, 0.75))


def large(f):
    return another_size(f, "large", "A larger graph", LARGE, f.scale + LARGER, (0.5,))


def another_size(f, part, title, workloads, scale, shares):
    out = [f"## {title}: R-MAT of scale {scale}", ""]
    for share in shares:
        designs = [d for d in ("unlimited", "to", "ue", "to_ue") if share == 0.5 or d != "unlimited"]
        rows = [[WORKLOADS[w], show((f.of(part, share, w, "baseline", "footprint") or 0) / 2**20, 1)] +
                [show(f.speedup(part, share, w, d)) for d in designs] for w in workloads]
        rows.append(["geometric mean", ""] + [show(mean(f.gains(part, share, d, workloads=workloads))) for d in designs])
        out += [f"Speedup over the baseline at {share:.0%} of the memory."] + table(["", "MiB"] + [NAMES[d] for d in designs], rows)
    return out


def real(f):
    designs = ("to", "ue", "to_ue")
    rows = [[what, WORKLOADS[w], show((f.of("real", what, w, "baseline", "footprint") or 0) / 2**20, 1)] +
            [show(f.speedup("real", what, w, d)) for d in designs]
            for what, w in sorted({key[:2] for key in f.measured.get("real", {})})]
    return ["## Real graphs", "", "Speedup over the baseline with the same share of the memory."] + \
        table(["graph, share", "", "MiB"] + [NAMES[d] for d in designs], rows)


def regular(f):
    designs = [d for d in COMPARED if d not in ("baseline", "lru", "pcie") and not d.startswith("sequential")]
    rows = [[w, show((f.of("regular", 0.5, w, "baseline", "footprint") or 0) / 2**20, 1)] + [show(f.speedup("regular", 0.5, w, d)) for d in designs]
            for w in REGULAR]
    return ["## Regular workloads", "", "Speedup over the baseline at half of the memory."] + \
        table(["", "MiB"] + [NAMES[d] for d in designs], rows)


def sensitivity(f):
    def against(what, design):
        """Performance relative to the unmodified baseline."""
        return mean([ratio(f.of("sensitivity", "as it is", w, "baseline"), f.of("sensitivity", what, w, design)) for w in THREE])

    def gain(what):
        return mean(f.gains("sensitivity", what, "to_ue", workloads=THREE))

    rows = [["preset", "", "", show(gain("as it is")), show(1.0)]]
    for key, default, values in ASSUMED:
        if key.startswith(OF_TO):  # readings.of_to
            continue
        rows += [[f"`{key}`", default, str(value).removeprefix("paper-batch-aware-"), show(gain(f"{key}={value}")),
                  show(against(f"{key}={value}", "baseline"))] for value in values]
    others = [["preset", "", "", NAMES[d], show(against("as it is", d))] for d in ("sequential", "pcie", "etc")]
    for key, default, values, design in OF_OTHERS:
        others += [[f"`{key}`", default, value, NAMES[design], show(against(f"{key}={value}", design))] for value in values]
    return ["## Assumed parameters", "", f"Means over {', '.join(WORKLOADS[w] for w in THREE)} at scale {f.scale - 1}: speedup of TO+UE over a baseline "
            "with the same value, and performance of that baseline relative to the preset's. `machine.topology`: GPU-to-CPU bandwidth equal to the "
            "other direction, and twice as high."] + table(["parameter", "preset", "value", "TO+UE", "baseline"], rows) + \
        ["Designs that the paper compares with:"] + table(["parameter", "preset", "value", "design", "over the baseline"], others)


def write(folder, measured, made):
    folder.mkdir(parents=True, exist_ok=True)
    f = Figures(measured, made["scale"])
    rows = [{"part": part, "what": key[0], "workload": key[1], "design": key[2]} | {k: v for k, v in m.items() if k != "sizes"}
            for part, found in measured.items() for key, m in found.items()]
    records.write(folder, about=made, averages=averages(f), rows=rows)
    lines = ["# Batch-aware unified memory: the paper and Farfault", "", f"Written by `run`; do not edit. {sentence(made)} {PAPER['source']}", "",
             f"R-MAT graphs of scale {made['scale']} on the preset `paper-batch-aware`. Times are kernel times, from each launch at the host to the "
             "notification of its completion. TO: thread oversubscription; UE: unobtrusive eviction.", ""]
    discussion = Path(FOLDER / "discussion.md")
    sections = {"headline": [overview, headline, batches, readings.counted], "shares": [shares], "handling": [handling], "switching": [switching], "working_set": [working_set], "small": [small], "large": [large, readings.premature],
                "real": [real], "regular": [regular], "readings": [readings.readings],
                "bound": [readings.bound], "sensitivity": [readings.of_to, sensitivity]}
    for name, functions in sections.items():
        if not measured.get(name):
            continue
        for function in functions:
            lines += function(f)
            if function is overview and discussion.exists() and folder == FOLDER:
                lines += [discussion.read_text().strip(), ""]
    (folder / "results.md").write_text("\n".join(lines).rstrip() + "\n")
