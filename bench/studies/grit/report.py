# SPDX-License-Identifier: Apache-2.0
"""results.md: measured and published figures; results.json.xz: every figure of every run."""
import json
import math
from pathlib import Path

import records
from parts import BASE_COST, COSTS, LARGER, READINGS, THRESHOLDS
from provenance import sentence
from study import FOLDER, FOOTPRINTS, PAGE, POLICIES, PRESET, ROOT, WORKLOADS
from tables import percent, ratio, show, table

PAPER = json.loads((FOLDER / "paper.json").read_text())
MAIN = ("20 us per page", "memory of all GPUs")  # readings next to the averages
OTHERS = [p for p in POLICIES if p != "grit"]


def means(values):
    """Geometric and arithmetic mean of ratios; None: a ratio is missing."""
    if not values or None in values:
        return None, None
    return math.exp(sum(map(math.log, values)) / len(values)), sum(values) / len(values)


def gain(value):
    return "-" if value is None else f"{100 * (value - 1):+.0f}%"


class Figures:
    """Figures of the tables, from {(what, workload, policy): measures} by part."""

    def __init__(self, measured):
        self.measured = measured
        self.workloads = [w for w in WORKLOADS if any(key[1] == w for found in measured.values() for key in found)]

    def of(self, part, what, workload, policy, name="kernel_us"):
        """A policy on which a reading has no effect has the run of the part `policies`."""
        found = self.measured.get(part, {}).get((what, workload, policy)) or \
            (self.measured.get("policies", {}).get(("4", workload, policy)) if part == "readings" else None)
        return found[name] if found else None

    def speedups(self, part, what, policy, over, base=None):
        """Performance of a policy relative to another one, by workload. `base`: part and row of the other one."""
        return [ratio(self.of(*(base or (part, what)), w, over), self.of(part, what, w, policy)) for w in self.workloads]

    def faults(self, policy, over):
        return [ratio(self.of("policies", "4", w, policy, "faults"), self.of("policies", "4", w, over, "faults")) for w in self.workloads]


def averages(f):
    """GRIT's performance and faults relative to each policy: geometric and arithmetic mean, and the paper's average."""
    found = {}
    for p in OTHERS:
        geometric, arithmetic = means(f.speedups("policies", "4", "grit", p))
        found[f"grit_over_{p}"] = {"geometric": geometric, "arithmetic": arithmetic, "paper": PAPER["averages"][f"grit_over_{p}"]["value"]} | \
            {what: means(f.speedups("readings", what, "grit", p))[0] for what in MAIN}
    return found


def overview(f, found):
    body = [[f"GRIT over {POLICIES[p]}", gain(m["paper"]), gain(m["geometric"]), gain(m["arithmetic"]), *(gain(m[what]) for what in MAIN)]
            for p in OTHERS for m in [found[f"grit_over_{p}"]]]
    return ["## Averages", "",
            "Change of performance (the inverse of the kernels' time) over the eight workloads. The summaries do not state the paper's mean. The last columns are geometric "
            "means with other readings of two sentences: 20 us for each page instead of for each batch of faults, and memory of 70% for the four GPUs together instead of for each."] + \
        table(["", "paper", "geometric mean", "arithmetic mean", *MAIN], body)


def performance(f):
    columns = [("policies", "4", p, POLICIES[p]) for p in OTHERS + ["grit"]] + [("policies", "no prediction", "grit", "GRIT, no prediction")]
    body = []
    for i, w in enumerate(f.workloads):
        body.append([w, f"`{WORKLOADS[w].program}`", show(f.of("policies", "4", w, "migrate") and f.of("policies", "4", w, "migrate") / 1e3)] +
                    [show(f.speedups(part, what, p, "migrate", ("policies", "4"))[i]) for part, what, p, _ in columns])
    body.append(["geometric mean", "", ""] + [show(means(f.speedups(part, what, p, "migrate", ("policies", "4")))[0]) for part, what, p, _ in columns])
    return ["## Performance", "", "Relative to on-touch migration. The second column is the workload that runs; the third one is on-touch's kernel time in ms."] + \
        table(["", "workload", "on-touch, ms"] + [name for *_, name in columns], body)


def faults(f):
    body = []
    for w in f.workloads:
        of = {p: f.of("policies", "4", w, p, "faults") for p in POLICIES}
        body.append([w] + [of[p] if of[p] is not None else "-" for p in POLICIES] + [gain(ratio(of["grit"], of[p])) for p in OTHERS])
    body.append(["geometric mean"] + [""] * len(POLICIES) + [gain(means(f.faults("grit", p))[0]) for p in OTHERS])
    body.append(["paper's average"] + [""] * len(POLICIES) + [gain(PAPER["faults"][f"grit_over_{p}"]["value"]) for p in OTHERS])
    return ["## Faults", "", "Faults that the driver serves, on invalid entries and on writes to read-only pages: one for each page of a batch. Last columns: GRIT relative to each policy."] + \
        table(["", *POLICIES.values()] + [f"vs. {POLICIES[p]}" for p in OTHERS], body)


def choices(f):
    body = []
    for w in f.workloads:
        def of(name, p="grit", w=w):
            return f.of("policies", "4", w, p, name)
        if of("faults") is None:
            continue
        pages = math.ceil(of("footprint") / PAGE)
        body.append([w, pages, of("chosen_duplicated"), of("chosen_counted"), of("predicted"), of("moved_by_counters"), of("refused"),
                     percent(ratio(of("remote_accesses"), of("requests"))), of("evicted"), of("evicted", "migrate") or 0, of("evicted", "duplicate") or 0])
    return ["## Choices", "",
            "With GRIT: choices of duplication and of counters for a page, pages whose scheme was predicted, pages that moved when they were counted, counted pages that a full GPU "
            "could not take, requests of SMs to another device's memory, and evicted pages; the last two columns: pages evicted by on-touch and duplication."] + \
        table(["", "pages", "duplicated", "counted", "predicted", "moved by counters", "refused", "remote requests", "evicted", "on-touch", "duplication"], body)


def thresholds(f):
    rows = [(f"{n} faults", str(n), PAPER["thresholds"][str(n)]["value"]) for n in THRESHOLDS] + [("4 faults, no prediction", "no prediction", PAPER["without_prediction"]["value"])]
    body = []
    for name, what, paper in rows:
        speedups = f.speedups("policies", what, "grit", "migrate", ("policies", "4"))
        geometric, arithmetic = means(speedups)
        body.append([name, gain(paper), gain(geometric), gain(arithmetic)] + [show(s) for s in speedups])
    return ["## Fault threshold", "", "GRIT over on-touch migration, by the number of faults after which a page's scheme is chosen (`memory.grit.faults`)."] + \
        table(["", "paper", "geometric mean", "arithmetic mean", *f.workloads], body)


def relative(f, part, what, base):
    """Columns of a row of a varied machine: performance of each policy over on-touch, GRIT over the others, and on-touch over the preset's."""
    over = [means(f.speedups(part, what, p, "migrate"))[0] for p in POLICIES if p != "migrate"]
    grit = [gain(means(f.speedups(part, what, "grit", p))[0]) for p in OTHERS]
    return [show(value) for value in over] + grit + ([show(means(f.speedups(part, what, "migrate", "migrate", ("policies", "4")))[0])] if base else [])


HEADER = [POLICIES[p] for p in POLICIES if p != "migrate"] + [f"GRIT vs. {POLICIES[p]}" for p in OTHERS]


def costs(f):
    body = [[time] + relative(f, *(("policies", "4") if time == BASE_COST else ("costs", time)), True) for time in COSTS]
    return ["## Fault cost", "", "Time of a batch of faults and of a service of access counters (`driver.batch.time`, `driver.counters.interrupt_time`). Geometric means over the eight workloads: "
            "performance relative to on-touch migration at the same cost, GRIT relative to each policy, and on-touch relative to 20 us."] + \
        table(["", *HEADER, "on-touch"], body)


def readings(f):
    body = [["as above", "", *relative(f, "policies", "4", True)]]
    for what, (settings, source) in READINGS.items():
        body.append([what, source + ": " + ", ".join(f"`{key} = {value}`" for key, value in settings.items()), *relative(f, "readings", what, True)])
    body.append([LARGER, "about twice the data of each workload", *relative(f, "readings", LARGER, False), ""])
    return ["## Readings", "", "Geometric means over the eight workloads, as in the table of fault costs. Last column: on-touch migration relative to the preset's machine."] + \
        table(["", "source: settings", *HEADER, "on-touch"], body)


def workloads(size):
    body = [[w, f"`{x.program}`", x.stands_for or "the same program", ", ".join(f"{k} {v}" for k, v in x.sizes[size].items()), f"{FOOTPRINTS[w][size] / 2**20:.1f}",
             ", ".join(f"{k} {v}" for k, v in x.sizes["larger"].items())] for w, x in WORKLOADS.items()]
    return ["## Workloads", ""] + table(["paper", "here", "stands for", "size", "MiB", "larger"], body, text=True)


def constants():
    """The preset's settings."""
    body, name = [], ""
    for line in (ROOT / f"topologies/presets/{PRESET}.toml").read_text().splitlines():
        if line.startswith("["):
            name = line.strip("[]")
        elif " = " in line and not line.startswith("#"):
            key, _, value = line.partition(" = ")
            body.append([f"`{name}.{key}`", value.strip().strip('"')])
    return ["## Constants", "", f"Preset `{PRESET}`; sources and assumptions are in `topologies/presets/{PRESET}.toml`."] + table(["parameter", "value"], body)


def wrong_footprints(measured, size):
    """Workloads that do not have the footprint of study.py, by which the memory of a GPU is set."""
    return sorted({f"{key[1]}: {m['footprint']} bytes, not {FOOTPRINTS[key[1]][size]}" for found in measured.values() for key, m in found.items()
                   if key[0] != LARGER and m["footprint"] != FOOTPRINTS[key[1]][size]})


def write(folder, measured, made):
    folder.mkdir(parents=True, exist_ok=True)
    f = Figures(measured)
    found = averages(f)
    listed = [{"part": part, "what": key[0], "workload": key[1], "policy": key[2]} | m for part, runs in measured.items() for key, m in runs.items()]
    records.write(folder, about=made, averages=found, rows=listed)
    lines = ["# GRIT: a page placement scheme for each page", "", f"Written by `run`; do not edit. {sentence(made)}", "",
             "Four GPUs of 64 CUs, preset `paper-grit`, data on the CPU before the first kernel; each GPU has memory for 70% of the footprint. The paper's figures: averages of "
             "performance from its abstract, all others from public summaries.", ""]
    discussion = FOLDER / "discussion.md"
    if discussion.exists() and Path(folder).resolve() == FOLDER:
        lines += [discussion.read_text().strip(), ""]
    if measured.get("policies"):
        for section in (performance, faults, choices, thresholds):
            lines += section(f)
        lines[6:6] = overview(f, found)
    if measured.get("costs"):
        lines += costs(f)
    if measured.get("readings"):
        lines += readings(f)
    lines += workloads(made["size"]) + constants() + ["", "The first half of each digest is in results.json.xz."]
    (folder / "results.md").write_text("\n".join(lines).rstrip() + "\n")
