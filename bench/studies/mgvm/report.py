# SPDX-License-Identifier: Apache-2.0
"""results.md: measured and published figures; results.json.xz: every figure of every run."""
import json
import math
from pathlib import Path

import records
from parts import BASE_LATENCY, LATENCIES, MORE_WALKERS
from provenance import sentence
from study import ABSENT, ALIGNMENT, BASE, CHIPLETS, DESIGNS, FIRST_ADDRESS, FOLDER, LINK, NAMES, OTHER_DIVISION, PAGE, PRESET, PROGRAMS, ROOT
from tables import average, percent, ratio, show, table

PAPER = json.loads((FOLDER / "paper.json").read_text())
OTHERS = [d for d in DESIGNS if d != BASE]


def mean(values):
    """Geometric mean of ratios; None: a ratio is missing."""
    return None if not values or None in values else math.exp(sum(map(math.log, values)) / len(values))


def home_share(buffers, hsl_mib):
    """Share of pages whose L2 TLB, by the HSL, is in the chiplet of their data. `buffers`: pages of each, by address."""
    block, address, at_home = hsl_mib << 20, FIRST_ADDRESS, 0
    for pages in buffers:
        part = -(-pages // CHIPLETS)
        at_home += sum((address + i * PAGE) // block % CHIPLETS == i // part for i in range(pages))
        address += -(-pages * PAGE // ALIGNMENT) * ALIGNMENT
    return ratio(at_home, sum(buffers))


class Figures:
    """Figures of the tables, from {(latency, program, design): measures} by part."""

    def __init__(self, measured):
        self.measured = measured
        self.programs = self.of_part("designs")

    def of_part(self, part):
        return [p for p in PROGRAMS if any(key[1] == p for key in self.measured.get(part, {}))]

    def of(self, program, design, name="kernel_us", latency=BASE_LATENCY, part="designs"):
        found = self.measured.get(part, {}).get((latency, program, design))
        return found[name] if found else None

    def speedup(self, program, design, over=BASE, latency=BASE_LATENCY, part="designs"):
        return ratio(self.of(program, over, latency=latency, part=part), self.of(program, design, latency=latency, part=part))

    def mean(self, design, over=BASE, without=()):
        return mean([self.speedup(p, design, over) for p in self.programs if p not in without])


def averages(f):
    """Speedups over `private`: geometric mean, and the paper's average of MGvm; MGvm over `shared`."""
    found = {d: {"geometric": f.mean(d), "same_division": f.mean(d, without=OTHER_DIVISION), "paper": PAPER["averages"].get(d, {}).get("value")} for d in OTHERS}
    return found | {"mgvm_over_shared": {"geometric": f.mean("mgvm", "shared"), "same_division": f.mean("mgvm", "shared", OTHER_DIVISION), "paper": None}}


def performance(f, found):
    body = [[p, show(ratio(f.of(p, BASE), 1e3), 3), *(show(f.speedup(p, d)) for d in OTHERS), show(f.speedup(p, "mgvm", "shared"))] for p in f.programs]
    body.append(["**geometric mean**", "", *(show(f.mean(d)) for d in OTHERS), show(found["mgvm_over_shared"]["geometric"])])
    body.append(["without " + " and ".join(OTHER_DIVISION), "", *(show(f.mean(d, without=OTHER_DIVISION)) for d in OTHERS), show(f.mean("mgvm", "shared", OTHER_DIVISION))])
    body.append(["arithmetic mean", "", *(show(average([f.speedup(p, d) for p in f.programs])) for d in OTHERS), show(average([f.speedup(p, "mgvm", "shared") for p in f.programs]))])
    body.append(["paper: average of 15 programs", "", "", "", show(PAPER["averages"]["mgvm"]["value"]), ""])
    return ["## Speedups", "", "Relative to private L2 TLBs, by kernel time; the last column: MGvm relative to the shared L2 TLB. The first column is the kernel time with private "
            "L2 TLBs in ms. The abstract does not name the baseline of its average. matrixtranspose and stencil2d have two-dimensional grids that the published code divides over "
            "the chiplets in the other dimension."] + \
        table(["", "private, ms", *(NAMES[d] for d in OTHERS), "MGvm vs. shared"], body)


def per_design(f, name, form):
    return [[p, *(form(f.of(p, d, name)) for d in DESIGNS)] for p in f.programs]


def translation(f):
    header = ["", *NAMES.values()]
    requests = [[p, *(show(ratio(f.of(p, d, "l2_lookups"), f.of(p, d, "accesses"))) for d in DESIGNS)] for p in f.programs]
    return ["## L2 TLB", "", "Hit rate of the L2 TLBs. A request that merges with an outstanding walk is a miss."] + table(header, per_design(f, "l2_hit", percent)) + \
        ["L2 TLB requests per memory transaction. A request is a page that misses in an L1 TLB without an outstanding miss."] + table(header, requests) + \
        ["## Page walks", "", "Latency of a page walk in ns (cycles), without queueing."] + table(header, per_design(f, "walk_ns", lambda v: show(v, 0))) + \
        ["From an L2 TLB miss to its response in ns, with queueing for a walker."] + table(header, per_design(f, "walk_and_queue_ns", lambda v: show(v, 0))) + \
        ["Walkers busy: share of the time, mean over the 64 walkers."] + table(header, per_design(f, "walkers_busy", percent))


def balancing(f):
    body = [[p, f.of(p, "mgvm", "kernels"), f.of(p, "mgvm", "collections"), f.of(p, "mgvm", "switches")] for p in f.programs if f.of(p, "mgvm")]
    return ["## Balancing", "", "MGvm: kernels, collections of the counts of the four L2 TLBs, and changes of the distribution, resets at the start of a kernel included."] + \
        table(["", "kernels", "collections", "switches"], body)


def chiplets(f, size):
    body = []
    for p in f.programs:
        buffers = f.of(p, "mgvm", "buffers")
        body.append([p, percent(buffers and home_share(buffers, PROGRAMS[p].hsl[size])), *(percent(f.of(p, d, "far")) for d in DESIGNS),
                     *(show(f.of(p, d, "far_gb_s"), 0) for d in DESIGNS)])
    return ["## Traffic between chiplets", "", f"Pages whose L2 TLB, by the HSL, is in the chiplet of their data; requests to L2 slices of another chiplet, page walks included; and their data in GB/s of "
            f"each chiplet, mean over the kernel time, 64 bytes per request. The published code has links of {LINK} GB/s for each chiplet; here the bandwidth is unlimited."] + \
        table(["", "HSL at data", *(f"far, {NAMES[d]}" for d in DESIGNS), *(f"GB/s, {NAMES[d]}" for d in DESIGNS)], body)


def latency(f):
    body = []
    for p in f.of_part("latency"):
        for cycles in LATENCIES:
            part = "designs" if cycles == BASE_LATENCY else "latency"
            body.append([p, cycles, show(ratio(f.of(p, BASE, latency=cycles, part=part), 1e3), 3), *(show(f.speedup(p, d, latency=cycles, part=part)) for d in OTHERS),
                         *(show(f.of(p, d, "walk_ns", cycles, part), 0) for d in DESIGNS)])
    return ["## Latency between chiplets", "", "In cycles, one way, for data, page walks and L2 TLB requests; the comments of the published code have these values. Speedups over private L2 TLBs with the "
            "same latency, and latency of a page walk in ns."] + \
        table(["", "cycles", "private, ms", *(NAMES[d] for d in OTHERS), *(f"walk, {NAMES[d]}" for d in DESIGNS)], body)


def walkers(f):
    programs = f.of_part("walkers")
    body = [[p, *(show(f.speedup(p, d, part=part)) for part in ("designs", "walkers") for d in OTHERS), percent(f.of(p, BASE, "walkers_busy")),
             percent(f.of(p, BASE, "walkers_busy", part="walkers"))] for p in programs]
    body.append(["**geometric mean**", *(show(mean([f.speedup(p, d, part=part) for p in programs])) for part in ("designs", "walkers") for d in OTHERS), "", ""])
    return ["## Page walkers", "", f"Speedups over private L2 TLBs with the preset's 16 walkers per L2 TLB and with {MORE_WALKERS}, and the share of time in which the walkers of private L2 TLBs are busy. "
            "The programs are the six in which 16 are busy for more than half of the time."] + \
        table(["", *(f"{n}: {NAMES[d]}" for n in (16, MORE_WALKERS) for d in OTHERS), "busy, 16", f"busy, {MORE_WALKERS}"], body)


def programs(f, size):
    body = []
    for p, x in PROGRAMS.items():
        buffers = f.of(p, "mgvm", "buffers")
        body.append([p, f"`{x.workload}`", x.published, ", ".join(f"{k} {v}" for k, v in x.sizes[size].items()), x.hsl["published"], x.hsl[size],
                     show(buffers and sum(buffers) * PAGE / 2**20, 1), show(ratio(f.of(p, "mgvm", "accesses"), 1e6), 1), x.note])
    return ["## Programs", "", f"Farfault has 10 of the paper's 15 programs; {', '.join(ABSENT[:-1])} and {ABSENT[-1]} are missing. HSL: in MiB, in the published code and here."] + \
        table(["code", "here", "size in the code", "size here", "HSL, code", "HSL", "MiB", "M transactions", "difference"], body, text=True)


def constants():
    """The preset's settings."""
    body, name = [], ""
    for line in (ROOT / f"topologies/presets/{PRESET}.toml").read_text().splitlines():
        if line.startswith("["):
            name = line.strip("[]")
        elif " = " in line and not line.startswith("#"):
            key, _, value = line.partition("#")[0].partition(" = ")
            body.append([f"`{name}.{key}`", value.strip().strip('"')])
    designs = [[NAMES[d], ", ".join(f"`{key} = {value}`" for key, value in settings.items()) or "-"] for d, settings in DESIGNS.items()]
    return ["## Constants", "", f"Preset `{PRESET}`; sources are in `topologies/presets/{PRESET}.toml`. `interleave`, the HSL, is set for each program."] + \
        table(["parameter", "value"], body) + ["Settings of each design in addition to the preset's:"] + table(["design", "settings"], designs, text=True)


def write(folder, measured, made):
    folder.mkdir(parents=True, exist_ok=True)
    f = Figures(measured)
    found = averages(f)
    listed = [{"part": part, "cycles": key[0], "program": key[1], "design": key[2]} | m for part, runs in measured.items() for key, m in runs.items()]
    records.write(folder, about=made, averages=found, rows=listed)
    lines = ["# MGvm: virtual memory of a GPU of chiplets", "", f"Written by `run`; do not edit. {sentence(made)}", "",
             "A GPU of four chiplets, preset `published-mgvm`: private L2 TLBs, one shared L2 TLB, and MGvm's L2 TLB without and with balancing.", ""]
    discussion = FOLDER / "discussion.md"
    if discussion.exists() and Path(folder).resolve() == FOLDER:
        lines += [discussion.read_text().strip(), ""]
    if measured.get("designs"):
        for section in (performance(f, found), translation(f), balancing(f), chiplets(f, made["size"])):
            lines += section
    if measured.get("latency"):
        lines += latency(f)
    if measured.get("walkers"):
        lines += walkers(f)
    lines += programs(f, made["size"]) + constants() + ["", "The first half of each digest is in results.json.xz."]
    (folder / "results.md").write_text("\n".join(lines).rstrip() + "\n")
