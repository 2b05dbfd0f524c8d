"""What the averages depend on: one parameter at a time, at a small footprint. Writes sensitivity.md."""
import json
import re
from pathlib import Path

import figures
import migration
from figures import gain
from measure import divide, measure
from study import ROOT, WORKLOADS, Runner, complete, show_bytes
from variations import PART, SHORTER, scaled, simulation

DESIGNS = ["distributed", "centralized", "gmmu_bypass"]
TWO = ["distributed", "gmmu_bypass"]          # for assumed parameters
MOVING = ["first_touch", "interleave"]        # placements from which pages also move

# Tables that describe other machines, the workload, or the run itself.
OTHER = ("workload.", "run.", "limits.", "machine.", "links.", "routing.", "memory.placement")
ABSENT = ("gpu.memory_cache.", "gpu.l2_cache.partition_latency", "gpu.dram.write_")  # mechanisms that the preset does not have
IDLE = {"cpu.dram_capacity": "never full"} | dict.fromkeys(
    ("fabric.buffer", "fabric.inbound", "fabric.memory_credits", "gpu.l1_cache.remote_credits"),
    "0: follows other parameters")
GIVEN = {key: "the preset says none; among the variations above"
         for key in ("gpu.gmmu.walk_cache", "iommu.walk_cache", "iommu.tlb_entries", "iommu.tlb_ways")}
GIVEN |= {key: "among the readings in results.md" for key in ("iommu.merge", "memory.first_touch_by", "memory.first_touch_copy")}
FAULTS = ("driver.fault_latency", "driver.notify_latency")  # matter where the driver maps or moves pages
MOVES = ("driver.migrations", "gpu.copy_engine.")           # and these where they move


def machine(path, gpus=4, factor=1.0):
    """The preset's machine with other GPUs (two per switch, as there) or other latencies."""
    text = (ROOT / "topologies/machines/paper-gmmu-bypass.toml").read_text()
    inner, outer = (float(ns) for ns in (re.search(r'b = "switch0"\nkind = "pcie"\nlatency = "([0-9.]+)ns"', text)[1],
                                         re.search(r'b = "gpu0"\nkind = "pcie"\nlatency = "([0-9.]+)ns"', text)[1]))
    nodes = [("cpu0", "cpu"), ("root", "pcie_switch")]
    links = [("cpu0", "root", outer)]
    for s in range((gpus + 1) // 2):
        nodes.append((f"switch{s}", "pcie_switch"))
        links.append(("root", f"switch{s}", inner))
    for g in range(gpus):
        nodes.append((f"gpu{g}", "gpu"))
        links.append((f"switch{g // 2}", f"gpu{g}", outer))
    lines = ['name = "paper-gmmu-bypass-variation"']
    lines += [f'\n[[node]]\nname = "{n}"\nkind = "{k}"' + ("\nnuma = 0" if n in ("cpu0", "root") else "") for n, k in nodes]
    lines += [f'\n[[link]]\na = "{a}"\nb = "{b}"\nkind = "pcie"\nlatency = "{ns * factor:g}ns"\nbandwidth = "16GB/s"'
              for a, b, ns in links]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return {"machine.topology": json.dumps(str(path))}


def given(out):
    """Variations of what the paper or its simulator gives: (name, default, [(value, settings, footprint factor)])."""
    m = out / "machines"
    router = "gpu.router."
    return [
        ("PCIe latency", "as MGPUSim", [(f"x {f:g}", machine(m / f"latency-{f:g}.toml", factor=f), 1) for f in (0.5, 2)]),
        ("GPUs", "4", [(str(n), machine(m / f"gpus-{n}.toml", gpus=n), 1) for n in (2, 8)]),
        ("GMMU walkers", "64", [(str(n), {"gpu.gmmu.walkers": n}, 1) for n in (8, 32, 128)]),
        ("IOMMU walkers", "8", [(str(n), {"iommu.walkers": n}, 1) for n in (4, 16, 64)]),
        ("page-walk caches", "none", [("64", {"gpu.gmmu.walk_cache": 64, "iommu.walk_cache": 64}, 1)]),
        ("TLB in the IOMMU", "none", [(str(n), {"iommu.tlb_entries": n, "iommu.tlb_ways": n}, 1) for n in (64, 1024)]),
        ("epoch", "10 us", [(t, {router + "epoch": f'"{t}"'}, 1) for t in ("2 us", "5 us", "20 us", "50 us")]),
        ("T1", "0.85", [(str(v), {router + "t1": v}, 1) for v in (0.75, 0.95)]),
        ("T2", "0.15", [(str(v), {router + "t2": v}, 1) for v in (0.05, 0.25)]),
        ("counter bits", "8", [(str(n), {router + "counter_bits": n}, 1) for n in (4, 16)]),
        ("DRAM banks per channel", "32", [(str(n), {"gpu.dram.banks": n}, 1) for n in (16, 64)]),
        ("DRAM queue per channel", "128", [(str(n), {"gpu.dram.queue": n}, 1) for n in (64, 256)]),
        ("L2 TLB entries", "256", [(str(n), {"gpu.l2_tlb.entries": n}, 1) for n in (64, 128, 512)]),
        ("footprint", "", [(f"x {f:g}", {}, f) for f in (0.5, 2)]),
    ]


def assumed(parameters):
    """Every assumed parameter that this machine uses, halved and doubled; and those left out, with the reason."""
    varied, left_out = [], []
    for p in parameters:
        key = p["key"]
        if "assumed" not in p["source"] or key.startswith(OTHER):
            continue
        if key in GIVEN:
            left_out.append((key, GIVEN[key]))
        elif key.startswith(MOVES):
            left_out.append((key, "no page moves; see below"))
        elif key.startswith(ABSENT):
            left_out.append((key, "the preset has no such thing"))
        elif re.match(r"0( |$)", p["default"]) and key not in IDLE:
            left_out.append((key, "0: off in the preset"))
        elif key in IDLE or key.startswith(FAULTS):
            left_out.append((key, IDLE.get(key, "the IOMMU maps pages itself; among the readings in results.md")))
        elif p["unit"] == "name":
            names = p["range"].removeprefix("one of: ").split(", ")
            varied.append((key, p["default"], [(n, {key: f'"{n}"'}, 1) for n in names if n != p["default"]]))
        else:
            values = []
            for factor in (0.5, 2):
                text = scaled(p, factor)
                if text is not None:
                    values.append((text.strip('"'), {key: text}, 1))
            varied.append((key, p["default"], values))
    return varied, left_out


def run(args, program, workloads, placements, footprint, out):
    """A quick run varies the assumed parameters with the main placement only."""
    failures = []
    base = out / "sensitivity"
    fixed = given(base)
    varied, left_out = assumed(program.parameters())
    start = [("", "", [("defaults", {}, 1)])] + fixed
    plans = {p: start + (varied if p == placements[0] or not args.quick else []) for p in placements}
    runs, which = {}, {}
    for placement in placements:
        for number, (name, _, values) in enumerate(plans[placement]):
            for value, settings, factor in values:
                which[placement, name, value] = mine = {}
                for w in workloads:
                    for d in DESIGNS if number <= len(fixed) else TWO:
                        r = simulation(w, d, placement, int(footprint * factor), settings, base)
                        runs[r.output] = r
                        mine.setdefault(w, {})[d] = r.output
    if not args.table_only:
        failures += Runner(program, args.jobs).run(list(runs.values()))
    text = ["# What the averages of the GMMU Bypass study depend on", "",
            f"Written by `run`; do not edit. {program.version}. One parameter at a time leaves its "
            "default; the rest is the preset `paper-gmmu-bypass`. With the placement `recorded` all designs of a row have their "
            "pages where the distributed design, with the row's parameter, touched them first.", "",
            "To take minutes: " + ", ".join(
                [f"{WORKLOADS[w]} with {k.rpartition('.')[2]} = {v}" for w in SHORTER for k, v in SHORTER[w].items()] +
                [f"{WORKLOADS[w]} with 1/{n} of the footprint" for w, n in PART.items()]) +
            ". Everything else is as in the study; the L2 TLB keeps its reach of 1 MiB."]
    for placement in placements:
        text += page(placement, footprint, plans[placement], len(fixed), which, left_out)
        if placement in MOVING:
            failures += migration.study(args, program, workloads, placement, footprint, base, text)
    (args.results / "sensitivity.md").write_text("\n".join(text).rstrip() + "\n")
    print(args.results / "sensitivity.md")
    return failures


def averages(outputs, cache={}):
    """Means over the workloads of bypass / distributed and bypass / centralized, and how many workloads they rest on."""
    over = {"distributed": [], "centralized": []}
    for designs in outputs.values():
        ns = {}
        for d, path in designs.items():
            if path not in cache:
                cache[path] = measure(path)["kernel_ns"] if complete(path) else None
            ns[d] = cache[path]
        for d in over:
            over[d].append(divide(ns.get(d), ns["gmmu_bypass"]))
    return tuple(figures.mean(v) for v in over.values()) + (sum(v is not None for v in over["distributed"]),)


def page(placement, footprint, plan, fixed, which, left_out):
    base = averages(which[placement, "", "defaults"])
    lines = ["", f"## Placement: {placement}, {show_bytes(footprint)}", ""]
    lines += [f"Defaults: bypass over distributed {show(base[0])}, over centralized {show(base[1])}, mean of "
              f"{base[2]} workloads. Change: percentage points from there.", ""]
    lines += ["| parameter | default | value | bypass / distributed | change | bypass / centralized | change |",
              "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row, (a, b, _) in rows(placement, plan[1:1 + fixed], which):
        lines.append(f"{row} | {show(a)} | {change(a, base[0])} | {show(b)} | {change(b, base[1])} |")
    if len(plan) == 1 + fixed:
        return lines
    lines += ["", "Assumed parameters, halved and doubled (changes of two points or more in bold):", "",
              "| assumed parameter | default | value | bypass / distributed | change |", "| --- | ---: | ---: | ---: | ---: |"]
    for row, (a, _, _) in rows(placement, plan[1 + fixed:], which):
        lines.append(f"{row} | {show(a)} | {change(a, base[0])} |")
    if left_out:
        lines += ["", "Not varied: " + ", ".join(f"`{k}` ({why})" for k, why in left_out) + "."]
    return lines


def rows(placement, plan, which):
    """(the row's first cells, averages) of each value."""
    for name, default, values in plan:
        for value, _, _ in values:
            yield f"| {name} | {default} | {value}", averages(which[placement, name, value])


def show(value):
    return "-" if value is None else gain(value)


def change(value, base):
    if value is None or base is None:
        return "-"
    points = (value - base) * 100
    return f"**{points:+.1f}**" if abs(points) >= 2 else f"{points:+.1f}"
