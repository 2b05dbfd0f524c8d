# SPDX-License-Identifier: Apache-2.0
"""Migration of a page to the GPU that touches it, compared with remote access: a section of sensitivity.md."""
from measure import divide
from study import WORKLOADS
from variations import scaled, simulation

TOUCHES = [1, 2, 8]
DESIGN = "distributed"
# Effective values of defaults of 0: a link of 16 GB/s carries 460 lines in 1 us plus 2 x 420 ns, the round trip to the farthest GPU.
FOLLOWS = {"gpu.copy_engine.window": "460", "gpu.copy_engine.slice_credits": "115"}


class Moves:
    """The runs of one placement with migration, and their section."""

    def __init__(self, parameters, workloads, placement, scale, base):
        self.workloads = workloads
        move = {"memory.remote_touch": '"migrate"'}
        variants = {"access": {}}
        for n in TOUCHES:
            variants[n] = {**move, "memory.migrate.after": n}
        self.varied = []
        for p in parameters:
            # Faults are served one at a time here, so parameters of batches have no effect.
            if "assumed" in p["source"] and p["key"].startswith(("driver.", "gpu.copy_engine.")) and \
                    not p["key"].startswith("driver.batch."):
                for factor in (0.5, 2):
                    value = scaled({**p, "default": FOLLOWS.get(p["key"], p["default"])}, factor)
                    if value is not None:
                        self.varied.append((p["key"], p["default"], value.strip('"')))
                        variants[p["key"], value.strip('"')] = {**variants[1], p["key"]: value}
        self.runs = {v: {w: simulation(w, DESIGN, placement, scale, s, base) for w in workloads} for v, s in variants.items()}

    def all_runs(self):
        return [r for by_workload in self.runs.values() for r in by_workload.values()]

    def section(self, results):
        found = {v: {w: results.of(r) for w, r in by_workload.items()} for v, by_workload in self.runs.items()}
        return section(found, self.workloads, self.varied)


def section(found, workloads, varied):
    lines = ["", "### Page migration", "",
             "The study's designs access remote pages in place. With `memory.remote_touch = \"migrate\"` a page migrates to the GPU "
             "that touches it, at the first touch or after `memory.migrate.after` consecutive translation requests of that GPU. "
             f"These runs have the preset's links and walks. Time of the {DESIGN} design relative to remote access (above 1: slower), and migrations "
             "per page of the footprint.", "",
             "| workload | " + " | ".join(f"after {n}: time | migrations per page" for n in TOUCHES) + " | time per migration |",
             "| --- | " + "---: | " * (2 * len(TOUCHES) + 1)]
    for w in workloads:
        cells = []
        for n in TOUCHES:
            m = found[n][w]
            cells += [number(slower(found, n, w)), number(m and divide(m["migrations"] * 4096, m["footprint"]))]
        took = found[TOUCHES[0]][w]
        lines.append(f"| {WORKLOADS[w]} | " + " | ".join(cells) +
                     f" | {number(took and took['migration_ns'] and took['migration_ns'] / 1e3)} us |")
    base = average(found, TOUCHES[0], workloads)
    lines += ["", f"Migration at the first touch takes {number(base)} times as long as remote access (geometric mean). Effect of the "
              "assumed parameters of driver and copy engine, halved and doubled:", "",
              "| assumed parameter | default | value | relative to remote access | change |", "| --- | ---: | ---: | ---: | ---: |"]
    for key, default, value in varied:
        mean = average(found, (key, value), workloads)
        change = "-" if mean is None or base is None else f"{(mean / base - 1) * 100:+.1f}%"
        lines.append(f"| {key} | {default} | {value} | {number(mean)} | {change} |")
    return lines


def slower(found, variant, workload):
    a, b = found[variant][workload], found["access"][workload]
    return a and b and divide(a["kernel_ns"], b["kernel_ns"])


def average(found, variant, workloads):
    ratios = [slower(found, variant, w) for w in workloads]
    ratios = [r for r in ratios if r]
    product = 1.0
    for r in ratios:
        product *= r
    return product ** (1 / len(ratios)) if ratios else None


def number(value):
    return "-" if value is None else f"{value:.2f}"
