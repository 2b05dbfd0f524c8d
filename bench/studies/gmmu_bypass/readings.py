"""What the paper leaves open, read one way or another: each reading on all workloads, and what comes of it in words."""
from dataclasses import dataclass

import figures
from figures import PAPER, gain
from measure import measure
from study import FULL, PLACEMENTS, Runner, complete, show_bytes
from variations import simulation

DESIGNS = ["distributed", "centralized", "gmmu_bypass"]
PLACED = {"first_touch": "pages at their first touch", "recorded": "pages as a first-touch run recorded them",
          "interleave": "pages in turn", "contiguous": "each buffer in equal parts"}


@dataclass
class Reading:
    words: str      # "walks of 100 cycles"
    settings: dict  # key -> TOML text
    placements: tuple = tuple(PLACEMENTS)


def walks(cycles):
    return {"gpu.gmmu.walk_latency": cycles, "iommu.walk_latency": cycles}


def tlb(footprint):
    """The L2 TLB that has the share of this footprint that the paper's has of 64 MiB."""
    entries = max(4, 256 * footprint // FULL)
    return {"gpu.l2_tlb.entries": entries, "gpu.l2_tlb.ways": min(32, entries)}


def readings(footprint):
    first = ("first_touch",)
    driver = {"memory.first_touch_by": '"driver"'}
    small = tlb(footprint)
    return [
        Reading("as the preset", {}),
        Reading("walks of 1 cycle", walks(1)),
        Reading("walks of 100 cycles", walks(100)),
        Reading("walks of 500 cycles", walks(500)),
        Reading("walks of 500 cycles in the GMMUs alone", {"gpu.gmmu.walk_latency": 500}),
        Reading("64 walkers in the IOMMU", {"iommu.walkers": 64}),
        Reading("64 walkers in the IOMMU, walks of 100 cycles", {"iommu.walkers": 64, **walks(100)}),
        Reading("64 walkers in the IOMMU, walks of 500 cycles", {"iommu.walkers": 64, **walks(500)}),
        Reading("page-walk caches of 64 entries", {"gpu.gmmu.walk_cache": 64, "iommu.walk_cache": 64}),
        Reading("requests merged in the IOMMU", {"iommu.merge": "true"}),
        Reading(f"an L2 TLB of {small['gpu.l2_tlb.entries']} entries, for the footprint what 256 are for 64 MiB", small),
        Reading("an L2 TLB of 4096 entries, as MGPUSim's", {"gpu.l2_tlb.entries": 4096, "gpu.l2_tlb.ways": 64}),
        Reading("blocks in equal runs", {"host.block_order": '"contiguous"'}),
        Reading("blocks in runs for each CU", {"host.block_order": '"contiguous_per_sm"'}),
        Reading("a driver that takes 0.1 us for each first touch", {**driver, "driver.fault_latency": '"100 ns"'}, first),
        Reading("a driver that takes 1 us for each first touch", {**driver, "driver.fault_latency": '"1 us"'}, first),
        Reading("pages copied from the CPU at their first touch", {"memory.first_touch_copy": "true"}, first),
    ]


class Found:
    """Means over the workloads, by reading and placement, of what is there."""

    def __init__(self, footprint, workloads, placements, out):
        self.footprint, self.readings = footprint, readings(footprint)
        base = out / "readings"
        self.runs = {(r.words, p): {w: {d: simulation(w, d, p, footprint, r.settings, base) for d in DESIGNS} for w in workloads}
                     for r in self.readings for p in r.placements if p in placements}

    def all_runs(self):
        return [run for by_workload in self.runs.values() for designs in by_workload.values() for run in designs.values()]

    def read(self):
        """{(reading, placement): {series: mean}}"""
        self.means = {}
        for key, by_workload in self.runs.items():
            measured = {w: {d: measure(r.output) for d, r in designs.items() if complete(r.output)}
                        for w, designs in by_workload.items()}
            s = figures.series(measured)
            self.means[key] = {name: figures.mean(values.values()) for name, values in s.items()}


def run(args, program, workloads, placements, footprint, out):
    """Runs what is needed; returns what was found, and the failures."""
    found = Found(footprint, workloads, placements, out)
    failures = [] if args.table_only else Runner(program, args.jobs).run(found.all_runs())
    found.read()
    return found, failures


def name(key):
    return f"{PLACED[key[1]]}, {key[0]}" if key[0] != "as the preset" else PLACED[key[1]]


def listed(keys, values, most=8):
    shown = [f"{name(k)} ({gain(values[k])})" for k in keys[:most]]
    rest = len(keys) - len(shown)
    return "; ".join(shown) + (f"; and {rest} more in the table below" if rest else "")


def groups(values):
    """The readings by what they say of bypass over distributed: (beginning of a sentence, readings), clearest first."""
    paper = PAPER["averages"]["bypass_over_distributed"]["value"]
    low, high = 1 + (paper - 1) / figures.SIZE, 1 + (paper - 1) * figures.SIZE
    down = sorted(values, key=values.get, reverse=True)
    near = 1 + figures.TIE
    return [
        (f"The paper's gain, within half and twice its size ({gain(low)} to {gain(high)}), comes of",
         [k for k in down if low <= values[k] <= high]),
        ("Bypass is further ahead in", [k for k in down if values[k] > high]),
        (f"It is ahead by less than {gain(low)} in", [k for k in down if near < values[k] < low]),
        (f"It is within {figures.TIE * 100:g} % of distributed in", [k for k in down if 2 - near <= values[k] <= near]),
        ("It is behind distributed in", [k for k in reversed(down) if values[k] < 2 - near]),
    ]


def first_paragraph(found, results, footprint):
    """Which readings give the paper's result and which do not, in words, from the measured means."""
    values = {k: m["bypass_over_distributed"] for k, m in found.means.items() if m["bypass_over_distributed"] is not None}
    if not values:
        return "No reading of the paper has been measured."
    paper = PAPER["averages"]["bypass_over_distributed"]["value"]
    text = [f"**Which readings of the paper give its result.** The paper has GMMU bypass ahead of distributed by {gain(paper)}, on average "
            f"over its nine workloads. It is read here in {len(values)} ways, each a placement of pages and one thing that the paper "
            f"leaves open, with {show_bytes(found.footprint)} for each workload."]
    for number, (sentence, keys) in enumerate(groups(values)):
        if keys:
            text.append(f"{sentence} {len(keys)}: {listed(keys, values)}.")
        elif number == 0:
            text.append(f"{sentence} none of them.")
    main = results.get(PLACEMENTS[0], {})
    mean = figures.mean(figures.series(main)["bypass_over_distributed"].values()) if main else None
    if mean is not None:
        text.append(f"Read as the preset does, with {PLACED[PLACEMENTS[0]]}, bypass over distributed is {gain(mean)} with {show_bytes(footprint)}.")
    text.append(steps(values).format(size=show_bytes(found.footprint)))
    centralized = {k: m["bypass_over_centralized"] for k, m in found.means.items() if m["bypass_over_centralized"] is not None}
    if centralized:
        stated = PAPER["averages"]["bypass_over_centralized"]["value"]
        near = sorted(centralized, key=lambda k: abs(centralized[k] - stated))
        text.append(f"Over centralized the paper has {gain(stated)}, the readings have {gain(min(centralized.values()))} "
                    f"to {gain(max(centralized.values()))}; nearest are {listed(near[:3], centralized)}.")
    return " ".join(t for t in text if t)


def steps(values):
    """What moves the average most, from the preset's reading of the main placement."""
    start = ("as the preset", PLACEMENTS[0])
    if start not in values:
        return ""
    moved = sorted((k for k in values if k[1] == start[1] and k != start), key=lambda k: abs(values[k] - values[start]), reverse=True)
    said = ", ".join(f"{k[0]} ({(values[k] - values[start]) * 100:+.1f} points)" for k in moved[:3])
    return f"From that reading, {gain(values[start])} with {{size}}, what moves it most is: {said}." if said else ""


def rows(found):
    """For results.json: each reading's means."""
    return [figures.row("reading", placement, "average", f"{words}: {series}", "ratio", found.means[words, placement][series],
                        PAPER["averages"][series]["value"])
            for words, placement in found.means for series in ("bypass_over_distributed", "bypass_over_centralized")]


def section(found):
    placements = [p for p in PLACEMENTS if any(k[1] == p for k in found.means)]
    lines = ["", "## Readings of the paper", "",
             f"{show_bytes(found.footprint)} for each workload, one change from the preset at a time; means over the workloads. "
             "First bypass over distributed, then bypass over centralized.", "",
             "| reading | " + " | ".join(f"{p}: over distributed | over centralized" for p in placements) + " |",
             "| --- | " + "---: | " * (2 * len(placements))]
    for r in found.readings:
        cells = []
        for p in placements:
            m = found.means.get((r.words, p), {})
            cells += [show(m.get("bypass_over_distributed")), show(m.get("bypass_over_centralized"))]
        lines.append(f"| {r.words} | " + " | ".join(cells) + " |")
    return lines


def show(value):
    return "" if value is None else gain(value)
