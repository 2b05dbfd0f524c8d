# SPDX-License-Identifier: Apache-2.0
"""farfault run --trace: reads the file like trace_processor, and compares it with the result of the same run.

Usage: python3 trace_test.py BUILD_FOLDER/anything
"""
import collections
import os
import shutil
import subprocess
import sys
import tempfile

import h5py

tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(tests, "support"))
import perfetto  # noqa: E402
from checks import check, counts  # noqa: E402

farfault = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "farfault")
STAGES = ("load_store", "l1_tlb", "l2_tlb", "walk_queue", "walk", "iommu", "fault", "l1_cache", "l2_cache",
          "dram_queue", "dram", "links", "remote_memory")
RANKS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
         "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_base_warn_component_unused": "0",
         "OMPI_MCA_hwloc_base_binding_policy": "none"}
ALL = ("--trace-sample", "1", "--trace-limit", "100000000")


class Run:
    """The output of a run, with its digest, its result and its trace, if they exist."""

    def __init__(self, folder, words, ranks=1, threads=1, continues=False):
        self.result = os.path.join(folder, "result.h5")
        path = os.path.join(folder, "result.pftrace")
        for old in (self.result, path):
            if os.path.exists(old) and not continues:
                os.remove(old)
        start = ["mpirun", "--quiet", "-n", str(ranks)] if ranks > 1 else []
        done = subprocess.run([*start, farfault, "run", *words, "--threads", str(threads), "--output", self.result,
                               "--progress", "off"],
                              capture_output=True, text=True, timeout=600, env={**os.environ, **RANKS})
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.digest = next((line.split()[-1] for line in self.out.splitlines() if "digest" in line), None)
        self.bytes = None
        if os.path.exists(path):
            with open(path, "rb") as file:
                self.bytes = file.read()

    def trace(self):
        try:
            return perfetto.Trace(self.bytes)
        except (ValueError, KeyError, TypeError) as e:
            check(False, f"the trace is invalid: {e!r}")
            raise SystemExit(counts()) from e


def accesses_of(trace):
    """By access number: the slice of the whole access (or None), and its stages, in order."""
    whole, parts = {}, collections.defaultdict(list)
    for s in trace.slices:
        if "address" in s.args:
            whole[s.args["access"]] = s
        elif "access" in s.args:
            parts[s.args["access"]].append(s)
    for stretches in parts.values():
        stretches.sort(key=lambda s: s.ts)
    return whole, parts


def check_accesses(name, trace):
    """The stages of each access cover it without gaps, and stages in other components are linked to it."""
    whole, parts = accesses_of(trace)
    tiled = linked = nested = True
    slices = trace.slices
    for number, access in whole.items():
        at = access.ts
        for s in parts[number]:
            tiled = tiled and s.ts == at and s.dur > 0 and s.name in STAGES
            at = s.ts + s.dur
            own = trace.component(s.track) == trace.component(access.track)
            nested = nested and (not own or (s.track == access.track and slices[s.parent] is access))
            linked = linked and s.flows == (() if own else (number,))
        tiled = tiled and at == access.ts + access.dur
        elsewhere = any(s.flows for s in parts[number])
        linked = linked and access.flows == ((number,) if elsewhere else ())
    check(tiled, f"{name}: the slices of an access are contiguous from its issue to its end")
    check(nested, f"{name}: slices of the SM are within the access, on its track")
    check(linked, f"{name}: a flow connects an access only with its slices on other tracks")
    check(set(parts) <= set(whole), f"{name}: every slice belongs to a recorded access")
    overlaps = collections.defaultdict(int)
    for s in sorted((s for s in slices if s.parent is None), key=lambda s: s.ts):
        check(s.ts >= overlaps[s.track], f"{name}: slices of a track do not overlap") if s.ts < overlaps[s.track] else 0
        overlaps[s.track] = s.ts + s.dur
    return whole, parts


def total(result, name):
    group = "timeseries/sm" if name in result["timeseries/sm"] else "timeseries/sm.by_gpu"
    return int(result[group][name][-1].sum())


def check_against_result(name, run, trace):
    """With every access of the run traced, the sums must equal the latency stack."""
    whole, parts = check_accesses(name, trace)
    spent = collections.Counter()
    for stretches in parts.values():
        for s in stretches:
            spent[s.name] += s.dur
    served = collections.Counter()
    for access in whole.values():
        if access.args["translation"] == "l1":
            served["l1_tlb_hits"] += 1
        if access.name == "store":
            served["stores"] += 1
        elif access.args["data"] == "l1":
            served["l1_hits"] += 1
    with h5py.File(run.result) as result:
        check(len(whole) == total(result, "transactions") > 0, f"{name}: every transaction is recorded")
        for stage in STAGES:
            there = total(result, "time_in_" + stage)
            check(spent[stage] == there, f"{name}: {stage} took {spent[stage]} ps, {there} in the result")
        check(sum(s.dur for s in whole.values()) == total(result, "access_time"), f"{name}: access_time")
        for statistic in ("stores", "l1_hits"):
            check(served[statistic] == total(result, statistic), f"{name}: {statistic}")


def check_counters(name, run, trace, begin, end):
    """Each counter equals the result at each of its samples in the window."""
    compared = 0
    with h5py.File(run.result) as result:
        for track, values in trace.values.items():
            path = trace.component(track)
            component, statistic = path.rsplit(".", 1)
            for group in result["timeseries"].values():
                paths = [i.decode() for i in group["instance"][:]] if "instance" in group else []
                if component not in paths or statistic not in group:
                    continue
                series = group[statistic][:, paths.index(component)]
                for at, value in zip(group["time_ps"][:], series):
                    if begin <= at <= end:
                        shown = [v for t, v in values if t <= at][-1]
                        compared += 1
                        check(shown == value, f"{name}: {path} at {at} ps is {value}, not {shown}") \
                            if shown != value else 0
    check(compared > 20, f"{name}: counters are compared with the result, {compared} values")


def properties_of(access, parts):
    """Compares all properties of an access except its number."""
    args = {k: v for k, v in access.args.items() if k != "access"}
    return (access.ts, access.dur, access.name, tuple(sorted(args.items())), tuple((p.ts, p.dur, p.name) for p in parts))


small = ("--set", "gpu.sms=4")
transpose = ("--set", "workload.name=transpose", "--set", "workload.transpose.width=256", "--set",
             "workload.transpose.height=128")
bfs = ("--set", "workload.name=bfs", "--set", "workload.bfs.rmat.scale=8")
few = ("--set", "gpu.l1_tlb.entries=4", "--set", "gpu.l1_tlb.ways=4", "--set", "gpu.l2_tlb.entries=32")
batches = ("--set", "memory.placement=cpu", "--set", "memory.remote_touch=migrate", "--set", "memory.fault_path=gpu",
           "--set", "memory.gpu_share=0.5", "--set", "driver.migrations=64", "--set",
           "driver.batch.eviction_unit=16KiB", "--set", "driver.batch.replay=page")
cases = {
    "bfs": (*bfs, *small),
    "transpose, interleaved": (*transpose, *small, "--set", "memory.placement=interleave"),
    "first touch by the driver, small TLBs": (*bfs, *small, *few, "--set", "memory.first_touch_by=driver",
                                              "--set", "memory.placement=first_touch"),
    "pages mapped by the IOMMU": (*transpose, *small, "--set", "memory.placement=first_touch", "--set",
                                  "memory.first_touch_by=iommu"),
    "pages moving": (*transpose, *small, "--set", "memory.placement=interleave", "--set",
                     "memory.remote_touch=migrate"),
    "read-only copies": (*bfs, *small, *few, "--set", "memory.remote_touch=duplicate", "--set",
                         "memory.fault_path=gpu", "--set", "memory.first_touch_by=driver"),
    "batches of faults": (*transpose, *small, *few, *batches),
    "thread oversubscription": (*transpose, *small, *few, *batches, "--set", "gpu.sm.max_blocks=2", "--set",
                             "gpu.sm.registers=16384", "--set", "gpu.sm.thread_blocks=thread_oversubscription",
                             "--set", "gpu.sm.thread_oversubscription.period=1000"),
    "an L2 cache in halves, large pages": (
        "--set", "workload.name=transpose", "--set", "workload.transpose.width=1024", "--set",
        "workload.transpose.height=512", *small, *few, "--set", "gpu.l2_cache.partitions=2", "--set",
        "memory.large_pages=input", "--set", "memory.placement=interleave"),
    "a cluster of one memory": (*transpose, *small, "--set", "machine.topology=two-gpu", "--set",
                                "machine.cluster.machines=3", "--set", "memory.scope=cluster", "--set",
                                "memory.remote_touch=migrate"),
    "waits longer than a response can say": (*bfs, *small, "--set", "memory.placement=first_touch", "--set",
                                             "memory.first_touch_by=iommu", "--set", "iommu.walkers=1", "--set",
                                             "iommu.walk_latency=1000000"),
    "two applications": (),
}
APPLICATIONS = """include = ["paper-gmmu-bypass"]
gpu.sms = 4
memory.placement = "interleave"
memory.remote_touch = "migrate"
[[application]]
name = "filter"
workload = "fir"
fir.size = "64 KiB"
repeats = 2
[[application]]
name = "graph"
workload = "bfs"
bfs.rmat.scale = 8
start = "3 us"
"""

with tempfile.TemporaryDirectory() as scratch:
    both = os.path.join(scratch, "both.toml")
    with open(both, "w") as file:
        file.write(APPLICATIONS)
    for name, words in cases.items():
        words = (both if name == "two applications" else "paper-gmmu-bypass", *words)
        plain = Run(scratch, words)
        check(plain.code == 0 and plain.bytes is None, f"{name}: without --trace, no trace is written: {plain.err}")
        check(" trace  " not in plain.out, f"{name}: without --trace, the summary does not mention one")
        whole_run = Run(scratch, (*words, "--trace", "0ns,1s", *ALL))
        check(whole_run.code == 0 and whole_run.err == plain.err, f"{name}: a trace is written: {whole_run.err}")
        check(whole_run.digest == plain.digest, f"{name}: a trace does not change the digest")
        everything = whole_run.trace()
        check_against_result(name, whole_run, everything)

        # A window in which every third access is drawn, in any component.
        last = max(s.ts + s.dur for s in everything.slices if "access" in s.args)
        issues = sorted({s.ts for s in everything.slices if "address" in s.args})
        begin, end = issues[len(issues) // 3], issues[len(issues) // 2]
        window = (*words, "--trace", f"{begin}ps,{end}ps", "--trace-sample", "3", "--set",
                  f"run.sample_interval={max((end - begin) // 8, last // 2000, 1000)}ps")
        one = Run(scratch, window)
        trace = one.trace()
        accesses_of_window, parts_of_window = check_accesses(name + ", a window", trace)
        check_counters(name, one, trace, begin, end)
        whole, parts = accesses_of(everything)
        known = {properties_of(access, parts[n]) for n, access in whole.items()}
        drawn = [properties_of(access, parts_of_window[n]) for n, access in accesses_of_window.items()]
        check(all(d in known for d in drawn), f"{name}: an access in a window equals the one in the full trace")
        check(all(begin <= d[0] < end for d in drawn), f"{name}: accesses are issued in the window")
        beyond = sum(end <= access.ts < end + (end - begin) for access in whole.values())
        check(beyond > 0, f"{name}: others are issued soon after it")
        there = sum(begin <= access.ts < end for access in whole.values())
        check(0.2 * there <= len(drawn) <= 0.5 * there or there < 60,
              f"{name}: {len(drawn)} of {there} accesses are one in three")
        check(Run(scratch, (*window, "--partitions", "split", "--no-merge"), threads=2).bytes == one.bytes,
              f"{name}: the same bytes on two threads, in partitions")
        if shutil.which("mpirun") and name in ("bfs", "pages moving"):
            check(Run(scratch, window, ranks=2).bytes == one.bytes, f"{name}: the same bytes on two ranks")

    # Another seed draws other accesses of a workload that does not depend on it.
    words = ("paper-gmmu-bypass", *cases["transpose, interleaved"], "--trace", "0ns,1s", "--trace-sample", "3")
    drawn = []
    for seed in ("1", "2"):
        whole, parts = accesses_of(Run(scratch, (*words, "--set", f"run.seed={seed}")).trace())
        drawn.append({properties_of(access, parts[n]) for n, access in whole.items()})
    check(drawn[0] != drawn[1] and min(map(len, drawn)) > 100, "another run.seed draws other accesses")

    # A kernel name that is not valid text: the name in the trace is valid text.
    hostile = os.path.join(scratch, "kernel-1.traceg")
    with open(hostile, "wb") as file:
        file.write(b"-kernel name = k\xff\x1b[31m\xe2\x80\xae\n-kernel id = 1\n-grid dim = (1,1,1)\n"
                   b"-block dim = (32,1,1)\n-shmem = 0\n-nregs = 12\n-accelsim tracer version = 5\n\n"
                   b"#traces format = whatever\n\n#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = 1\n"
                   b"0100 0000000d 1 R1 LDG.E 1 R2 4 0 0x1000 0x5000 0x3000 0\n\n#END_TB\n")
    odd = Run(scratch, ("paper-gmmu-bypass", *small, "--set", "gpu.warp_width=32", "--set", "workload.name=trace",
                        "--set", f"workload.trace.file={hostile}", "--trace", "0ns,1s", *ALL))
    names = [s.name for s in odd.trace().slices if "launch" in s.args] if odd.bytes else odd.err
    check(len(names) == 1 and names[0].startswith("k") and names[0].isprintable(), f"a name is one line: {names}")

    # A limit below the number of SMs leaves one access per SM.
    least = Run(scratch, ("paper-gmmu-bypass", *cases["transpose, interleaved"], "--trace", "0ns,1s", "--trace-sample", "1", "--trace-limit", "1"))
    whole, _ = check_accesses("a limit of 1", least.trace())
    of_sms = collections.Counter(least.trace().component(access.track) for access in whole.values())
    check(len(of_sms) > 4 and set(of_sms.values()) == {1}, f"one access of each SM: {of_sms}")
    check(f"the trace has {len(whole)} accesses and omits " in least.err and "the limit of 1 per SM" in least.err,
          f"the run reports it: {least.err}")

    # Selected components: their slices equal the slices in the trace of all components.
    words = ("paper-gmmu-bypass", *cases["bfs"])
    everything = Run(scratch, (*words, "--trace", "0ns,1s", *ALL)).trace()
    some = Run(scratch, (*words, "--trace", "0ns,1s,*.l2_tlb,cpu0.iommu,gpu1.sm?", *ALL)).trace()

    def wanted(path):
        return path.endswith(".l2_tlb") or path == "cpu0.iommu" or path.startswith("gpu1.sm")

    def slices_of(trace):
        return sorted((trace.component(s.track), s.ts, s.dur, s.name, s.args["access"], s.args.get("address", ""))
                      for s in trace.slices if "access" in s.args and wanted(trace.component(s.track)))

    tracks = {p for p in map(some.component, some.tracks) if not p.startswith("trace of")}
    check(tracks == {p for p in map(everything.component, everything.tracks) if wanted(p)},
          "only the selected components")
    check(len(slices_of(some)) > 300 and slices_of(some) == slices_of(everything), "all slices of the selected components")
    flows = collections.Counter(f for s in some.slices for f in s.flows)
    check(flows and min(flows.values()) > 1, "a flow joins at least two slices")
    counted = {some.component(c) for c in some.counters}
    check(counted and all(wanted(c.rsplit(".", 1)[0]) for c in counted), "only counters of the selected components")

    # Kernels and the window.
    with h5py.File(os.path.join(scratch, "result.h5")) as result:
        rows = result["tables/kernels"]
        there = [(int(f["launched"]), int(f["finished"])) for f in rows] if isinstance(rows, h5py.Dataset) else \
            list(zip(rows["launched"][:].tolist(), rows["finished"][:].tolist()))
    spans = [s for s in everything.slices if "launch" in s.args]
    check([(s.ts, s.ts + s.dur) for s in spans] == there and len(spans) > 2, "kernels match the result's table")
    check([(s.args["launched_ps"], s.args["finished_ps"]) for s in spans] == there, "kernels have the times of the result's table")
    shown_window = [s for s in everything.slices if s.name == "window"]
    check([(s.ts, s.dur, s.args["left_out"]) for s in shown_window] == [(0, 10**12, 0)], "the window is a slice")

    # A run resumed from a checkpoint, and one that is cut off.
    end = max(s.ts + s.dur for s in spans)
    saved = os.path.join(scratch, "saved")
    late = ("--trace", f"{end * 3 // 4}ps,{end}ps", "--trace-sample", "2")
    never_stopped = Run(scratch, (*words, *late))
    Run(scratch, (*words, "--checkpoint", saved, "--checkpoint-every", f"{end * 11 // 20}ps"))
    resumed = Run(scratch, (*words, "--resume", saved, *late), continues=True)
    check(resumed.bytes is not None and resumed.bytes == never_stopped.bytes, "the same bytes after a checkpoint")
    os.remove(os.path.join(scratch, "result.pftrace"))
    early = Run(scratch, (*words, "--resume", saved, "--trace", f"0ns,{end}ps"), continues=True)
    check(early.code == 0 and early.bytes is None and early.digest == resumed.digest, "no trace for a window before the checkpoint")
    check(early.err.startswith("farfault: trace skipped: its window starts at 0 ps, before the checkpoint ("),
          f"the run reports it: {early.err}")
    longest = max((s for s in everything.slices if "address" in s.args), key=lambda s: s.dur)
    middle = longest.ts + longest.dur // 2
    cut = Run(scratch, (*words, "--until", f"{middle}ps", "--trace", "0ns,1s", *ALL))
    trace = cut.trace()
    whole, _ = check_accesses("cut off", trace)
    check(any("unfinished" in access.args for access in whole.values()), "unfinished accesses are recorded")
    running = [s for s in trace.slices if "launch" in s.args and "finished_ps" not in s.args]
    check([s.ts + s.dur for s in running] == [middle], "the unfinished kernel is recorded")
print(counts())
