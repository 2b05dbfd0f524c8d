# SPDX-License-Identifier: Apache-2.0
"""Sequences of messages, read from traces and results of small runs: one access, one far-fault, one batch, one eviction.

A trace has the stages of each access, with the component of each. A message is a change of the component. The result's tables
have the times of fault batches and migrations.
"""
import collections
import os
import pathlib
import sys
import tempfile

import h5py

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
import perfetto

Message = collections.namedtuple("Message", "at sender receiver text")  # at: picoseconds of the run
Stage = collections.namedtuple("Stage", "begin end actor text")
Story = collections.namedtuple("Story", "title actors steps")  # steps: messages and stages, in order

TRANSPOSE = ("--set", "workload.name=transpose", "--set", "workload.transpose.width=256", "--set")
RUNS = {
    "walks": ("paper-gmmu-bypass", *TRANSPOSE, "workload.transpose.height=64", "--set", "gpu.sms=2", "--set", "memory.placement=interleave"),
    "faults": ("paper-batch-aware", *TRANSPOSE, "workload.transpose.height=256", "--set", "gpu.sms=1", "--set",
               "memory.fault_path=gpu", "--set", "memory.gpu_share=0.5"),
}
# Requests of a component to the next one, by the kinds of both.
TEXTS = {
    ("sm", "l2_tlb"): "L1 TLB miss", ("l2_tlb", "gmmu"): "L2 TLB miss", ("l2_tlb", "sm"): "translation",
    ("gmmu", "l2_tlb"): "translation", ("gmmu", "sm"): "page fault", ("gmmu", "rdma"): "page not mapped",
    ("l2_tlb", "rdma"): "translate", ("rdma", "iommu"): "translate", ("iommu", "rdma"): "response",
    ("rdma", "sm"): "response", ("rdma", "l2_tlb"): "response", ("sm", "l2_slice"): "L1 cache miss",
    ("l2_slice", "dram"): "L2 cache miss", ("dram", "l2_slice"): "line", ("l2_slice", "sm"): "data", ("sm", "rdma"): "remote access",
    ("sm", "gmmu"): "merged into an outstanding walk",
}


class Recorded:
    """The trace and the tables of a run in which every access is traced."""

    def __init__(self, program, words):
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "run.h5")
            program.said("run", *words, "--trace", "0ns,1s", "--trace-sample", "1", "--output", result, "--progress", "off",
                         "--threads", "1")
            self.trace = perfetto.read(os.path.join(folder, "run.pftrace"))
            with h5py.File(result) as file:
                self.tables = {name: rows_of(file["tables"][name]) for name in ("fault_batches", "migrations") if name in file["tables"]}
        self.accesses, self.stages = {}, collections.defaultdict(list)
        for s in self.trace.slices:
            if "address" in s.args:
                self.accesses[s.args["access"]] = s
            elif "access" in s.args:
                self.stages[s.args["access"]].append(s)
        for stages in self.stages.values():
            stages.sort(key=lambda s: s.ts)

    def component(self, piece):
        return self.trace.component(piece.track)


def rows_of(group):
    columns = {name: group[name][:].tolist() for name in group}
    count = len(next(iter(columns.values())))
    return [{name: v[i].decode() if isinstance(v[i], bytes) else v[i] for name, v in columns.items()} for i in range(count)]


def counted(count, name, plural="s"):
    return f"{count} {name}" + (plural if count != 1 else "")


def kind_of(component):
    return component.rpartition(".")[2].rstrip("0123456789")


def text_between(sender, receiver, stage, store):
    """`stage`: the one that follows the message."""
    if stage == "fault" and kind_of(receiver) == "sm":
        return "page fault"
    text = TEXTS.get((kind_of(sender), kind_of(receiver)), "request")
    return {"data": "acknowledgement", "L1 cache miss": "store"}.get(text, text) if store else text


def refuse(title):
    sys.exit(f"farfault: no access or batch of the recorded run is '{title}'; change RUNS in docs/tools/stories.py")


def access_story(recorded, title, holds):
    """The first access that `holds`: its stages, a message for each change of component, and the response to the SM."""
    issued = sorted(recorded.accesses.items(), key=lambda item: (item[1].ts, item[0]))
    number = next((n for n, whole in issued if holds(whole, [s.name for s in recorded.stages[n]])), None)
    if number is None:
        refuse(title)
    whole, steps = recorded.accesses[number], []
    here = recorded.component(whole)
    actors = [here]
    for s in recorded.stages[number]:
        there = recorded.component(s)
        if there != here:
            steps.append(Message(s.ts, here, there, text_between(here, there, s.name, whole.name == "store")))
        steps.append(Stage(s.ts, s.ts + s.dur, there, s.name))
        if there not in actors:
            actors.append(there)
        here = there
    sm = recorded.component(whole)
    if here != sm:
        steps.append(Message(whole.ts + whole.dur, here, sm, text_between(here, sm, None, whole.name == "store")))
    return Story(title, actors, steps)


def batch_story(recorded, title, holds):
    """The first batch of faults that `holds`: reading of the buffer, migrations and evictions, and resumed accesses."""
    batch = next((b for b in recorded.tables["fault_batches"] if holds(b)), None)
    if batch is None:
        refuse(title)
    gpu, cpu = batch["gpu"], "cpu0"
    sms, unit, driver = gpu + " SMs", gpu + ".gmmu", "driver"
    steps = [Message(batch["first_fault"], sms, unit, "first page fault"),
             Message(batch["began"], unit, driver, counted(batch["raw_faults"], "fault") + " read, " + counted(batch["duplicates"], "duplicate"))]
    moves = [m for m in recorded.tables["migrations"] if batch["began"] <= m["started"] and m["finished"] <= batch["ended"]]
    for column, text in (("started", "unmap"), ("unmapped", "unmapped")):
        groups = collections.Counter((m[column], m["from"]) for m in moves)
        for (at, device), count in groups.items():
            ends = (driver, device) if column == "started" else (device, driver)
            steps.append(Message(at, *ends, f"{text} {counted(count, 'page')}"))
    for m in moves:
        steps.append(Message(m["finished"], m["from"], m["to"], f"page {m['page']:#x} " + ("evicted" if m["to"] == cpu else "copied")))
    # Accesses resume when their page is mapped, or at the end of the batch: the count after each copy, until the next one.
    copies = sorted(m["finished"] for m in recorded.tables["migrations"] if m["to"] == gpu)
    resumed = sorted(s.ts + s.dur for stages in recorded.stages.values() for s in stages if s.name == "fault")
    for m in moves:
        if m["to"] == gpu:
            until = next((c for c in copies if c > m["finished"]), float("inf"))
            times = [t for t in resumed if m["finished"] <= t < until]
            if times:
                steps.append(Message(times[0], unit, sms, counted(len(times), "access", "es") + " resumed"))
    steps.append(Stage(batch["began"], batch["ended"], driver, "batch"))
    steps.sort(key=lambda s: s.at if isinstance(s, Message) else s.end)  # stable: as listed above at the same time
    used = {a for m in steps for a in ((m.sender, m.receiver) if isinstance(m, Message) else (m.actor,))}
    return Story(title, [a for a in (sms, unit, driver, gpu, cpu) if a in used], steps)


def stories_of(runs):
    """{name: (run, story)}"""
    walks, faults = runs["walks"], runs["faults"]
    return {
        "l1_tlb_hit": ("walks", access_story(walks, "A load that hits the L1 TLB", lambda a, stages: a.name == "load" and
                                             a.args["translation"] == "l1" and "dram" in stages and "links" not in stages)),
        "page_walk": ("walks", access_story(walks, "A load that misses both TLBs", lambda a, stages: a.name == "load" and
                                            a.args["translation"] == "gmmu" and {"l2_tlb", "walk"} <= set(stages) and "links" not in stages)),
        "far_fault": ("faults", access_story(faults, "A load whose page is not in GPU memory", lambda a, stages: a.name == "load" and
                                             a.args["translation"] == "fault" and "walk" in stages)),
        "batch": ("faults", batch_story(faults, "A batch of page faults", lambda b: b["evicted_pages"] == 0 and b["pages"] > 1)),
        "eviction": ("faults", batch_story(faults, "A batch that evicts pages", lambda b: b["evicted_pages"] == 2)),
    }


def stories(program):
    """{name: story}"""
    found = stories_of({name: Recorded(program, words) for name, words in RUNS.items()})
    return {name: story for name, (_, story) in found.items()}
