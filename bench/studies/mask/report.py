# SPDX-License-Identifier: Apache-2.0
"""results.md: the paper's figures beside the measured ones; results.json: every figure of every run."""
import json
from pathlib import Path

from parts import COMPARED, GPUS, equal
from provenance import sentence
from study import DESIGNS, FOLDER, NAMES, RATES, SENSITIVITY, SMS, STATIC, class_of
from tables import average, percent, ratio, show, table

PAPER = json.loads((FOLDER / "paper.json").read_text())
ORDER = [STATIC] + list(DESIGNS)
BASE = "shared_tlb"


class Figures:
    """What the tables ask of the measures: {(what, mix, design): measures} by part."""

    def __init__(self, measured):
        self.measured = measured

    def of(self, part, what, mix, design, name=None):
        found = self.measured.get(part, {}).get((what, mix, design))
        return found if found is None or name is None else found[name]

    def mixes(self, part, what=None):
        return list(dict.fromkeys(k[1] for k in self.measured.get(part, {}) if (what is None or k[0] == what) and k[2] != STATIC))

    def alone(self, name, sms, preset=""):
        found = self.of("alone", f"{preset}{sms}", (name,), BASE)
        return found["ipc"][0] if found else None

    def slowdowns(self, part, what, mix, design, sms=None, preset=""):
        """Of each application, IPC shared to IPC alone on as many SMs with SharedTLB; none where a run is missing."""
        sms = sms or equal(len(mix))
        if design == STATIC:
            parts = [self.of(part, what, (name,), STATIC) for name in mix]
            ipc = [p["ipc"][0] for p in parts] if all(parts) else None
        else:
            found = self.of(part, what, mix, design)
            ipc = found["ipc"] if found else None
        kept = [ratio(shared, self.alone(name, n, preset)) for shared, name, n in zip(ipc or [], mix, sms)]
        return kept if kept and None not in kept else []

    def speedup(self, *of, **how):
        """Weighted speedup."""
        kept = self.slowdowns(*of, **how)
        return sum(kept) if kept else None

    def unfairness(self, *of, **how):
        """The largest slowdown of an application."""
        kept = self.slowdowns(*of, **how)
        return 1 / min(kept) if kept and min(kept) else None


def measured_rates(f):
    """Of each application alone on half of the SMs."""
    found = {}
    for (what, (name,), _), m in f.measured.get("alone", {}).items():
        if what == str(SMS // 2) and m["l1_miss"][0] is not None:
            found[name] = (m["l1_miss"][0], m["l2_miss"][0] or 0)
    return found


def over_base(f, design, mixes, figure="speedup"):
    of = getattr(f, figure)
    return average([ratio(of("pairs", "equal", mix, design), of("pairs", "equal", mix, BASE)) for mix in mixes])


def averages(f):
    """Figure -> (measured, the paper's, where it says so)."""
    mixes = f.mixes("pairs")

    def rate(name, design):
        return average([f.of("pairs", "equal", mix, design, name) for mix in mixes if f.of("pairs", "equal", mix, design)])

    found = {f"{NAMES[d]} over SharedTLB, weighted speedup": (over_base(f, d, mixes), PAPER["over_shared_tlb"].get(d)) for d in ORDER if d != BASE}
    found |= {
        "MASK to Ideal, weighted speedup": (average([ratio(f.speedup("pairs", "equal", m, "mask"), f.speedup("pairs", "equal", m, "ideal")) for m in mixes]),
                                            PAPER["mask_of_ideal"]),
        "MASK over SharedTLB, largest slowdown": (over_base(f, "mask", mixes, "unfairness"), PAPER["unfairness_of_shared_tlb"]),
        "MASK-TLB over SharedTLB, L2 TLB hit rate": (ratio(rate("l2_tlb_hit", "mask_tlb"), rate("l2_tlb_hit", BASE)), PAPER["l2_tlb_hit_of_shared_tlb"]),
        "MASK-TLB, hit rate of the bypass cache": (rate("bypass_hit", "mask_tlb"), PAPER["bypass_hit"]),
        "MASK-Cache, hit rate at the L2 cache of walks' reads that are looked up": (rate("walk_hit", "mask_cache"), PAPER["walk_hit"]),
        "MASK-Cache, share of walks' reads that pass by": (rate("bypassed", "mask_cache"), None),
        "SharedTLB, hit rate at the L2 cache of walks' reads": (rate("walk_hit", BASE), None),
        "MASK, epochs of 100,000 cycles in a run": (rate("cycles", "mask") and rate("cycles", "mask") / 100_000, None),
    }
    return found


def overview(f):
    rows = [[text, show(value, 3), "-" if paper is None else show(paper["value"], 3), "" if paper is None else paper["where"]]
            for text, (value, paper) in averages(f).items()]
    return ["## Overview", "", "Means over the pairs."] + table(["", "here", "paper", "where"], rows)


def pairs(f):
    mixes, rates = f.mixes("pairs"), measured_rates(f)
    lines = ["## Pairs (Figs. 11 to 15)", "",
             "Weighted speedup, equal shares of the SMs, to each application alone on as many with SharedTLB. Pairs are classed by how many of two have "
             "high miss rates in both TLBs (n-HMR), by the paper's Table 2 and, in the second table, by the rates measured here."]
    for title, of in (("Table 2", None), ("measured", rates)):
        rows = []
        for n in (0, 1, 2, None):
            members = [m for m in mixes if n is None or (of is None or set(m) <= of.keys()) and class_of(m, of) == n]
            paper = PAPER["mask_over_shared_tlb_by_class"].get(str(n), PAPER["over_shared_tlb"]["mask"]["value"]) if members else None
            rows.append(["all" if n is None else f"{n}-HMR", len(members)] + [show(average([f.speedup("pairs", "equal", m, d) for m in members])) for d in ORDER] +
                        [show(over_base(f, "mask", members)), show(paper) if of is None else ""])
        lines += table([title, "pairs"] + [NAMES[d] for d in ORDER] + ["MASK over SharedTLB", "paper"], rows)
    rows = [["+".join(m), class_of(m), class_of(m, rates) if set(m) <= rates.keys() else "-"] + [show(f.speedup("pairs", "equal", m, d)) for d in ORDER] +
            [show(f.unfairness("pairs", "equal", m, d)) for d in (STATIC, BASE, "mask")] for m in sorted(mixes, key=class_of)]
    return lines + table(["pair", "HMR", "measured"] + [NAMES[d] for d in ORDER] + [f"slowdown, {NAMES[d]}" for d in (STATIC, BASE, "mask")], rows)


def classes(f):
    rows = []
    for name, (l1, l2) in sorted(measured_rates(f).items()):
        here = ("high" if l1 >= 0.2 else "low", "high" if l2 >= 0.2 else "low")
        rows.append([name, percent(l1), percent(l2), "/".join(here), "/".join(RATES[name]), "" if here == RATES[name] else "differs"])
    return ["## Miss rates (Table 2)", "", f"Alone on {SMS // 2} SMs with SharedTLB; low is below 20 %. A miss that finds its walk under way is one too."] + \
        table(["", "L1 TLB", "L2 TLB", "here", "paper", ""], rows)


def splits(f):
    rows = []
    for mix in f.mixes("splits"):
        cells = []
        for design in ("shared_tlb", "mask"):
            of = {what: f.speedup("splits", what, mix, design, sms=tuple(map(int, what.split("+"))))
                  for what in dict.fromkeys(k[0] for k in f.measured["splits"] if k[1] == mix)}
            of = {what: value for what, value in of.items() if value is not None}
            best = max(of, key=of.get) if of else None
            cells += [best or "-", show(of.get(best)), show(f.speedup("pairs", "equal", mix, design))]
        rows.append(["+".join(mix)] + cells)
    header = [f"{x}, {NAMES[d]}" for d in ("shared_tlb", "mask") for x in ("best split", "its speedup", "equal")]
    return ["## Splits of the SMs", "", "The paper's oracle takes, of all static splits of the SMs, the one with the best weighted speedup."] + table([""] + header, rows)


def number(f):
    rows = []
    for n in range(1, 6):
        mixes = f.mixes("number", n)
        to_ideal = [average([ratio(f.speedup("number", n, m, d), f.speedup("number", n, m, "ideal")) for m in mixes]) for d in COMPARED[:2]]
        paper = [PAPER["number"][d][n - 1] for d in COMPARED[:2]]
        rows.append([n, len(mixes)] + [percent(x) for pair in zip(to_ideal, paper) for x in pair])
    return ["## Applications at once (Table 3)", "", "Weighted speedup to that of Ideal."] + \
        table(["applications", "mixes", "SharedTLB", "paper", "MASK", "paper"], rows)


def generality(f):
    rows = []
    for preset, sms in GPUS.items():
        mixes = f.mixes("generality", preset)
        how = {"sms": equal(2, sms), "preset": preset}
        for d in ("pw_cache", "shared_tlb", "mask"):
            value = average([ratio(f.speedup("generality", preset, m, d, **how), f.speedup("generality", preset, m, "ideal", **how)) for m in mixes])
            rows.append([preset, NAMES[d], percent(value), percent(PAPER["generality"][preset][d])])
    return ["## Other GPUs (Table 4)", "", "Weighted speedup to that of Ideal."] + table(["preset", "", "here", "paper"], rows)


def sensitivity(f):
    mixes = f.mixes("sensitivity")
    rows = []
    for what in ["as it is"] + [f"{key}={value}" for key, values in SENSITIVITY.items() for value in values]:
        gains = [ratio(f.speedup("sensitivity", what, m, "mask"), f.speedup("pairs", "equal", m, BASE)) for m in mixes]
        rows.append([f"`{what}`", show(average(gains), 3)] + [show(g, 3) for g in gains])
    return ["## What is assumed", "", "MASK over SharedTLB, weighted speedup."] + table(["", "mean"] + ["+".join(m) for m in mixes], rows)


SECTIONS = {"pairs": [pairs, classes], "splits": [splits], "number": [number], "generality": [generality], "sensitivity": [sensitivity]}


def write(folder, measured, made):
    folder.mkdir(parents=True, exist_ok=True)
    f = Figures(measured)
    listed = [{"part": part, "what": key[0], "mix": "+".join(key[1]), "design": key[2]} | m for part, found in measured.items() for key, m in found.items()]
    summary = {text: {"measured": value, "paper": paper and paper["value"]} for text, (value, paper) in averages(f).items()} if measured.get("pairs") else {}
    (folder / "results.json").write_text(json.dumps({"about": made, "averages": summary, "rows": listed}, indent=1) + "\n")
    lines = ["# MASK: the paper and Farfault", "", f"Written by `run`; do not edit. {sentence(made)} {PAPER['source']}", "",
             "The 27 applications at the sizes of workloads/README.md, on the preset `paper-mask`.", ""]
    discussion = FOLDER / "discussion.md"
    if discussion.exists() and Path(folder).resolve() == FOLDER:
        lines += [discussion.read_text().strip(), ""]
    if measured.get("pairs"):
        lines += overview(f)
    for name, functions in SECTIONS.items():
        if measured.get(name):
            for function in functions:
                lines += function(f)
    lines += ["", "The digest of each run is in results.json."]
    (folder / "results.md").write_text("\n".join(lines).rstrip() + "\n")
