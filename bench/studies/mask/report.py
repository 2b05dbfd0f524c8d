# SPDX-License-Identifier: Apache-2.0
"""results.md: measured and published figures; results.json.xz: every figure of every run."""
import json
import math
from pathlib import Path

import records
from parts import COMPARED, GPUS, equal
from provenance import sentence
from study import DESIGNS, FOLDER, NAMES, PRESET, RATES, READINGS, SENSITIVITY, SMS, STATIC, SYSTEM, TLB_SIZES, class_of
from tables import average, percent, ratio, show, table

PAPER = json.loads((FOLDER / "paper.json").read_text())
ORDER = [STATIC] + list(DESIGNS)
BASE = "shared_tlb"
GAIN = 1.1  # minimum of Ideal over SharedTLB for headroom; chosen before the runs


class Figures:
    """Figures of the tables, from {(what, mix, design): measures} by part."""

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
        """IPC in the mix divided by IPC alone, on as many SMs with SharedTLB, of each application. Empty if a run is missing."""
        sms = sms or equal(len(mix))
        if design == STATIC:
            parts = [self.of(part, str(n) if part == "splits" else what, (name,), STATIC) for name, n in zip(mix, sms)]
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
        """The largest slowdown of any application."""
        kept = self.slowdowns(*of, **how)
        return 1 / min(kept) if kept and min(kept) else None


def measured_rates(f):
    """{application: (L1, L2 TLB miss rate)} alone on half of the SMs."""
    found = {}
    for (what, (name,), _), m in f.measured.get("alone", {}).items():
        if what == str(SMS // 2) and m["l1_miss"][0] is not None:
            found[name] = (m["l1_miss"][0], m["l2_miss"][0] or 0)
    return found


def over_base(f, design, mixes, figure="speedup"):
    of = getattr(f, figure)
    return average([ratio(of("pairs", "equal", mix, design), of("pairs", "equal", mix, BASE)) for mix in mixes])


def averages(f):
    """{figure: (measured, the paper's or None)}."""
    mixes = f.mixes("pairs")

    def mean(of):
        return average([of(mix) for mix in mixes])

    def rate(name, design, place=None):
        found = [f.of("pairs", "equal", mix, design, name) for mix in mixes]
        return average([m[place] if m and place is not None else m for m in found])

    def to_ideal(design):
        return mean(lambda m: ratio(f.speedup("pairs", "equal", m, design), f.speedup("pairs", "equal", m, "ideal")))

    def over(name, design, total=sum):
        """A figure of the applications, combined by `total`, divided by SharedTLB's."""
        def of(mix):
            ours, base = (f.of("pairs", "equal", mix, d, name) for d in (design, BASE))
            return total(ours) / total(base) if ours and base and None not in ours + base else None
        return mean(of)

    def each_over(ours, base):
        return average([ratio(a, b) for a, b in zip(ours or [], base or [])])

    shared_misses = mean(lambda m: each_over(f.of("pairs", "equal", m, "mask", "l2_miss"), f.of("pairs", "equal", m, BASE, "l2_miss")))
    alone = average([average([r and r["l2_miss"][0] for r in (f.of("alone", str(SMS // 2), (name,), BASE) for name in mix)]) for mix in mixes])
    found = {f"{NAMES[d]} over SharedTLB, weighted speedup": (over_base(f, d, mixes), PAPER["over_shared_tlb"].get(d)) for d in ORDER if d != BASE}
    found |= {f"{NAMES[d]} to Ideal, weighted speedup": (to_ideal(d), PAPER["of_ideal"][d]) for d in PAPER["of_ideal"]}
    found |= {
        "MASK over SharedTLB, largest slowdown": (over_base(f, "mask", mixes, "unfairness"), PAPER["unfairness_of_shared_tlb"]),
        "MASK over SharedTLB, IPC of both applications": (over("ipc", "mask"), PAPER["ipc_of_shared_tlb"]),
        "MASK over SharedTLB, L2 TLB miss rate per application": (shared_misses, PAPER["misses_of_shared_tlb"]),
        "SharedTLB, L2 TLB miss rate per application": (mean(lambda m: average(f.of("pairs", "equal", m, BASE, "l2_miss") or [])), None),
        "SharedTLB, L2 TLB miss rate per application, alone": (alone, None),
        "MASK-TLB over SharedTLB, L2 TLB hit rate": (ratio(rate("l2_tlb_hit", "mask_tlb"), rate("l2_tlb_hit", BASE)), PAPER["l2_tlb_hit_of_shared_tlb"]),
        "SharedTLB, share of L2 TLB misses merged with an outstanding walk": (rate("merged", BASE), None),
        "MASK-TLB, hit rate of the bypass cache": (rate("bypass_hit", "mask_tlb"), PAPER["bypass_hit"]),
        "MASK, token changes per run": (rate("token_moves", "mask"), None),
        "MASK, epochs of 100,000 cycles per run": (rate("cycles", "mask") and rate("cycles", "mask") / 100_000, None),
    }
    found |= {f"SharedTLB, L2 cache hit rate of walk reads, {level}": (rate("depth_hit", BASE, i), PAPER["depths"][i])
              for i, level in enumerate(("root", "second level", "third level", "fourth level"))}
    found |= {
        "SharedTLB, L2 cache hit rate of data requests": (rate("data_hit", BASE), None),
        "MASK-Cache, L2 cache hit rate of walk reads that do not bypass": (rate("walk_hit", "mask_cache"), PAPER["walk_hit"]),
        "MASK-Cache, share of walk reads that bypass the L2 cache": (rate("bypassed", "mask_cache"), None),
        "SharedTLB, concurrent walks": (rate("concurrent", BASE, 0), PAPER["concurrent"]),
        "SharedTLB, accesses stalled per walk": (rate("accesses_a_walk", BASE), PAPER["stalled"]),
        "SharedTLB, walk latency in cycles": (rate("walk_latency", BASE), None),
        "MASK, walk latency in cycles": (rate("walk_latency", "mask"), None),
        "SharedTLB, share of access time in translation": (rate("translating", BASE), None),
        "SharedTLB, share of access time in the L2 TLB, including stalls for a free MSHR": (rate("in_l2_tlb", BASE), None),
        "SharedTLB, share of access time in walks": (rate("in_walk", BASE), None),
        "MASK, share of access time in the L2 TLB, including stalls for a free MSHR": (rate("in_l2_tlb", "mask"), None),
        "MASK, share of access time in walks": (rate("in_walk", "mask"), None),
        "SharedTLB, DRAM bandwidth utilization": (rate("dram_use", BASE), None),
        "SharedTLB, share of DRAM accesses by walks": (rate("walks_of_dram", BASE), PAPER["walks_of_dram"]),
        "SharedTLB, share of DRAM bandwidth used by walks": (mean(lambda m: product(f.of("pairs", "equal", m, BASE), "walks_of_dram", "dram_use")),
                                                              PAPER["walks_of_bandwidth"]),
        "SharedTLB, cycles of a walk read in the DRAM queue": (rate("walk_wait", BASE), None),
        "SharedTLB, cycles of a data read in the DRAM queue": (rate("data_wait", BASE), None),
        "MASK-DRAM, cycles of a walk read in the DRAM queue": (rate("walk_wait", "mask_dram"), None),
        "MASK-DRAM, cycles of a data read in the DRAM queue": (rate("data_wait", "mask_dram"), None),
    }
    return found


def product(found, *names):
    values = [found[name] for name in names] if found else [None]
    return math.prod(values) if None not in values else None


def overview(f):
    rows = [[text, show(value, 3), "-" if paper is None else show(paper["value"], 3), "" if paper is None else paper["where"]]
            for text, (value, paper) in averages(f).items()]
    return ["## Overview", "", "Means over the pairs."] + table(["", "Farfault", "paper", "source"], rows)


def pairs(f):
    mixes, rates = f.mixes("pairs"), measured_rates(f)
    lines = ["## Pairs (Figs. 11 to 15)", "",
             "Weighted speedup with equal shares of the SMs, relative to each application alone on as many SMs with SharedTLB. An n-HMR pair has n applications "
             "with high miss rates in both TLBs, by the paper's Table 2 and, in the second table, by the measured rates."]
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


def gains(f):
    """Pairs with and without headroom, by Ideal over SharedTLB."""
    def ideal(mix):
        return ratio(f.speedup("pairs", "equal", mix, "ideal"), f.speedup("pairs", "equal", mix, BASE))

    found = {mix: ideal(mix) for mix in f.mixes("pairs") if ideal(mix) is not None}
    rows = []
    for title, members in ((f"at least {GAIN - 1:.0%}", [m for m in found if found[m] >= GAIN]), (f"below {GAIN - 1:.0%}: no headroom", [m for m in found if found[m] < GAIN]),
                           ("of these, slower with Ideal", [m for m in found if found[m] < 1]), ("all", list(found))):
        rows.append([title, len(members), show(average([found[m] for m in members]), 3)] +
                    [show(over_base(f, d, members), 3) for d in ("mask_tlb", "mask_cache", "mask_dram", "mask")] +
                    [", ".join("+".join(m) for m in members) if title != "all" else ""])
    return ["## Headroom", "", f"Means over the pairs whose weighted speedup rises by at least {100 * (GAIN - 1):.0f}% if no access misses an L1 TLB "
            "(Ideal over SharedTLB), and over the other pairs. Paper: MASK over SharedTLB 1.578, Ideal over SharedTLB 1.68 (section 3: 1 / 0.594) or 2.05 (section 7.1: "
            "1.578 / 0.768; Table 3: 1 / 0.487). Ideal is not an upper bound: without TLB misses, warps have more DRAM lines outstanding, from more rows."] + \
        table(["Ideal over SharedTLB", "number", "Ideal"] + [NAMES[d] for d in ("mask_tlb", "mask_cache", "mask_dram", "mask")] + ["pairs"], rows)


def readings(f):
    """Sentence or source of each reading, with MASK and Ideal over SharedTLB in that reading's system."""
    def row(part, what, mixes, preset="", sms=None):
        def over(design, mix):
            return ratio(f.speedup(part, what, mix, design, preset=preset, sms=sms), f.speedup(part, what, mix, BASE, preset=preset, sms=sms))

        return [show(average([over(d, m) for m in mixes]), 3) for d in ("mask", "ideal")] + [show(over(d, m), 3) for m in mixes for d in ("mask", "ideal")]

    mixes, paper = f.mixes("readings"), [show(PAPER["over_shared_tlb"]["mask"]["value"], 3), show(1 / PAPER["of_ideal"][BASE]["value"], 3)]
    rows = [[f"`{r.name()}`", r.source] + row("readings", r.name(), mixes, r.name() if r.settings else "") for r in READINGS]
    if f.mixes("generality", "published-mask"):
        rows.append(["`published-mask`", "parameters of the published code"] + row("generality", "published-mask", mixes, "published-mask", equal(2, GPUS["published-mask"])))
    rows.append(["paper", "section 7.1; section 3, Fig. 3: 1 / 0.594, and 2.05 by section 7.1: 1.578 / 0.768"] + paper + [""] * (2 * len(mixes)))
    return ["## Readings", "", f"Weighted speedups of MASK and Ideal over SharedTLB: the mean, and each pair. Each row is `{PRESET}` with the listed settings, which SharedTLB, "
            "Ideal and the applications alone have, too. The first row is the preset."] + \
        table(["reading", "quotation or source", "MASK", "Ideal"] + [f"{'+'.join(m)}, {d}" for m in mixes for d in ("MASK", "Ideal")], rows)


def named(f):
    """Figures of single pairs and applications that the paper's text states."""
    def of(pair, design, figure, application):
        if figure == "speedup":
            return f.speedup("pairs", "equal", pair, design)
        found = f.of("pairs", "equal", pair, design, figure)
        return found[application] if found is not None and application is not None else found

    rows = []
    for said in PAPER["named"]:
        pair, application = tuple(said["pair"]), said.get("place")
        here = of(pair, said["design"], said["figure"], application)
        if said.get("over"):
            here = ratio(here, of(pair, said["over"], said["figure"], application))
        rows.append(["+".join(pair), said["what"], show(here, 3), said["value"], said["where"]])
    return ["## Pairs that the paper's text names"] + table(["pair", "", "Farfault", "paper", "source"], rows)


def classes(f):
    rows = []
    for name, (l1, l2) in sorted(measured_rates(f).items()):
        m = f.of("alone", str(SMS // 2), (name,), BASE)
        here = ("high" if l1 >= 0.2 else "low", "high" if l2 >= 0.2 else "low")
        once = f.of("alone", "once", (name,), BASE) or m
        rows.append([name, percent(l1), percent(l2), " ".join(percent(once[level][0]) for level in ("l1_miss", "l2_miss")), "/".join(here), "/".join(RATES[name]),
                     "" if here == RATES[name] else "differs"] +
                    ["-" if not m["concurrent"] else " ".join(f"{value:.0f}" for value in m["concurrent"]), show(m["accesses_a_walk"], 1),
                     show(m["walk_latency"], 0), percent(m["depth_hit"][3]), show(m["cycles"] / 100_000, 1)])
    return ["## Applications (Table 2, Figs. 5 and 6)", "", f"Each application alone on {SMS // 2} SMs with SharedTLB. L1 TLB, L2 TLB: miss rates, including merged misses; low: below "
            "20%. Concurrent walks: mean, minimum and maximum of samples every 10,200 cycles (Fig. 5). Fig. 6 counts warps stalled per walk; the column "
            "counts accesses, one per line (a warp of 64 threads reads two lines of floats). Fourth level: L2 cache hit rate of walk reads at that level. A program that "
            "runs several times finds pages of its first run in the L2 TLB, so the column \"one run\" has the miss rates of a single run."] + \
        table(["", "L1 TLB", "L2 TLB", "one run", "Farfault", "paper", "", "concurrent walks", "accesses per walk", "walk latency, cycles", "fourth level", "epochs"], rows)


def interference(f):
    rows = []
    for mix in f.mixes("pairs"):
        base, dram, mask = (f.of("pairs", "equal", mix, d) for d in (BASE, "mask_dram", "mask"))
        if not base:
            continue
        alone = [f.of("alone", str(SMS // 2), (name,), BASE) for name in mix]
        rows.append(["+".join(mix), " + ".join(percent(m["l2_miss"][0], 0) if m else "-" for m in alone),
                     " + ".join(percent(rate, 0) for rate in base["l2_miss"]), percent(base["dram_use"], 0), percent(base["walks_of_dram"])] +
                    [f"{show(m and m['walk_wait'], 0)}, {show(m and m['data_wait'], 0)}" for m in (base, dram)] +
                    [show(m and m["walk_latency"], 0) for m in (base, mask)] + [percent(base["in_l2_tlb"], 0), percent(base["in_walk"], 0), show(base["cycles"] / 100_000, 1)])
    return ["## Interference (Figs. 7 to 9)", "", "L2 TLB miss rates alone, on as many SMs, and in the pair; DRAM bandwidth utilization, and the share of DRAM "
            "accesses by walks; cycles of a walk read and of a data read in a channel's queue; walk latency in cycles, from request to response; shares of "
            "access time in the L2 TLB, including stalls for a free MSHR, and in walks, with SharedTLB."] + \
        table(["", "L2 TLB misses alone", "in the pair", "DRAM utilization", "walks", "DRAM queue, SharedTLB", "DRAM queue, MASK-DRAM", "walk, SharedTLB", "walk, MASK",
               "in the L2 TLB", "in walks", "epochs"], rows)


def splits(f):
    rows = []
    for mix in f.mixes("splits"):
        cells = []
        for design in (STATIC, "shared_tlb", "mask"):
            of = {what: f.speedup("splits", what, mix, design, sms=tuple(map(int, what.split("+"))))
                  for what in dict.fromkeys(k[0] for k in f.measured["splits"] if k[1] == mix)}
            of = {what: value for what, value in of.items() if value is not None}
            best = max(of, key=of.get) if of else None
            cells += [best or "-", show(of.get(best)), show(f.speedup("pairs", "equal", mix, design))]
        rows.append(["+".join(mix)] + cells)
    header = [f"{x}, {NAMES[d]}" for d in (STATIC, "shared_tlb", "mask") for x in ("best split", "speedup", "equal shares")]
    return ["## SM splits", "", "Weighted speedup. The paper's oracle selects the best static split of the SMs."] + table([""] + header, rows)


def number(f):
    rows = []
    for n in range(1, 6):
        mixes = f.mixes("number", n)
        to_ideal = [average([ratio(f.speedup("number", n, m, d), f.speedup("number", n, m, "ideal")) for m in mixes]) for d in COMPARED[:2]]
        paper = [PAPER["number"][d][n - 1] for d in COMPARED[:2]]
        rows.append([n, len(mixes)] + [percent(x) for pair in zip(to_ideal, paper) for x in pair])
    return ["## Number of applications (Table 3)", "", "Weighted speedup relative to Ideal."] + \
        table(["applications", "mixes", "SharedTLB", "paper", "MASK", "paper"], rows)


def generality(f):
    rows = []
    for preset, sms in GPUS.items():
        mixes = f.mixes("generality", preset)
        how = {"sms": equal(2, sms), "preset": preset}
        for d in ("pw_cache", "shared_tlb", "mask"):
            value = average([ratio(f.speedup("generality", preset, m, d, **how), f.speedup("generality", preset, m, "ideal", **how)) for m in mixes])
            rows.append([f"`{preset}`", NAMES[d], percent(value), percent(PAPER["generality"].get(preset, {}).get(d))])
    for d in ("pw_cache", "shared_tlb", "mask"):
        mixes = f.mixes("generality", next(iter(GPUS)))
        value = average([ratio(f.speedup("pairs", "equal", m, d), f.speedup("pairs", "equal", m, "ideal")) for m in mixes])
        rows.append(["`paper-mask`, the same pairs", NAMES[d], percent(value), ""])
    return ["## Other GPUs (Table 4), and the parameters of the published code", "", "Weighted speedup relative to Ideal."] + \
        table(["preset", "", "Farfault", "paper"], rows)


def tlb_sizes(f):
    rows = []
    for entries in sorted(TLB_SIZES + [512]):
        part, what = ("pairs", "equal") if entries == 512 else ("tlb_sizes", entries)
        mixes = f.mixes("tlb_sizes")
        gains = [ratio(f.speedup(part, what, m, "mask"), f.speedup(part, what, m, BASE)) for m in mixes]
        rows.append([entries] + [show(average([f.speedup(part, what, m, d) for m in mixes])) for d in (BASE, "mask")] + [show(average(gains), 3)])
    return ["## L2 TLB entries (section 7.3)", "", "Weighted speedup, relative to the applications alone with 512 entries. In the paper MASK is ahead with "
            "64 to 4,096 entries, and equals SharedTLB with 8,192."] + table(["entries", "SharedTLB", "MASK", "MASK over SharedTLB"], rows)


def large_pages(f):
    rows = []
    for d in ("shared_tlb", "mask"):
        value = average([ratio(*(f.speedup("large_pages", "2 MiB", m, of, preset="2 MiB, ") for of in (d, "ideal"))) for m in f.mixes("large_pages")])
        rows.append([NAMES[d], percent(value), percent(PAPER["large_pages"][d])])
    return ["## Pages of 2 MiB (section 7.3)", "", "Weighted speedup relative to Ideal."] + table(["", "Farfault", "paper"], rows)


def sensitivity(f):
    mixes = f.mixes("sensitivity")

    def gains(what, base, preset=""):
        return [ratio(f.speedup("sensitivity", what, m, "mask", preset=preset), f.speedup("sensitivity", base, m, BASE, preset=preset)) for m in mixes]

    def row(what, found, design=BASE):
        of = [f.of("sensitivity", what, m, design) for m in mixes]
        spent = [percent(average([m and m[where] for m in of]), 0) for where in ("in_l2_tlb", "in_walk")]
        return ["preset" if what == "as it is" else f"`{what}`", show(average(found), 3)] + [show(g, 3) for g in found] + spent

    rows = [row("as it is", gains("as it is", "as it is"))]
    rows += [row(what, gains(what, "as it is"), "mask") for what in (f"{key}={value}" for key, values in SENSITIVITY.items() for value in values)]
    rows += [row(what, gains(what, what, what)) for what in (f"{key}={value}" for key, values in SYSTEM.items() for value in values)]
    return ["## Assumed parameters", "", "Weighted speedup of MASK over SharedTLB; one parameter is varied at a time. SharedTLB and the applications "
            "alone have the same value of a GPU parameter. Shares of access time in the L2 TLB, including stalls for a free MSHR, and in walks are means "
            "over the pairs: with MASK if only MASK is varied, otherwise with SharedTLB."] + \
        table(["", "mean"] + ["+".join(m) for m in mixes] + ["in the L2 TLB", "in walks"], rows)


SECTIONS = {"pairs": [pairs, gains, named, classes, interference], "readings": [readings], "splits": [splits], "number": [number], "generality": [generality], "tlb_sizes": [tlb_sizes],
            "large_pages": [large_pages], "sensitivity": [sensitivity]}


def write(folder, measured, made):
    folder.mkdir(parents=True, exist_ok=True)
    f = Figures(measured)
    listed = [{"part": part, "what": key[0], "mix": "+".join(key[1]), "design": key[2]} | m for part, found in measured.items() for key, m in found.items()]
    summary = {text: {"measured": value, "paper": paper and paper["value"]} for text, (value, paper) in averages(f).items()} if measured.get("pairs") else {}
    records.write(folder, about=made, averages=summary, rows=listed)
    lines = ["# MASK: the paper and Farfault", "", f"Written by `run`; do not edit. {sentence(made)} {PAPER['source']}", "",
             "The 27 applications have the sizes of study.py; the preset is `paper-mask`.", ""]
    discussion = FOLDER / "discussion.md"
    if discussion.exists() and Path(folder).resolve() == FOLDER:
        lines += [discussion.read_text().strip(), ""]
    if measured.get("pairs"):
        lines += overview(f)
    for name, functions in SECTIONS.items():
        if measured.get(name):
            for function in functions:
                lines += function(f)
    lines += ["", "The first half of each digest is in results.json.xz."]
    (folder / "results.md").write_text("\n".join(lines).rstrip() + "\n")
