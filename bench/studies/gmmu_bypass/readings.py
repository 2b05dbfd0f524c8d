# SPDX-License-Identifier: Apache-2.0
"""Readings of details that the paper leaves open: each reading on all workloads, and sentences about the results."""
from dataclasses import dataclass

import figures
import grid
import local_share
import noise
from figures import PAPER, agreeing, gain
from study import DESIGNS, MAIN, PLACEMENTS, WORKLOADS, figure_run, show_bytes
from variations import footprint, machine, scaled_tlb, simulation, sizes_said

PLACED = {"first_touch": "first-touch pages", "recorded": "recorded first-touch pages",
          "interleave": "interleaved pages", "contiguous": "buffers in equal parts"}
ALL, OWN, ALONE, FIRST = tuple(PLACEMENTS), ("recorded", "first_touch"), ("recorded",), ("first_touch",)
PRESET = "preset"
# Statements of figures.claims that are tested with each reading, and their column headings.
STATEMENTS = {"distributed beats centralized for MT, FFT, KM, ST": "Fig. 3: distributed ahead for MT, FFT, KM, ST",
              "centralized beats distributed for RL, FIR, MP": "Fig. 3: centralized ahead for RL, FIR, MP",
              "bypass beats distributed for RL, FIR, MP": "Fig. 5: bypass ahead for RL, FIR, MP",
              "bypass is similar or slightly better for the others": "Fig. 5: bypass not behind for the others"}


@dataclass
class Reading:
    words: str         # "walks of 100 cycles"
    source: str        # sentence of the paper, or program
    settings: object   # key -> TOML text, or a function of workload and scale that returns it
    placements: tuple = OWN
    pages: dict = None  # settings of the run that records the pages; None: the reading's settings


def walks(cycles):
    return {"gpu.gmmu.walk_latency": cycles, "iommu.walk_latency": cycles}


def and_scaled_tlb(settings):
    return lambda workload, scale: {**scaled_tlb(workload, scale), **settings}


def of_one(workload, settings):
    """Settings, or a function of the footprint that returns them, for one workload. The others use the preset's."""
    def of(name, scale):
        if name != workload:
            return {}
        return settings(footprint(workload, scale)) if callable(settings) else settings
    return of


def uniform_graph(memory):
    """A uniformly random graph of `memory` bytes. The number of vertices is the largest power of two whose graph of MGPUSim's sparsity,
    0.001, fits; additional edges fill the rest."""
    key, scale = "workload.pagerank.rmat.", 1
    while 8 * 4 ** (scale + 1) / 1000 <= memory:
        scale += 1
    edges = max(1, round((memory / 2 ** scale - 12) / 8))
    return {key + "scale": scale, key + "edge_factor": edges} | {key + p: 0.25 for p in "abc"}


def readings(machines):
    """All readings. `machines`: folder for machine files of readings."""
    driver = {"memory.first_touch_by": '"driver"'}
    many = {"iommu.walkers": 64}
    scaled = "L2 TLB scaled to the footprint"
    table, mgpusim, touch = "Table 1", "MGPUSim of August 2020", "\"CPU migrates the page to the GPU that demands it first\" (2.2)"
    walker, share = "\"8 Page Table Walkers\" (Table 1)", "\"8 set, 32-ways\" (Table 1) for \"64M\" (Table 2)"
    links = [Reading(f"links of {n} GB/s", f"\"16 GB/s PCIe-v3\" (Table 1); PCIe {version}.0 x16", machine(machines / f"link-{n}.toml", bandwidth=n), ALONE) for n, version in ((32, 4), (64, 5), (128, 6))]
    return [
        Reading(PRESET, f"{table}; otherwise {mgpusim}", {}, ALL),
        *links,
        Reading(grid.words(grid.ROOM), "cell of the grid below with headroom: widest links, longest GMMU walks, spare IOMMU capacity", grid.settings(grid.ROOM, machines), OWN, pages={}),
        Reading("L1 TLBs and caches of MGPUSim 4.2", "shaderarray/builder.go: 64 MSHRs per TLB, 128 per cache, 1 cycle",
                {"gpu.l1_tlb.mshrs": 64, "gpu.l1_cache.mshrs": 128, "gpu.l1_cache.latency": 1, "gpu.scalar_cache.mshrs": 32,
                 "gpu.scalar_cache.tlb_mshrs": 16}),
        Reading("MGPUSim before 18 June 2020", "gpubuilder/r9nano.go of 29 April 2020: L1 caches with a bank latency of 0 (minimum here: 1) and 16 MSHRs; no number "
                "of TLB MSHRs, so the preset's is used", {"gpu.l1_cache.latency": 1}, ALONE),
        Reading("L2 slices interleaved by 128 B", "MGPUSim since 7 September 2020: platform/r9nano.go, WithLog2MemoryBankInterleavingSize(7)",
                {"gpu.l2_cache.interleave": '"128 B"'}, ALONE),
        Reading("L2 slices interleaved by 256 B", "Farfault's default, assumed", {"gpu.l2_cache.interleave": '"256 B"'}, ALONE),
        Reading("one scalar cache per four CUs, TLBs of 64 entries", f"{mgpusim}: shader arrays of 4 CUs", {"gpu.scalar_cache.sms": 4, "gpu.scalar_cache.tlb_entries": 64}, ALONE),
        Reading("second PCIe switch below the first", f"{mgpusim}: platform/r9nano.go, AddSwitch(lastSwitchID)", machine(machines / "chained.toml", chained=True), ALONE),
        Reading("kernel completion 1,600 cycles after the last block", f"{mgpusim}: constantKernelOverhead, and PCIe in each direction instead of 5,400 and 1,000 ns",
                {"host.launch_latency": '"280 ns"', "host.done_latency": '"1880 ns"'}, ALONE),
        Reading("all pages initially on GPU 0, with migration", f"{mgpusim}: `-use-unified-memory`; \"Page migration\" (2.2)", {"memory.remote_touch": '"migrate"'}, ALONE,
                pages=machine(machines / "one-gpu.toml", gpus=1)),
        Reading("MP with windows of 2 x 2, stride 2, planes of 128 x 128", "assumed; the preset's are MGPUSim's",
                of_one("maxpool", {f"workload.maxpool.{k}": v for k, v in {"window": 2, "stride": 2, "height": 128, "width": 128}.items()}), ALONE),
        Reading("PR on a uniform random graph", f"{mgpusim}: benchmarks/matrix/csr, uniform, sparsity 0.001", of_one("pagerank", uniform_graph), ALONE),
        Reading("FFT with 2,304 B of shared memory", "SHOC's kernel; the study's 4,608 B are MGPUSim's", of_one("fft", {"gpu.sm.shared_bytes": 65536}), ALONE),
        Reading("walks of 1 cycle", f"{mgpusim}: no walk latency", walks(1)),
        Reading("walks of 100 cycles", "MGPUSim since January 2021", walks(100)),
        Reading("walks of 500 cycles", "TLB compression (PACT 2020): \"500-cycle latency\"", walks(500), ALL),
        Reading("GMMU walks of 500 cycles", "TLB compression (PACT 2020)", {"gpu.gmmu.walk_latency": 500}, ALONE),
        Reading("64 IOMMU walkers", f"instead of {walker}", many, ALL),
        Reading("64 IOMMU walkers, walks of 100 cycles", f"instead of {walker}; MGPUSim since January 2021", {**many, **walks(100)}, ALONE),
        Reading("64 IOMMU walkers, walks of 500 cycles", f"instead of {walker}; TLB compression", {**many, **walks(500)}, ALONE),
        Reading("page-walk caches of 64 entries", "\"page walk cache are essential components\" (7.1, of [12])",
                {"gpu.gmmu.walk_cache": 64, "iommu.walk_cache": 64}, ALONE),
        Reading("requests merged in the IOMMU", f"unlike {mgpusim}", {"iommu.merge": "true"}),
        Reading(scaled, share, and_scaled_tlb({})),
        Reading(scaled + ", walks of 100 cycles", share, and_scaled_tlb(walks(100)), ALONE),
        Reading(scaled + ", 64 IOMMU walkers", share, and_scaled_tlb(many), ALONE),
        Reading("L2 TLB of 4096 entries", f"{mgpusim}, gpubuilder/r9nano.go: 64 sets of 64 ways",
                {"gpu.l2_tlb.entries": 4096, "gpu.l2_tlb.ways": 64}, ALONE),
        Reading("link buffers of 64 KiB", "not stated in the paper", {"fabric.buffer": '"64 KiB"'}, ALONE),
        Reading("contiguous blocks", "MGPUSim since March 2021", {"host.block_order": '"contiguous"'}),
        Reading("contiguous blocks per CU", "later versions of MGPUSim", {"host.block_order": '"contiguous_per_sm"'}, ALONE),
        Reading("driver with 0.1 us per first touch", touch, {**driver, "driver.fault_latency": '"100 ns"'}, FIRST),
        Reading("driver with 1 us per first touch", touch, {**driver, "driver.fault_latency": '"1 us"'}, FIRST),
        Reading("driver with 0.1 us per first touch, 2 us from the IOMMU", touch,
                {**driver, "driver.fault_latency": '"100 ns"', "driver.notify_latency": '"2 us"'}, FIRST),
        Reading("pages copied from the CPU at their first touch", touch, {"memory.first_touch_copy": "true"}, FIRST),
    ]


class Found:
    """The readings' runs. After read(): measures, means and medians over the workloads, and verdicts on the paper's statements."""

    def __init__(self, workloads, placements, scale, out, footprint, quick=False):
        """`footprint`: that of the study. With recorded pages, ROOM's links and walks are also a reading at this footprint."""
        self.scale, self.workloads, self.footprint = scale, workloads, footprint
        self.placements = [p for p in PLACEMENTS if p in placements]
        base = out / "readings"
        self.readings = readings(base / "machines")

        def run(reading, workload, design, placement):
            source = None if reading.pages is None else simulation(workload, "distributed", "first_touch", scale, reading.pages, base)
            return simulation(workload, design, placement, scale, reading.settings, base, source=source)

        self.runs = {(r.words, p): {w: {d: run(r, w, d, p) for d in DESIGNS} for w in workloads}
                     for r in self.readings for p in r.placements if p in placements}
        if "recorded" in placements:
            self.large = Reading(f"{grid.words(grid.ROOM)}, {show_bytes(footprint)}", "\"64M\" (Table 2); links and walks as in the row above",
                                 grid.settings(grid.ROOM, base / "machines"), ALONE)
            at = next(i for i, r in enumerate(self.readings) if r.words == grid.words(grid.ROOM)) + 1
            self.readings.insert(at, self.large)
            self.runs[self.large.words, "recorded"] = {
                w: {d: figure_run(w, d, "recorded", footprint, self.large.settings, "room, ") for d in DESIGNS} for w in workloads}
        self.noise = noise.Noise(workloads, self.placements, scale, base, quick)

    def all_runs(self):
        return [run for by_workload in self.runs.values() for designs in by_workload.values() for run in designs.values()] + \
            self.noise.all_runs()

    def read(self, results):
        self.measured, self.means, self.medians, self.holds = {}, {}, {}, {}
        for key, by_workload in self.runs.items():
            self.measured[key] = {w: {d: m for d, m in ((d, results.of(r)) for d, r in designs.items()) if m}
                                  for w, designs in by_workload.items()}
            s = figures.series(self.measured[key])
            self.means[key] = {name: figures.mean(values.values()) for name, values in s.items()}
            self.medians[key] = {name: figures.median(values.values()) for name, values in s.items()}
            self.holds[key] = {text: verdict for _, _, text, _, verdict in figures.claims(self.measured[key]) if text in STATEMENTS}
        self.noise.read(results)


def name(key):
    return f"{PLACED[key[1]]}, {key[0]}" if key[0] != PRESET else PLACED[key[1]]


def listed(keys, values, most=3):
    shown = [f"{name(k)} ({gain(values[k])})" for k in keys[:most]]
    rest = len(keys) - len(shown)
    return "; ".join(shown) + (f"; and {rest} more in the table below" if rest else "")


def groups(values, noises):
    """Readings grouped by bypass over distributed: (beginning of a sentence, word for the table, readings)."""
    low, high = agreeing(PAPER["averages"]["bypass_over_distributed"]["value"])
    down = sorted(values, key=values.get, reverse=True)
    same = [k for k in down if abs(values[k] - 1) <= noises.get(k[1], noise.LEAST)]
    rest = [k for k in down if k not in same]
    return [
        (f"The paper's gain over distributed, within half and twice its size ({gain(low)} to {gain(high)}) and above the noise, is reproduced by",
         "as in the paper", [k for k in rest if low <= values[k] <= high]),
        ("Bypass has a larger gain in", "larger gain", [k for k in rest if values[k] > high]),
        (f"It has a gain below {gain(low)}, but above the noise, in", "smaller gain", [k for k in rest if 1 < values[k] < low]),
        ("The gain is within the noise in", "no difference", same),
        ("Bypass is behind distributed in", "loss", [k for k in reversed(rest) if values[k] < 1]),
    ]


def of_series(found, series):
    return {k: m[series] for k, m in found.means.items() if m.get(series) is not None}


def first_paragraph(found, results, footprint, both=""):
    """Text about the readings that reproduce the paper's result and the ones that do not. A second paragraph has the noise and further
    results. `both`: a sentence on both averages at once."""
    values = of_series(found, "bypass_over_distributed")
    if not values:
        return "No reading of the paper has been measured."
    stated = {name: entry["value"] for name, entry in PAPER["averages"].items()}
    text = [f"**Readings that reproduce the paper's result.** In the paper GMMU bypass is ahead of distributed by "
            f"{gain(stated['bypass_over_distributed'])} and of centralized by {gain(stated['bypass_over_centralized'])}, on average over its "
            "nine workloads; distributed is behind centralized for RL, FIR and MP, where bypass gains, and ahead for MT, FFT, KM "
            f"and ST. {at_full_size(results, found, footprint, stated)} In addition, {len(values)} readings of the paper are compared at smaller "
            "footprints (below): the preset with each page placement, and with changes of one or two details that the paper leaves open "
            "or states (eight IOMMU walkers, an L2 TLB of 256 entries)."]
    for number, (sentence, _, keys) in enumerate(groups(values, found.noise.mean)):
        if keys:
            text.append(f"{sentence} {len(keys)}: {listed(keys, values, 3 if number else 8)}.")
        elif number == 0:
            text.append(f"{sentence} none of them.")
    text += [whole(found, values), both]
    more = [noise.said(found.noise), main_reading(results), steps(values),
            over_centralized(found, stated["bypass_over_centralized"])]
    return " ".join(t for t in text if t) + "\n\n" + " ".join(t for t in more if t)


def at_full_size(results, found, footprint, stated):
    """Sentence: results of the preset's reading at the study's footprint, with first-touch and with recorded pages."""
    said = []
    for p in OWN:
        runs = results.get(p)
        s = figures.series(runs) if runs else {}
        over = {name: figures.mean(s[name].values()) if s else None for name in
                ("bypass_over_distributed", "bypass_over_centralized", "oracle_over_distributed")}
        if over["bypass_over_distributed"] is None or over["bypass_over_centralized"] is None:
            continue
        low, high = agreeing(stated["bypass_over_centralized"])
        ahead, behind = over["bypass_over_distributed"], over["bypass_over_centralized"]
        verdict = ("no difference" if abs(ahead - 1) <= found.noise.mean.get(p, noise.LEAST) else
                   "as in the paper" if agreeing(stated["bypass_over_distributed"])[0] <= ahead <= agreeing(stated["bypass_over_distributed"])[1] else
                   "less than the paper's gain" if ahead > 1 else "a loss, unlike the paper")
        others = f"median {gain(figures.median(s['bypass_over_distributed'].values()))}, ideal {show(over['oracle_over_distributed'])}"
        said.append(f"with {PLACED[p]} bypass over distributed is {gain(ahead)} ({verdict}; {others}), over centralized {gain(behind)} "
                    f"({'' if low <= behind <= high else 'not '}within half and twice the paper's)")
    return f"With the preset's reading and {footprint} per workload: {'; '.join(said)}." if said else ""


def main_reading(results):
    """Sentence: separation of the paper's groups by the local share of walks."""
    main = results.get(MAIN, {})
    return local_share.sentence(local_share.shares(main), f"{PLACED[MAIN]} and round-robin blocks") if main else ""


def over_centralized(found, stated):
    values = of_series(found, "bypass_over_centralized")
    if not values:
        return ""
    low, high = agreeing(stated)
    near = sorted((k for k in values if low <= values[k] <= high), key=lambda k: abs(values[k] - stated))
    span = f"the readings have {gain(min(values.values()))} to {gain(max(values.values()))}"
    if not near:
        return f"Over centralized the paper has {gain(stated)}; {span}, none within half and twice this value."
    return f"Over centralized the paper has {gain(stated)}; {span}, {len(near)} within half and twice this value: {listed(near, values, 4)}."


def whole(found, values):
    """Sentence: readings with both averages and all winners of Figs. 3 and 5; if there are none, readings with most winners."""
    winners = {k: sum(v is True for v in holds.values()) for k, holds in found.holds.items() if k in values}
    near = dict.fromkeys(groups(values, found.noise.mean)[0][2])
    low, high = agreeing(PAPER["averages"]["bypass_over_centralized"]["value"])
    all_of_it = [k for k in near if winners.get(k) == len(STATEMENTS) and low <= (found.means[k]["bypass_over_centralized"] or 0) <= high]
    if all_of_it:
        return f"Both averages and the winners of Figs. 3 and 5 are reproduced together by {len(all_of_it)}: {listed(all_of_it, values)}."
    most = max(winners.values(), default=0)
    best = [k for k in winners if winners[k] == most]
    return (f"No reading reproduces both averages and the winners of Figs. 3 and 5. At most {most} of the four statements about winners hold, if noise is ignored" +
            (f", in {listed(best, values, 4)}." if most else "."))


def steps(values):
    """Sentence: the readings that change the average most, relative to the preset's with the main placement."""
    start = (PRESET, MAIN)
    if start not in values:
        return ""
    moved = sorted((k for k in values if k[1] == start[1] and k != start), key=lambda k: abs(values[k] - values[start]), reverse=True)
    said = ", ".join(f"{k[0]} ({(values[k] - values[start]) * 100:+.1f} points)" for k in moved[:3])
    return f"At the readings' footprints bypass over distributed is {gain(values[start])} with {PLACED[MAIN]}; the largest changes are due to: {said}." if said else ""


def rows(found):
    """Rows of results.json.xz: each reading's means and medians."""
    shown = [*grid.COLUMNS]
    return [figures.row("reading", placement, kind, f"{words}: {series}", figures.SERIES[series][1], values[words, placement][series],
                        PAPER["averages"].get(series, {}).get("value") if kind == "average" else None)
            for kind, values in (("average", found.means), ("median", found.medians)) for words, placement in values for series in shown] + \
        [figures.row("noise", p, "average", "bypass_over_distributed", "two standard deviations", m, None)
         for p, m in found.noise.mean.items()]


def section(found):
    lines = ["", "## Readings of the paper", "",
             f"One change from the preset at a time, or two or three if named; means over the workloads, and medians. {sizes_said(found.scale)} "
             f"If ideal is less than {figures.HEADROOM * 100:g}% ahead of distributed, the table has \"no headroom\" "
             "instead of a gain."]
    values = of_series(found, "bypass_over_distributed")
    verdicts = {k: word for _, word, keys in groups(values, found.noise.mean) for k in keys}
    words = {True: "yes", False: "no", None: "-"}
    header = ["reading", "quotation or source", "gain vs. the paper"]
    for name, with_median in grid.COLUMNS.items():
        header += [figures.SERIES[name][2]] + (["median"] if with_median else [])
    header += STATEMENTS.values()
    paper = ["paper", "", "", *grid.cells({n: figures.paper(n) for n in grid.COLUMNS}, {}), *["yes"] * len(STATEMENTS)]
    for p in found.placements:
        lines += ["", f"### With {PLACED[p]} (`{p}`)", "", "| " + " | ".join(header) + " |",
                  "| --- | --- | --- |" + " ---: |" * (len(header) - 3 - len(STATEMENTS)) + " --- |" * len(STATEMENTS),
                  "| " + " | ".join(paper) + " |"]
        for r in found.readings:
            key = r.words, p
            if key in found.means:
                cells = [r.words, r.source, verdicts.get(key, ""), *grid.cells(found.means[key], found.medians[key])]
                lines.append("| " + " | ".join(cells + [words[found.holds[key].get(s)] for s in STATEMENTS]) + " |")
    return lines + by_workload(found) + noise.section(found.noise)


def by_workload(found):
    """Table: bypass and ideal of each workload, for the preset and for the reading with headroom at both footprints."""
    room = grid.words(grid.ROOM)
    keys = [k for k in ((PRESET, MAIN), (room, MAIN), (f"{room}, {show_bytes(found.footprint)}", MAIN)) if k in found.means]
    if not keys:
        return []
    lines = ["", "### Each workload", "", f"With {PLACED[MAIN]}: bypass over distributed, and ideal over distributed.", "",
             "| | " + " | ".join(f"{k[0]}: bypass | ideal" for k in keys) + " |", "| --- |" + " ---: |" * (2 * len(keys))]
    names = "bypass_over_distributed", "oracle_over_distributed"
    s = [figures.series(found.measured[k]) for k in keys]
    for w in found.workloads:
        lines.append(f"| {WORKLOADS[w]} | " + " | ".join(show(of[n].get(w)) for of in s for n in names) + " |")
    for kind, values in (("mean", found.means), ("median", found.medians)):
        lines.append(f"| {kind} | " + " | ".join(show(values[k][n]) for k in keys for n in names) + " |")
    return lines


def show(value):
    return "-" if value is None else gain(value)
