# SPDX-License-Identifier: Apache-2.0
"""results.md: measured and published figures; results.json.xz: every figure of every run."""
import json
from pathlib import Path

import records
from parts import ASSUMED, ASSUMED_OF_COMPACTION, COMPACTING, COMPARED, ENTRIES, INDEX, IN_FLIGHT, OCCUPANCY, STEP
from provenance import sentence
from study import APPLICATIONS, FOLDER, NAMES, SMS, heterogeneous as drawn
from compaction import bloat_by_occupancy, of_compaction
from tables import average, percent, ratio, show, table

PAPER = json.loads((FOLDER / "paper.json").read_text())
TEXTS = {
    "base_of_ideal": "4 KB pages, performance relative to the ideal TLB", "large_of_ideal": "2 MB pages, performance relative to the ideal TLB",
    "bloat_of_large": "memory bloat of 2 MB pages, mean", "largest_bloat": "memory bloat of 2 MB pages, largest",
    "mosaic_homogeneous": "Mosaic over GPU-MMU, homogeneous mixes", "mosaic_of_ideal_homogeneous": "Mosaic relative to the ideal TLB, homogeneous mixes",
    "mosaic_heterogeneous": "Mosaic over GPU-MMU, heterogeneous mixes", "mosaic_of_ideal_heterogeneous": "Mosaic relative to the ideal TLB, heterogeneous mixes",
    "share_that_gains": "share of applications that gain, heterogeneous mixes", "mean_application_ipc": "IPC per application relative to GPU-MMU, mean",
    "l2_hit_two": "L2 TLB hit rate of GPU-MMU, two applications", "l2_hit_five": "L2 TLB hit rate of GPU-MMU, five applications",
    "mosaic_l1_miss": "L1 TLB miss rate of Mosaic", "mosaic_l2_miss": "L2 TLB miss rate of Mosaic",
}


class Figures:
    """Figures of the tables, from {(what, mix, design): measures} by part."""

    def __init__(self, measured):
        self.measured = measured

    def of(self, part, what, mix, design, name=None):
        found = self.measured.get(part, {}).get((str(what), mix, design))
        return found if found is None or name is None else found[name]

    def mixes(self, part, what=None):
        """[(what, mix)] with results of all compared designs."""
        keys = dict.fromkeys((key[0], key[1]) for key in self.measured.get(part, {}) if what is None or key[0] == str(what))
        return [k for k in keys if all(self.of(part, *k, d) for d in COMPARED)]

    def alone(self, name, sms, of="ipc"):
        found = self.of("alone", sms, (name,), "gpu_mmu")
        return next(iter(found[of].values())) if found else None

    def shared(self, part, what, mix, design, of="ipc"):
        """[(name, IPC shared, IPC alone)]. SMs are shared equally; the first applications get the remainder."""
        found = self.of(part, what, mix, design)
        if not found:
            return []
        n = len(mix)
        return [(name, ipc, self.alone(name, SMS // n + (1 if i < SMS % n else 0), of)) for i, (name, ipc) in enumerate(zip(mix, found[of].values()))]

    def weighted_speedup(self, part, what, mix, design, of="ipc"):
        ratios = [ratio(ipc, alone) for _, ipc, alone in self.shared(part, what, mix, design, of)]
        return sum(ratios) if ratios and None not in ratios else None

    def unfairness(self, part, what, mix, design):
        """The largest slowdown of any application."""
        slowdowns = [ratio(alone, ipc) for _, ipc, alone in self.shared(part, what, mix, design)]
        return max(slowdowns) if slowdowns and None not in slowdowns else None

    def over(self, part, what, mix, design, base="gpu_mmu"):
        return ratio(self.weighted_speedup(part, what, mix, design), self.weighted_speedup(part, what, mix, base))


def performance(f, name, design):
    """IPC of an application alone on all SMs."""
    found = f.of("page_sizes", 1, (name,), design)
    return next(iter(found["ipc"].values())) if found else None


def bloat(f, name):
    """Memory of an application's buffers in large pages divided by that in base pages."""
    return ratio(*(f.of("page_sizes", 1, (name,), design, "mapped_bytes") for design in ("large", "gpu_mmu")))


def averages(f):
    found = {}
    apps = [a for a in APPLICATIONS if performance(f, a, "ideal")]
    found["base_of_ideal"] = average([ratio(performance(f, a, "gpu_mmu"), performance(f, a, "ideal")) for a in apps])
    found["large_of_ideal"] = average([ratio(performance(f, a, "large"), performance(f, a, "ideal")) for a in apps])
    bloats = [b for b in (bloat(f, a) for a in apps) if b]
    found["bloat_of_large"], found["largest_bloat"] = average(bloats), max(bloats, default=None)
    for part in ("homogeneous", "heterogeneous"):
        mixes = f.mixes(part)
        found[f"mosaic_{part}"] = average([f.over(part, *m, "mosaic") for m in mixes])
        found[f"mosaic_of_ideal_{part}"] = average([f.over(part, *m, "mosaic", "ideal") for m in mixes])
    mixes = f.mixes("heterogeneous")
    gains = [ratio(a[1], b[1]) or 0 for m in mixes for a, b in zip(f.shared("heterogeneous", *m, "mosaic"), f.shared("heterogeneous", *m, "gpu_mmu"))]
    found["share_that_gains"] = ratio(sum(g > 1 for g in gains), len(gains)) if gains else None
    found["mean_application_ipc"] = average(gains)
    both = [(part, *m) for part in ("homogeneous", "heterogeneous") for m in f.mixes(part)]
    limited = [m for m in both if (f.of(*m, "gpu_mmu", "l2_hit") or 1) < 0.98]
    for text, n in (("two", 2), ("five", 5)):
        found[f"l2_hit_{text}"] = average([f.of(*m, "gpu_mmu", "l2_hit") for m in limited if len(m[2]) == n])
    for level in ("l1", "l2"):
        hit = average([f.of(*m, "mosaic", f"{level}_hit") for m in limited])
        found[f"mosaic_{level}_miss"] = None if hit is None else 1 - hit
    return found


def overview(f):
    measured = averages(f)
    rows = [[TEXTS[key], show(paper["value"]), show(measured.get(key), 3 if "miss" in key else 2), paper["where"]]
            for key, paper in PAPER["averages"].items()]
    return ["## Averages", "", "Arithmetic means over the mixes that were run, as in the paper. `-`: not measured. All data is resident from the "
            "start here; the paper's figures of section 6 include demand paging, which has little impact there (Fig. 12)."] + table(["", "paper", "Farfault", "source"], rows)


def page_sizes(f):
    rows = []
    for a in APPLICATIONS:
        ideal = performance(f, a, "ideal")
        if not ideal:
            continue
        of = f.of("page_sizes", 1, (a,), "gpu_mmu")
        rows.append([a, show(of["footprint"] / 2**20, 1), show(ideal), show(ratio(performance(f, a, "gpu_mmu"), ideal)),
                     show(ratio(performance(f, a, "large"), ideal)), show(bloat(f, a)), percent(of["l1_hit"]), percent(of["l2_hit"]), of["walks"],
                     f.of("page_sizes", 1, (a,), "large", "walks")])
    rows.append(["mean", "", "", show(average([ratio(performance(f, a, "gpu_mmu"), performance(f, a, "ideal")) for a in APPLICATIONS])),
                 show(average([ratio(performance(f, a, "large"), performance(f, a, "ideal")) for a in APPLICATIONS])),
                 show(average([bloat(f, a) for a in APPLICATIONS])), "", "", "", ""])
    return ["## Page sizes, one application (Fig. 3)", "",
            "All data is resident. IPC: warp instructions per GPU cycle, with the ideal TLB; 4 KB, 2 MB: performance relative to it, with equal numbers of "
            "TLB entries; bloat: memory in 2 MB pages divided by memory in 4 KB pages; TLB hit rates and walks with 4 KB pages; walks with 2 MB pages."] + \
        table(["", "MiB", "IPC", "4 KB", "2 MB", "bloat", "L1 TLB", "L2 TLB", "walks, 4 KB", "2 MB"], rows)


def grouped(f, part, title, text):
    out = [f"## {title}", "", text]
    sizes = sorted({what for what, _ in f.mixes(part)}, key=int)
    rows = []
    for n in sizes:
        mixes = f.mixes(part, n)
        rows.append([n, len(mixes)] + [show(average([f.weighted_speedup(part, *m, d) for m in mixes])) for d in COMPARED] +
                    [show(average([f.over(part, *m, "mosaic") for m in mixes])), show(average([f.over(part, *m, "mosaic", "ideal") for m in mixes]))] +
                    [show(average([f.unfairness(part, *m, d) for m in mixes])) for d in COMPARED])
    header = ["applications", "mixes"] + [f"WS, {NAMES[d]}" for d in COMPARED] + ["Mosaic over GPU-MMU", "Mosaic over ideal"] + [f"slowdown, {NAMES[d]}" for d in COMPARED]
    return out + table(header, rows)


def homogeneous(f):
    out = grouped(f, "homogeneous", "Several copies of one application (Fig. 8)",
                  "Weighted speedup (WS): sum over the applications of IPC divided by IPC alone, on as many SMs with GPU-MMU. Each application is relaunched until all "
                  "have completed once; IPC is that of the first run. Slowdown: largest slowdown of any application in a mix, mean over the mixes.")
    copies = sorted({int(what) for what, _ in f.mixes("homogeneous")})
    rows = [[a] + [show(f.over("homogeneous", n, (a,) * n, design)) for design in ("mosaic", "ideal") for n in copies]
            for a in APPLICATIONS if any(mix[0] == a for _, mix in f.mixes("homogeneous"))]
    return out + ["Mosaic and the ideal TLB over GPU-MMU, by number of copies:"] + \
        table([""] + [f"Mosaic, {n}" for n in copies] + [f"ideal, {n}" for n in copies], rows)


def heterogeneous(f):
    out = grouped(f, "heterogeneous", "Mixes of applications (Figs. 9 and 11)",
                  "Random mixes, drawn with a fixed seed, because the paper does not name its mixes. WS and slowdown as above.")
    rows = [["+".join(mix), show(f.weighted_speedup("heterogeneous", n, mix, "gpu_mmu")), show(f.over("heterogeneous", n, mix, "mosaic")),
             show(f.over("heterogeneous", n, mix, "ideal"))] +
            [percent(f.of("heterogeneous", n, mix, d, name)) for d in ("gpu_mmu", "mosaic") for name in ("l1_hit", "l2_hit")]
            for n, mix in f.mixes("heterogeneous")]
    out += ["Each mix (Fig. 10 has 15 mixes of two applications):"] + table(["mix", "WS, GPU-MMU", "Mosaic", "ideal", "L1 TLB, GPU-MMU", "L2", "L1 TLB, Mosaic", "L2"], rows)
    gains = sorted(ratio(a[1], b[1]) or 0 for m in f.mixes("heterogeneous")
                   for a, b in zip(f.shared("heterogeneous", *m, "mosaic"), f.shared("heterogeneous", *m, "gpu_mmu")))
    if gains:
        at = [gains[min(len(gains) - 1, int(q * len(gains)))] for q in (0, 0.1, 0.25, 0.5, 0.75, 0.9)] + [gains[-1]]
        out += ["IPC of each application with Mosaic relative to GPU-MMU: quantiles (Fig. 11):"] + \
            table(["", "minimum", "10%", "25%", "median", "75%", "90%", "maximum"], [[f"{len(gains)} applications"] + [show(v) for v in at]])
    return out


def hit_rates(f):
    rows = []
    for part in ("homogeneous", "heterogeneous"):
        for n in sorted({what for what, _ in f.mixes(part)}, key=int):
            limited = [m for m in f.mixes(part, n) if (f.of(part, *m, "gpu_mmu", "l2_hit") or 1) < 0.98]
            rows.append([f"{part}, {n}", len(limited)] +
                        [percent(average([f.of(part, *m, d, name) for m in limited])) for d in ("gpu_mmu", "mosaic")
                         for name in ("l1_hit", "l2_hit", "l2_hit_or_merged")])
    return ["## TLB hit rates (Fig. 13)", "",
            "Mixes with an L2 TLB hit rate below 98% with GPU-MMU, as in the paper. A look-up that merges with an outstanding walk is a "
            "miss; in the columns \"or merged\" it is a hit. The L1 TLB counts each line of 128 bytes of an access, so a missed page counts once per line."] + \
        table(["mixes", "number", "L1, GPU-MMU", "L2", "L2 or merged", "L1, Mosaic", "L2", "L2 or merged"], rows)


def total_ipc(f, part, what, mix, design, name="ipc"):
    found = f.of(part, what, mix, design)
    return sum(found[name].values()) if found else None


def faults(f):
    out = ["## Demand paging (Fig. 4)", "",
           "Each page is migrated at its first touch: 55 us per fault for 4 KB, 318 us for 2 MB, with the given number of faults in flight (the published code has one; the paper gives no number). IPC of all copies of "
           "an application relative to resident 4 KB pages; and the loss of 2 MB pages vs. 4 KB pages (paper: 92.5% for one application, 98.0% for "
           "two, 99.8% for five). In the paper, 4 KB pages lose 40.0% (one) and 82.3% (five) by paging."]
    rows = []
    for copies in (1, 2, 5):
        for n in IN_FLIGHT:
            base, large, loss = [], [], []
            for a in APPLICATIONS:
                mix = (a,) * copies
                there = total_ipc(f, "faults", f"{copies}, none", mix, "gpu_mmu")
                small, big = (total_ipc(f, "faults", f"{copies}, {n}", mix, d) for d in ("gpu_mmu", "large"))
                base.append(ratio(small, there))
                large.append(ratio(big, there))
                loss.append(None if not small or not big else 1 - big / small)
            if average(base) is not None:
                rows.append([f"{copies}, {n} in flight", percent(average(base)), percent(average(large)), percent(average(loss)),
                             f"{sum(1 for v in loss if v and v > 0)} of {sum(v is not None for v in loss)}"])
    return out + table(["copies", "4 KB", "2 MB", "loss of 2 MB vs. 4 KB", "applications with a loss"], rows)


def launch(f):
    out = ["## Data copied before the launch (Fig. 12)", "",
           "Programs allocate their memory at their start, copy their data to it, and free it at their end. Weighted speedup relative to GPU-MMU with all data "
           "resident. With copies: from an application's first operation to its last; kernels only: the time of its kernels. The paper has Mosaic "
           "58.5% (homogeneous) and 47.5% (heterogeneous) above GPU-MMU without paging, \"where all data required by an application is moved to the GPU memory before the "
           "application starts executing\": \"the data transfer overhead is required regardless\" (section 6.2); its figure corresponds to the last column, with copies in both. The applications "
           "here are smaller: their kernels take less time than the transfer of their data."]
    rows = []
    groups = [("one application" if n == 1 else f"{n} copies of one application", [(a,) * n for a in APPLICATIONS]) for n in range(1, 6)]
    groups += [(f"mixes of {n}", mixes) for n, mixes in drawn().items()]
    for text, mixes in groups:
        if not any(f.of("launch", len(mix), mix, "mosaic") for mix in mixes):
            continue
        cells = []
        for of in ("ipc", "kernel_ipc"):
            for d in ("gpu_mmu", "mosaic"):
                cells.append(show(average([ratio(f.weighted_speedup("launch", len(mix), mix, d, of),
                                                 f.weighted_speedup("launch", f"{len(mix)}, none", mix, "gpu_mmu", of)) for mix in mixes])))
        cells.append(show(average([ratio(f.weighted_speedup("launch", len(mix), mix, "mosaic"), f.weighted_speedup("launch", len(mix), mix, "gpu_mmu")) for mix in mixes])))
        rows.append([text] + cells)
    return out + table(["", "GPU-MMU, with copies", "Mosaic, with copies", "GPU-MMU, kernels only", "Mosaic, kernels only", "Mosaic over GPU-MMU, with copies"], rows)


def splits(f):
    out = ["## SM splits", "",
           f"Weighted speedup of two applications, relative to IPC alone on all {SMS} SMs. Columns: SMs of the first application, in steps of {STEP}; equal shares are "
           f"{SMS // 2}. The oracle selects the best split of a row."]
    rows = []
    for mix in dict.fromkeys(key[1] for key in f.measured.get("splits", {})):
        for d in ("gpu_mmu", "mosaic"):
            found = {first: [ratio(ipc, f.alone(name, SMS)) for name, ipc in zip(mix, (f.of("splits", first, mix, d) or {"ipc": {}})["ipc"].values())]
                     for first in range(STEP, SMS, STEP)}
            speedups = {first: sum(r) for first, r in found.items() if r and None not in r}
            best = max(speedups, key=speedups.get, default=None)
            rows.append(["+".join(mix), NAMES[d]] + [show(speedups.get(first)) for first in found] + [best, show(ratio(speedups.get(best), speedups.get(SMS // 2)))])
    return out + table(["mix", ""] + [str(n) for n in range(STEP, SMS, STEP)] + ["best", "best / equal shares"], rows)


def tlb_sizes(f):
    out = ["## TLB entries (Figs. 14 and 15)", "", "Weighted speedup relative to GPU-MMU with the entries of the paper's Table 1."]
    for key, figure, values in ENTRIES:
        rows = []
        for mix in mixes_of(f, "tlb_sizes"):
            base = f.weighted_speedup("tlb_sizes", f"{key}={DEFAULT[key]}", mix, "gpu_mmu")
            for d in ("gpu_mmu", "mosaic"):
                rows.append(["+".join(mix), NAMES[d]] + [show(ratio(f.weighted_speedup("tlb_sizes", f"{key}={v}", mix, d), base)) for v in values])
        out += [f"`{key}` ({figure}):"] + table(["", ""] + [str(v) for v in values], rows)
    return out


def mixes_of(f, part):
    """Mixes of a part, in the order of its runs."""
    return list(dict.fromkeys(key[1] for key in f.measured.get(part, {})))


def compacted(f, text, whats, designs):
    """Weighted speedup of each design divided by that without CAC, mean over the mixes, with the counters of compaction."""
    rows = []
    for shown, what in whats:
        cells = []
        for d in designs:
            cells.append(show(average([ratio(f.weighted_speedup("fragmentation", what, mix, d), f.weighted_speedup("fragmentation", what, mix, "no_cac"))
                                       for mix in mixes_of(f, "fragmentation")])))
        found = [f.of("fragmentation", what, mix, "mosaic") for mix in mixes_of(f, "fragmentation")]
        found = [m for m in found if m]
        cells += [show(average([m["coalesced"] for m in found]), 1), show(average([m["emptied"] for m in found]), 1),
                  show(average([m["moved_pages"] for m in found]), 0)]
        rows.append([shown] + cells)
    header = [text] + [NAMES[d] if d != "mosaic" else "CAC" for d in designs] + ["large pages, CAC", "large frames emptied", "pages moved"]
    return table(header, rows)


def fragmentation(f):
    mixes = ", ".join("+".join(mix) for mix in mixes_of(f, "fragmentation"))
    out = ["## Fragmented memory (Fig. 16)", "",
           f"Means over {mixes}. Programs allocate their memory at their start. The ratio of memory to data is the paper's, for its average "
           "application. Weighted speedup relative to no compaction (no CAC). GPU-MMU has only base pages. CAC without stalls: "
           "SMs continue, and only accesses to moving pages stall.", "", "By fragmentation index, at an occupancy of 50% (Fig. 16a):"]
    out += compacted(f, "index", [(percent(i, 0), f"index={i}") for i in INDEX], COMPACTING[1:] + ["gpu_mmu"])
    out += ["By occupancy, at an index of 100% (Fig. 16b):"]
    out += compacted(f, "occupancy", [(percent(o, 0), f"occupancy={o}") for o in OCCUPANCY], COMPACTING[1:] + ["cac_no_stall", "gpu_mmu"])
    return out + bloat_by_occupancy(f) + of_compaction(f)


def migrating(f):
    rows = []
    for a in APPLICATIONS:
        found = f.of("migrating", 2, (a,) * 2, "migrating")
        if found:
            rows.append([a] + [show(f.over("migrating", 2, (a,) * 2, d)) for d in ("migrating", "mosaic")] +
                        [found["coalesced"], found["moved_pages"], f.of("migrating", 2, (a,) * 2, "mosaic", "coalesced")])
    rows.append(["mean"] + [show(average([f.over("migrating", 2, (a,) * 2, d) for a in APPLICATIONS])) for d in ("migrating", "mosaic")] + ["", "", ""])
    return ["## Coalescing with and without moving pages (section 4.3)", "",
            "Two copies of one application, which allocate their memory at their start: weighted speedup relative to GPU-MMU. The migrating coalescer allocates frames on demand, like "
            "GPU-MMU, moves base pages to a large frame, and stalls all SMs during the move; Mosaic coalesces in place."] + \
        table(["", "migrating coalescer", "Mosaic", "large pages, migrating", "pages moved", "large pages, Mosaic"], rows)


DEFAULT = {"gpu.l1_tlb.entries": 128, "gpu.l2_tlb.entries": 512, "gpu.l1_tlb.by_page_size.large_entries": 16,
           "gpu.l2_tlb.by_page_size.large_entries": 256}


def sensitivity(f):
    rows = []
    for key, default, values in [("as it is", "", [""])] + ASSUMED:
        for value in values:
            what = "as it is" if key == "as it is" else f"{key}={value}"
            cells = []
            for mix in mixes_of(f, "sensitivity"):
                cells += [show(f.over("sensitivity", what, mix, "mosaic")), show(f.over("sensitivity", what, mix, "ideal"))]
            rows.append([f"`{key}`" if default else "preset", default, str(value).lower()] + cells)
    header = ["parameter", "preset", "value"] + [f"{'+'.join(mix)}, {NAMES[d]}" for mix in mixes_of(f, "sensitivity") for d in ("mosaic", "ideal")]
    return ["## Assumed parameters", "", "Weighted speedup over GPU-MMU with the same value; the applications alone keep the preset's value. All data is resident from the start."] + table(header, rows)


SECTIONS = {"page_sizes": [page_sizes], "homogeneous": [homogeneous], "heterogeneous": [heterogeneous], "faults": [faults], "launch": [launch],
            "splits": [splits], "tlb_sizes": [tlb_sizes], "fragmentation": [fragmentation],
            "migrating": [migrating], "sensitivity": [sensitivity]}


def write(folder, measured, made):
    folder.mkdir(parents=True, exist_ok=True)
    f = Figures(measured)
    listed = [{"part": part, "what": key[0], "mix": "+".join(key[1]), "design": key[2]} | m for part, found in measured.items() for key, m in found.items()]
    records.write(folder, about=made, averages=averages(f), rows=listed)
    lines = ["# Mosaic: the paper and Farfault", "", f"Written by `run`; do not edit. {sentence(made)} {PAPER['source']}", "",
             "The 27 applications have the sizes of docs/reference/applications.md; the preset is `paper-mosaic`.", ""]
    discussion = FOLDER / "discussion.md"
    if discussion.exists() and Path(folder).resolve() == FOLDER:
        lines += [discussion.read_text().strip(), ""]
    lines += overview(f)
    for name, functions in SECTIONS.items():
        if measured.get(name):
            for function in functions:
                lines += function(f)
    if measured.get("homogeneous") or measured.get("heterogeneous"):
        lines += hit_rates(f)
    lines += ["", "The first half of each digest is in results.json.xz."]
    (folder / "results.md").write_text("\n".join(lines).rstrip() + "\n")
