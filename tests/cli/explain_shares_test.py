# SPDX-License-Identifier: Apache-2.0
"""farfault explain A B: of two changed parameters, each has about the share that runs with one of them measure.

The measured share of a parameter is the mean of two changes of the end: A with this parameter alone, and B
without it. One of the parameters often has no effect of its own (a decoy).

Usage: python3 explain_shares_test.py BUILD_FOLDER/anything
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from checks import check, counts  # noqa: E402

farfault = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "farfault")
folder = tempfile.TemporaryDirectory()
finished = {}


def run(configuration, settings):
    """The path of the result, and its end in ps."""
    key = json.dumps([configuration, sorted(settings.items())])
    if key not in finished:
        path = os.path.join(folder.name, f"{len(finished)}.h5")
        summary = path + ".json"
        words = [farfault, "run", configuration, "--output", path, "--threads", "1", "--progress", "off",
                 "--summary-json", summary]
        for name, value in settings.items():
            words += ["--set", f"{name}={value}"]
        done = subprocess.run(words, capture_output=True, text=True)
        check(done.returncode == 0, f"{settings}: {done.stderr}")
        finished[key] = path, json.loads(pathlib.Path(summary).read_text(encoding="utf-8"))["end_time_ps"]
    return finished[key]


def explained(a, b):
    text = subprocess.run([farfault, "explain", a, b], capture_output=True, text=True)
    check(text.returncode == 0 and text.stderr == "", f"explain: {text.stderr}")
    done = subprocess.run([farfault, "explain", a, b, "--json"], capture_output=True, text=True)
    return text.stdout, json.loads(done.stdout)


def check_sums(name, e):
    for rows, rest in ("parts", 0), ("causes", 0), ("groups", 0), ("sms", "sms_rest_ps"), ("stages", "stages_rest_ps"):
        total = sum(row["ps"] for row in e[rows]) + (e[rest] if rest else 0)
        check(total == e["change_ps"], f"{name}: {rows} add up to {total}, not {e['change_ps']}")


def attributed(e):
    """The share of the change of each differing parameter; one that shares a group has an equal part of it."""
    shares = {s["name"]: 0.0 for s in e["settings"]}
    for group in e["groups"]:
        for i in group["settings"]:
            shares[e["settings"][i]["name"]] += group["ps"] / e["change_ps"] / len(group["settings"])
    return shares


def measured(configuration, base, changes):
    a, b = run(configuration, base)[1], run(configuration, base | changes)[1]
    shares = {}
    for name, value in changes.items():
        alone = run(configuration, base | {name: value})[1] - a
        without = {key: v for key, v in changes.items() if key != name}
        last = b - run(configuration, base | without)[1]
        shares[name] = (alone + last) / 2 / (b - a)
    return shares


V100 = "gpu-v100"
pagerank = {"workload.name": "pagerank", "workload.size": "small"}
gups = {"workload.name": "gups", "workload.gups.table": "512MiB", "workload.gups.blocks": 64,
        "workload.gups.updates": 8, "gpu.gmmu.walkers": 4}
few_entries = gups | {"gpu.l2_tlb.entries": 64}
small_table = gups | {"workload.gups.table": "64MiB", "gpu.gmmu.walkers": 64}
spmv = {"workload.name": "spmv"}
applications = os.path.join(folder.name, "two.toml")
pathlib.Path(applications).write_text(
    'include = ["paper-gmmu-bypass"]\n[[application]]\nname = "fir"\nworkload = "fir"\nfir.size = "64KiB"\n'
    '[[application]]\nname = "sort"\nworkload = "stream"\nstream.bytes = "64KiB"\n', encoding="utf-8")
two_gpus = {"machine.topology": "generic", "machine.generic.gpus": 2, "gpu.sms": 4}
cluster = two_gpus | {"workload.name": "stream", "workload.stream.bytes": "64KiB",
                      "machine.generic.nics_per_switch": 1, "machine.cluster.machines": 2}

four_gpus = os.path.join(folder.name, "four.toml")
pathlib.Path(four_gpus).write_text("", encoding="utf-8")
stencil = {"workload.name": "stencil2d", "workload.size": "small"}
one_gpu = {"machine.topology": "single-gpu", "workload.size": "small"}

# Configuration, settings of A, changes of B, first causes (one of them is the first), tolerance of the shares.
PAIRS = {
    "slower DRAM, and SMs that were idle": (
        V100, pagerank, {"gpu.dram.controller_latency": "500ns", "gpu.sms": 40}, {"dram_time"}, 0.1),
    "a smaller L2 cache, and SMs that were needed": (
        V100, pagerank | {"workload.size": "medium"}, {"gpu.l2_cache.size": "192KiB", "gpu.sms": 10},
        {"l2_misses"}, 0.25),
    "fewer page walkers, and a slower look-up in front of them": (
        V100, few_entries, {"gpu.gmmu.walkers": 2, "gpu.l2_tlb.latency": 11}, {"walk_service"}, 0.1),
    "fewer page walkers, and a slightly slower clock": (
        V100, few_entries, {"gpu.gmmu.walkers": 2, "gpu.clock": "1520MHz"}, {"walk_service"}, 0.1),
    "fewer L2 TLB entries, and fewer page walkers": (
        V100, gups, {"gpu.l2_tlb.entries": 64, "gpu.gmmu.walkers": 2}, {"l2_tlb_misses"}, 0.25),
    "smaller pages, and a slower look-up": (
        V100, small_table, {"memory.page_size": "4KiB", "gpu.l2_tlb.latency": 200}, {"l2_tlb_time"}, 0.35),
    "slower batches of faults, and fewer L2 TLB entries": (
        "nvidia-uvm", pagerank, {"driver.batch.time": "400us", "gpu.l2_tlb.entries": 32}, {"fault_time"}, 0.05),
    "slower DRAM, and MSHRs that are never full": (
        V100, spmv, {"gpu.dram.controller_latency": "500ns", "gpu.l1_tlb.mshrs": 30}, {"dram_time"}, 0.05),
    "two applications: slower DRAM, and a slightly slower clock": (
        applications, two_gpus, {"gpu.dram.bandwidth": "1GB/s", "gpu.clock": "990MHz"},
        {"dram_queue_time", "dram_service", "remote_memory_time"}, 0.2),
    "a slower link, and more translations by the IOMMU behind it": (
        four_gpus, stencil, {"links.scale.by_name": "root-switch1 bandwidth=0.5", "gpu.l2_tlb.entries": 32},
        {"links_time"}, 0.1),
    "another placement, and more translations by the IOMMU": (
        four_gpus, stencil, {"memory.placement": "contiguous", "gpu.l2_tlb.entries": 32}, {"links_time"}, 0.3),
    "one page walker, and DRAM rows that close more slowly": (
        four_gpus, one_gpu | {"workload.name": "gups"}, {"gpu.gmmu.walkers": 1, "gpu.dram.t_rp": "16ns"},
        {"l2_tlb_misses"}, 0.1),
    "walks of a fixed time, which no cause has, and a slower launch": (
        four_gpus, one_gpu | {"workload.name": "atax"},
        {"gpu.gmmu.walk_latency": 500, "host.launch_latency": "5500ns"}, {"in_flight"}, 0.1),
    "cluster: slower DRAM, and MSHRs that are never full": (
        "paper-gmmu-bypass", cluster, {"gpu.dram.controller_latency": "1us", "gpu.l1_tlb.mshrs": 48},
        {"dram_time", "remote_memory_time"}, 0.2),
}
for name, (configuration, base, changes, causes, tolerance) in PAIRS.items():
    a, b = run(configuration, base)[0], run(configuration, base | changes)[0]
    text, e = explained(a, b)
    check_sums(name, e)
    check(e["first_cause"] in causes, f"{name}: the first cause is {e['first_cause']}")
    shares, reference = attributed(e), measured(configuration, base, changes)
    largest = max(reference, key=reference.get)
    check(largest in text.splitlines()[0], f"{name}: {largest} is not in: {text.splitlines()[0]}")
    for parameter, share in reference.items():
        check(abs(shares[parameter] - share) <= tolerance,
              f"{name}: {parameter} has {shares[parameter]:.1%} of the change, measured {share:.1%}")
    back = explained(b, a)[1]
    check_sums(name, back)
    check({c["name"]: -c["ps"] for c in back["causes"]} == {c["name"]: c["ps"] for c in e["causes"]},
          f"{name}: from B to A, each cause has the opposite sign")

# The GPUs that end last in a kernel determine its time.
bfs = {"workload.name": "bfs", "workload.size": "small", "machine.topology": "generic", "machine.generic.gpus": 4}
text, e = explained(run("paper-gmmu-bypass", bfs)[0], run("paper-gmmu-bypass", bfs | {"memory.page_size": "64KiB"})[0])
check_sums("larger pages of a graph", e)
check(e["first_cause"] == "remote_accesses", f"larger pages of a graph: {text.splitlines()[0]}")

# A link that is saturated in both runs bounds them.
wide = {"machine.topology": "generic", "machine.generic.gpus": 2}
saturated = wide | {"workload.name": "stream", "workload.stream.bytes": "2MiB", "memory.placement": "cpu"}
text, e = explained(run("paper-gmmu-bypass", saturated)[0],
                    run("paper-gmmu-bypass", saturated | {"links.pcie_bandwidth": "8GB/s"})[0])
check_sums("a saturated link", e)
check(e["first_cause"] == "link_service", f"a saturated link: {text.splitlines()[0]}")

folder.cleanup()
print(counts())
