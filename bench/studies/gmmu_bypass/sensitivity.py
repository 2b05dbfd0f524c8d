# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of the averages to parameters other than links and walks: one parameter at a time, at a small footprint, around the grid cell
with headroom. Writes sensitivity.md."""
import json
import re
import subprocess
import tomllib

import figures
import grid
import migration
from figures import gain
from configuration import flat
from provenance import sentence
from study import PRESET, ROOT
from variations import machine, scaled, simulation, sizes_said

DESIGNS = ["distributed", "gmmu_bypass", "oracle"]
MOVING = "first_touch"  # placement of the runs with migration

# Keys of other machines, the workload, or the run itself.
OTHER = ("application.", "workload.", "run.", "limits.", "machine.", "links.", "routing.", "memory.placement")
ABSENT = ("driver.batch.", "driver.counters.", "gpu.access_counters.", "memory.duplicate_after.", "gpu.memory_cache.",
          "gpu.instruction_cache.", "gpu.l2_cache.partition_latency", "gpu.blocks", "memory.page_tables", "gpu.translation.level.", "gpu.sm.thread_oversubscription.",
          "gpu.sm.throttling.", "gpu.sm.virtual_thread.", "fabric.compressed.", "gpu.compressed.", "nic.", "memory.scope",
          "gpu.gmmu.walk_cache_replacement", "gpu.gmmu.shared_by", "gpu.gmmu.table_writes", "gpu.page_walk_cache.", "iommu.tlb_replacement",
          "iommu.walk_cache_replacement")  # mechanisms that the preset does not use
OF_CHIPLETS = ("by_partition",)  # policies of GPUs with several chiplets
IDLE = {"cpu.dram.capacity": "never full", "driver.allocation_latency": "programs allocate nothing",
        "memory.compaction": "the preset's frames are of one size", "memory.compaction_threshold": "nothing is compacted"} | dict.fromkeys(
    ("fabric.buffer", "fabric.inbound", "fabric.memory_credits", "gpu.l1_cache.remote_credits"),
    "0: follows other parameters; among the variations above")
GIVEN = {key: "none in the preset; among the variations above" for key in ("iommu.tlb_entries", "iommu.tlb_ways")}
GIVEN |= {key: "an axis of the grid in results.md" for key in ("gpu.gmmu.walk_latency", "iommu.walk_latency")}
GIVEN |= {key: "among the readings in results.md" for key in ("gpu.gmmu.walk_cache", "iommu.walk_cache", "iommu.merge",
                                                              "memory.first_touch_by", "memory.first_touch_copy")}
FAULTS = ("driver.fault_latency", "driver.notify_latency", "gpu.gmmu.sms_per_utlb", "memory.fault_path", "gpu.l1_tlb.faulted_accesses")  # used only if the driver maps or moves pages
MOVES = ("driver.migrations", "gpu.copy_engine.")           # used only if pages move


def given(out):
    """Variations of parameters that the paper or its simulator gives, lower and higher: (name, default, [(value, settings, footprint factor)])."""
    m, link = out / "machines", grid.ROOM[0]
    router = "gpu.router.gmmu_bypass."
    return [
        ("PCIe latency", "as in MGPUSim", [(f"x {f:g}", machine(m / f"latency-{f:g}.toml", factor=f, bandwidth=link), 1) for f in (0.5, 2)]),
        ("PCIe tree", "two GPUs per switch", [("one switch for all", machine(m / "one-switch.toml", switches=False, bandwidth=link), 1),
                                              ("each switch below the previous one, as in MGPUSim of 2020", machine(m / "chained.toml", chained=True, bandwidth=link), 1)]),
        ("GPUs", "4", [(str(n), machine(m / f"gpus-{n}.toml", gpus=n, bandwidth=link), 1) for n in (2, 8)]),
        ("GMMU walkers", "64", [(str(n), {"gpu.gmmu.walkers": n}, 1) for n in (8, 128)]),
        ("IOMMU walkers", "8", [(str(n), {"iommu.walkers": n}, 1) for n in (4, 16)]),
        ("IOMMU TLB entries", "none", [("1024", {"iommu.tlb_entries": 1024, "iommu.tlb_ways": 1024}, 1)]),
        ("epoch", "10 us", [(t, {router + "epoch": f'"{t}"'}, 1) for t in ("5 us", "20 us")]),
        ("T1", "0.85", [(str(v), {router + "t1": v}, 1) for v in (0.75, 0.95)]),
        ("T2", "0.15", [(str(v), {router + "t2": v}, 1) for v in (0.05, 0.25)]),
        ("counter bits", "8", [(str(n), {router + "counter_bits": n}, 1) for n in (4, 16)]),
        ("full counter", "both halved", [("stays at its maximum", {router + "overflow": '"sticks"'}, 1)]),
        ("DRAM banks per channel", "32", [(str(n), {"gpu.dram.banks": n}, 1) for n in (16, 64)]),
        ("DRAM queue per channel", "128", [(str(n), {"gpu.dram.queue": n}, 1) for n in (64, 256)]),
        ("L2 TLB entries", "256", [(str(n), {"gpu.l2_tlb.entries": n}, 1) for n in (64, 512)]),
        ("Link buffers", "twice bandwidth x round trip", [(b, {"fabric.buffer": f'"{b}"'}, 1) for b in ("16 KiB", "256 KiB")]),
        ("Concurrent lines served for other devices", "2000", [(str(n), {"fabric.inbound": n}, 1) for n in (1000, 4000)]),
        ("the same, per L2 slice", "twice the even share", [(str(n), {"fabric.memory_credits": n}, 1) for n in (250, 1000)]),
        ("Outstanding remote lines per SM", "as L1 MSHRs", [(str(n), {"gpu.l1_cache.remote_credits": n}, 1) for n in (8, 32)]),
        ("footprint", "", [(f"x {f:g}", {}, f) for f in (0.5, 2)]),
    ]


def parameters_of(program):
    """All parameters; `default` is the preset's value if it sets one."""
    out = subprocess.run([program.path, "params", "--json"], capture_output=True, text=True, check=True).stdout
    preset = flat(tomllib.loads((ROOT / f"topologies/presets/{PRESET}.toml").read_text()))
    parameters = json.loads(out)["parameters"]
    for p in parameters:
        if p["key"] in preset:
            p["default"] = re.sub(r"^([0-9.]+)([A-Za-z])", r"\1 \2", str(preset[p["key"]]))
    return parameters


def not_chosen(parameters):
    """Key prefixes of policies that are not selected: gpu.dram.frfcfs_batched., iommu.tlb_random., ..."""
    found = set()
    for p in parameters:
        if p["unit"] != "name":
            continue
        section = p["key"].rpartition(".")[0]
        names = p["range"].removeprefix("one of: ").split(", ")
        for other in (n for n in names if n != p["default"]):
            found |= {q["key"].rpartition(".")[0] + "." for q in parameters
                      if re.fullmatch(re.escape(section) + rf"\.(\w+_)?{re.escape(other)}", q["key"].rpartition(".")[0])}
    return tuple(sorted(found))


def assumed(parameters):
    """All assumed parameters that this machine uses, halved and doubled or with each other policy; and the omitted ones with the reason."""
    varied, left_out = [], []
    others = not_chosen(parameters)
    for p in parameters:
        key = p["key"]
        if "assumed" not in p["source"] or key.startswith(OTHER):
            continue
        if key.startswith(others):
            left_out.append((key, "belongs to a policy that is not selected"))
            continue
        if key in GIVEN:
            left_out.append((key, GIVEN[key]))
        elif key.startswith(MOVES):
            left_out.append((key, "no page migrates; see below"))
        elif key.startswith(ABSENT):
            left_out.append((key, "mechanism that the preset does not use"))
        elif re.match(r"0( |$)", p["default"]) and key not in IDLE:
            left_out.append((key, "0: off in the preset"))
        elif key in IDLE or key.startswith(FAULTS):
            left_out.append((key, IDLE.get(key, "the IOMMU maps pages itself; among the readings in results.md")))
        elif p["unit"] == "name":
            names = [n for n in p["range"].removeprefix("one of: ").split(", ") if n not in OF_CHIPLETS]
            if len(names) == 1:
                left_out.append((key, "no alternative"))
                continue
            varied.append((key, p["default"], [(n, {key: f'"{n}"'}, 1) for n in names if n != p["default"]]))
        elif p["unit"] == "true or false":
            other = "false" if p["default"] == "true" else "true"
            varied.append((key, p["default"], [(other, {key: other}, 1)]))
        else:
            values = []
            for factor in (0.5, 2):
                text = scaled(p, factor)
                if text is not None:
                    values.append((text.strip('"'), {key: text}, 1))
            varied.append((key, p["default"], values))
    return varied, left_out


class Sensitivity:
    """The runs of all variations, and the page with their results."""

    def __init__(self, program, workloads, placements, scale, out, quick=False):
        """Uses the first of the placements. `quick`: without assumed parameters."""
        self.placement, self.scale = placements[0], scale
        base = out / "sensitivity"
        room = grid.settings(grid.ROOM, base / "machines")
        self.fixed = given(base)
        parameters = parameters_of(program)
        varied, self.left_out = ([], []) if quick else assumed(parameters)
        self.plan = [("", "", [("defaults", {}, 1)])] + self.fixed + varied

        def run(workload, design, name, settings, factor):
            # Pages recorded with the preset's links and walks, as in the grid and the readings; another number of GPUs needs its own map.
            source = None if name == "GPUs" else simulation(workload, "distributed", "first_touch", scale * factor, {}, base)
            return simulation(workload, design, self.placement, scale * factor, {**room, **settings}, base, source=source)

        self.runs = {(name, value): {w: {d: run(w, d, name, settings, factor) for d in DESIGNS} for w in workloads}
                     for name, _, values in self.plan for value, settings, factor in values}
        self.moves = None if quick or MOVING not in placements else migration.Moves(parameters, workloads, MOVING, scale, base)

    def all_runs(self):
        return [r for by in self.runs.values() for designs in by.values() for r in designs.values()] + \
            (self.moves.all_runs() if self.moves else [])

    def write(self, folder, results, made):
        """Writes sensitivity.md; returns its path."""
        text = ["# Sensitivity of the averages of the GMMU Bypass study", "",
                f"Written by `run`; do not edit. {sentence(made)} One parameter at a time is varied, down and up. Base: the preset "
                f"`paper-gmmu-bypass` with {grid.words(grid.ROOM)}, which has headroom. The grid of links and walks is "
                f"in results.md. The placement is `{self.placement}`" +
                (": the first touches of the distributed design on the preset; in the rows of GPUs, on the row's machine with these walks"
                 if self.placement == "recorded" else "") +
                ". The noise of an average, at four times these footprints, is in results.md; smaller changes are not significant.", "",
                f"{sizes_said(self.scale)} Everything else is as in the study; the L2 TLB keeps its reach of 1 MiB."]
        found = {key: Averages(by, results) for key, by in self.runs.items()}
        text += page(self.plan, len(self.fixed), found, self.left_out)
        if self.moves:
            text += self.moves.section(results)
        (folder / "sensitivity.md").write_text("\n".join(text).rstrip() + "\n")
        return folder / "sensitivity.md"


class Averages:
    """One row: mean and median of bypass over distributed, mean of ideal over distributed, number of workloads."""

    def __init__(self, by_workload, results):
        measured = {w: {d: m for d, m in ((d, results.of(r)) for d, r in designs.items()) if m} for w, designs in by_workload.items()}
        s = figures.series(measured)
        bypass = [v for v in s["bypass_over_distributed"].values() if v is not None]
        self.bypass, self.median, self.workloads = figures.mean(bypass), figures.median(bypass), len(bypass)
        self.ideal = figures.mean(s["oracle_over_distributed"].values())

    def cells(self, base):
        return " | ".join([figures.gained(self.bypass, self.ideal), change(self.bypass, base), show(self.median), show(self.ideal)])


def page(plan, fixed, found, left_out):
    base = found["", "defaults"]
    header = ["", "| {}parameter | default | value | bypass / distributed | change | median | ideal / distributed |",
              "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    lines = ["", f"Defaults: bypass over distributed {show(base.bypass)} (median {show(base.median)}), ideal {show(base.ideal)}, mean of "
             f"{base.workloads} workloads. Change: percentage points; two or more in bold.", *(h.format("") for h in header)]
    lines += rows(plan[1:1 + fixed], found, base.bypass)
    if len(plan) == 1 + fixed:
        return lines
    lines += ["", "Assumed parameters, halved and doubled:", *(h.format("assumed ") for h in header)]
    lines += rows(plan[1 + fixed:], found, base.bypass)
    if left_out:
        lines += ["", "Not varied: " + ", ".join(f"`{k}` ({why})" for k, why in left_out) + "."]
    return lines


def rows(plan, found, base):
    for name, default, values in plan:
        for value, _, _ in values:
            yield f"| {name} | {default} | {value} | {found[name, value].cells(base)} |"


def show(value):
    return "-" if value is None else gain(value)


def change(value, base):
    if value is None or base is None:
        return "-"
    points = (value - base) * 100
    return f"**{points:+.1f}**" if abs(points) >= 2 else f"{points:+.1f}"
