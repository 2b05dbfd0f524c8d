# SPDX-License-Identifier: Apache-2.0
"""What the averages depend on: one parameter at a time, at a small footprint. Writes sensitivity.md."""
import json
import re
import subprocess
import tomllib

import figures
import migration
from figures import gain
from measure import divide
from configuration import flat
from provenance import sentence
from study import PRESET, ROOT
from variations import machine, scaled, simulation, sizes_said

DESIGNS = ["distributed", "gmmu_bypass"]
MOVING = ["first_touch", "interleave"]        # placements from which pages also move

# Tables that describe other machines, the workload, or the run itself.
OTHER = ("application.", "workload.", "run.", "limits.", "machine.", "links.", "routing.", "memory.placement")
ABSENT = ("driver.batch.", "gpu.memory_cache.", "gpu.l2_cache.partition_latency", "gpu.sm.thread_oversubscription.",
          "gpu.sm.throttling.", "gpu.sm.virtual_thread.", "fabric.compressed.", "gpu.compressed.", "nic.")  # mechanisms that the preset does not have
IDLE = {"cpu.dram.capacity": "never full", "driver.allocation_latency": "programs allocate nothing", "memory.compaction_threshold": "nothing is compacted"} | dict.fromkeys(
    ("fabric.buffer", "fabric.inbound", "fabric.memory_credits", "gpu.l1_cache.remote_credits"),
    "0: follows other parameters; among the variations above")
GIVEN = {key: "the preset says none; among the variations above" for key in ("iommu.tlb_entries", "iommu.tlb_ways")}
GIVEN |= {key: "among the readings in results.md" for key in ("gpu.gmmu.walk_cache", "iommu.walk_cache", "iommu.merge",
                                                              "memory.first_touch_by", "memory.first_touch_copy")}
FAULTS = ("driver.fault_latency", "driver.notify_latency", "memory.fault_path", "gpu.l1_tlb.faulted_accesses")  # matter where the driver maps or moves pages
MOVES = ("driver.migrations", "gpu.copy_engine.")           # and these where they move


def given(out):
    """Variations of what the paper or its simulator gives, down and up: (name, default, [(value, settings, footprint factor)])."""
    m = out / "machines"
    router = "gpu.router.gmmu_bypass."
    return [
        ("PCIe latency", "as MGPUSim", [(f"x {f:g}", machine(m / f"latency-{f:g}.toml", factor=f), 1) for f in (0.5, 2)]),
        ("PCIe tree", "two GPUs to a switch", [("one switch for all", machine(m / "one-switch.toml", switches=False), 1)]),
        ("GPUs", "4", [(str(n), machine(m / f"gpus-{n}.toml", gpus=n), 1) for n in (2, 8)]),
        ("GMMU walkers", "64", [(str(n), {"gpu.gmmu.walkers": n}, 1) for n in (8, 128)]),
        ("IOMMU walkers", "8", [(str(n), {"iommu.walkers": n}, 1) for n in (4, 16)]),
        ("TLB in the IOMMU", "none", [("1024", {"iommu.tlb_entries": 1024, "iommu.tlb_ways": 1024}, 1)]),
        ("epoch", "10 us", [(t, {router + "epoch": f'"{t}"'}, 1) for t in ("5 us", "20 us")]),
        ("T1", "0.85", [(str(v), {router + "t1": v}, 1) for v in (0.75, 0.95)]),
        ("T2", "0.15", [(str(v), {router + "t2": v}, 1) for v in (0.05, 0.25)]),
        ("counter bits", "8", [(str(n), {router + "counter_bits": n}, 1) for n in (4, 16)]),
        ("DRAM banks per channel", "32", [(str(n), {"gpu.dram.banks": n}, 1) for n in (16, 64)]),
        ("DRAM queue per channel", "128", [(str(n), {"gpu.dram.queue": n}, 1) for n in (64, 256)]),
        ("L2 TLB entries", "256", [(str(n), {"gpu.l2_tlb.entries": n}, 1) for n in (64, 512)]),
        ("Link buffers", "twice bandwidth x round trip", [(b, {"fabric.buffer": f'"{b}"'}, 1) for b in ("8 KiB", "16 KiB", "64 KiB")]),
        ("Lines served for other devices", "250", [(str(n), {"fabric.inbound": n}, 1) for n in (125, 500)]),
        ("of these, at one L2 slice", "twice the even share", [(str(n), {"fabric.memory_credits": n}, 1) for n in (31, 125)]),
        ("Lines an SM may wait for at the RDMA engine", "as L1 MSHRs", [(str(n), {"gpu.l1_cache.remote_credits": n}, 1) for n in (32, 256)]),
        ("footprint", "", [(f"x {f:g}", {}, f) for f in (0.5, 2)]),
    ]


def parameters_of(program):
    """All parameters; `default` is what the preset sets, where it sets one."""
    out = subprocess.run([program.path, "params", "--json"], capture_output=True, text=True, check=True).stdout
    preset = flat(tomllib.loads((ROOT / f"topologies/presets/{PRESET}.toml").read_text()))
    parameters = json.loads(out)["parameters"]
    for p in parameters:
        if p["key"] in preset:
            p["default"] = re.sub(r"^([0-9.]+)([A-Za-z])", r"\1 \2", str(preset[p["key"]]))
    return parameters


def not_chosen(parameters):
    """The beginnings of keys of policies that are not chosen: gpu.dram.frfcfs_batched., iommu.tlb_random., ..."""
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
    """Every assumed parameter that this machine uses, halved and doubled; and those left out, with the reason."""
    varied, left_out = [], []
    others = not_chosen(parameters)
    for p in parameters:
        key = p["key"]
        if "assumed" not in p["source"] or key.startswith(OTHER):
            continue
        if key.startswith(others):
            left_out.append((key, "of a policy that is not chosen"))
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
            if len(names) == 1:
                left_out.append((key, "there is no other"))
                continue
            varied.append((key, p["default"], [(n, {key: f'"{n}"'}, 1) for n in names if n != p["default"]]))
        else:
            values = []
            for factor in (0.5, 2):
                text = scaled(p, factor)
                if text is not None:
                    values.append((text.strip('"'), {key: text}, 1))
            varied.append((key, p["default"], values))
    return varied, left_out


class Sensitivity:
    """The runs of all variations, and the page that is made of their results."""

    def __init__(self, program, workloads, placements, scale, out, quick=False):
        """A quick one varies the assumed parameters with the main placement only."""
        self.workloads, self.placements, self.scale = workloads, placements, scale
        base = out / "sensitivity"
        self.fixed = given(base)
        parameters = parameters_of(program)
        varied, self.left_out = assumed(parameters)
        start = [("", "", [("defaults", {}, 1)])] + self.fixed
        self.plans = {p: start + (varied if p == placements[0] or not quick else []) for p in placements}
        self.runs = {(p, name, value): {w: {d: simulation(w, d, p, scale * factor, settings, base) for d in DESIGNS} for w in workloads}
                     for p in placements for name, _, values in self.plans[p] for value, settings, factor in values}
        self.moves = {p: migration.Moves(parameters, workloads, p, scale, base) for p in placements if p in MOVING}

    def all_runs(self):
        return [r for by in self.runs.values() for designs in by.values() for r in designs.values()] + \
            [r for moves in self.moves.values() for r in moves.all_runs()]

    def write(self, folder, results, made):
        """Writes sensitivity.md; returns its path."""
        text = ["# What the averages of the GMMU Bypass study depend on", "",
                f"Written by `run`; do not edit. {sentence(made)} One parameter at a time leaves its "
                "default, down and up; the rest is the preset `paper-gmmu-bypass`. With the placement `recorded` both designs of a row have "
                "their pages where the distributed design, with the row's parameter, touched them first. The noise of such an average, at four times these footprints, is in "
                "results.md; changes within it say nothing.", "",
                f"{sizes_said(self.scale)} Everything else is as in the study; the L2 TLB keeps its reach of 1 MiB."]
        for placement in self.placements:
            means = {key[1:]: self.average(by, results) for key, by in self.runs.items() if key[0] == placement}
            text += page(placement, self.plans[placement], len(self.fixed), means, self.left_out)
            if placement in self.moves:
                text += self.moves[placement].section(results)
        (folder / "sensitivity.md").write_text("\n".join(text).rstrip() + "\n")
        return folder / "sensitivity.md"

    @staticmethod
    def average(by_workload, results):
        """Mean over the workloads of bypass / distributed, and how many workloads it rests on."""
        found = [tuple(results.of(designs[d]) for d in DESIGNS) for designs in by_workload.values()]
        ratios = [divide(a["kernel_ns"], b["kernel_ns"]) for a, b in found if a and b]
        return figures.mean(ratios), len(ratios)


def page(placement, plan, fixed, means, left_out):
    base, workloads = means["", "defaults"]
    lines = ["", f"## Placement: {placement}", "",
             f"Defaults: bypass over distributed {show(base)}, mean of {workloads} workloads. Change: percentage points from there; two or "
             "more in bold.", "",
             "| parameter | default | value | bypass / distributed | change |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += rows(plan[1:1 + fixed], means, base)
    if len(plan) == 1 + fixed:
        return lines
    lines += ["", "Assumed parameters, halved and doubled:", "",
              "| assumed parameter | default | value | bypass / distributed | change |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += rows(plan[1 + fixed:], means, base)
    if left_out:
        lines += ["", "Not varied: " + ", ".join(f"`{k}` ({why})" for k, why in left_out) + "."]
    return lines


def rows(plan, means, base):
    for name, default, values in plan:
        for value, _, _ in values:
            mean = means[name, value][0]
            yield f"| {name} | {default} | {value} | {show(mean)} | {change(mean, base)} |"


def show(value):
    return "-" if value is None else gain(value)


def change(value, base):
    if value is None or base is None:
        return "-"
    points = (value - base) * 100
    return f"**{points:+.1f}**" if abs(points) >= 2 else f"{points:+.1f}"
