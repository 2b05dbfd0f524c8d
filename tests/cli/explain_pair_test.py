# SPDX-License-Identifier: Apache-2.0
"""farfault explain A B: names a planted difference first, with the parameter, and its parts add up.

Usage: python3 explain_pair_test.py BUILD_FOLDER/anything
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


def run(name, settings):
    """The path of the result of a small machine with these settings."""
    path = os.path.join(folder.name, name + ".h5")
    words = [farfault, "run", "paper-gmmu-bypass", "--output", path, "--threads", "1", "--progress", "off"]
    for key, value in ({"gpu.sms": 4} | settings).items():
        words += ["--set", f"{key}={value}"]
    done = subprocess.run(words, capture_output=True, text=True)
    check(done.returncode == 0, f"{name} runs: {done.stderr}")
    return path


def explained(a, b):
    """The readable and the JSON form."""
    text = subprocess.run([farfault, "explain", a, b], capture_output=True, text=True)
    check(text.returncode == 0 and text.stderr == "", f"explain: {text.stderr}")
    done = subprocess.run([farfault, "explain", a, b, "--json"], capture_output=True, text=True)
    return text.stdout, json.loads(done.stdout)


def check_sums(name, e):
    def of(rows):
        return sum(row["ps"] for row in e[rows])

    change = e["b"]["end_ps"] - e["a"]["end_ps"]
    check(e["change_ps"] == change, f"{name}: the change of the end")
    for rows, rest in ("parts", 0), ("causes", 0), ("groups", 0), ("sms", "sms_rest_ps"), ("stages", "stages_rest_ps"):
        total = of(rows) + (e[rest] if rest else 0)
        check(total == change, f"{name}: {rows} add up to {total}, not {change}")


def star(slow):
    """A machine of four GPUs at one switch; the link of `slow` has a sixteenth of the bandwidth."""
    nodes = {"cpu0": "cpu", "switch0": "pcie_switch"} | {f"gpu{i}": "gpu" for i in range(4)}
    text = 'name = "star"\n' + "".join(f'[[node]]\nname = "{n}"\nkind = "{k}"\n' for n, k in nodes.items())
    for node in nodes:
        if node != "switch0":
            bandwidth = "1GB/s" if node == slow else "16GB/s"
            text += (f'[[link]]\na = "switch0"\nb = "{node}"\nkind = "pcie"\nlatency = "70ns"\n'
                     f'bandwidth = "{bandwidth}"\n')
    path = os.path.join(folder.name, f"star_{slow}.toml")
    pathlib.Path(path).write_text(text, encoding="utf-8")
    return path


def generic(gpus, workload, **parameters):
    settings = {"machine.topology": "generic", "machine.generic.gpus": gpus, "workload.name": workload}
    return settings | {f"workload.{workload}.{key}": value for key, value in parameters.items()}


transpose = generic(2, "transpose", width=256, height=256) | {"memory.placement": "interleave"}
def at_star(slow):
    rest = {key: value for key, value in transpose.items() if not key.startswith("machine.")}
    return rest | {"machine.topology": star(slow)}


transpose_1 = generic(1, "transpose", width=256, height=256)
gups = generic(2, "gups", table="1MiB", blocks=16, updates=4) | {"memory.placement": "interleave"}
gups_1 = generic(1, "gups", table="256KiB", blocks=16, updates=8) | {"gpu.dram.bandwidth": "4GB/s"}
vectoradd = generic(2, "vectoradd", elements=32768)
touches = transpose | {"memory.placement": "first_touch", "memory.first_touch_by": "driver"}
reduction = generic(1, "reduction", size="64KiB")

# Settings of A, the planted difference of B, the causes (one is the first), and the parameter.
PLANTED = {
    "one slow link": (at_star("none"), at_star("gpu2"), {"links_time"}, "machine.topology"),
    "fewer page walkers": (gups, {"gpu.gmmu.walkers": 2}, {"walk_queue_time", "l2_tlb_time"}, "gpu.gmmu.walkers"),
    "another placement": (vectoradd | {"memory.placement": "contiguous"}, {"memory.placement": "cpu"},
                          {"remote_accesses", "link_bytes"}, "memory.placement"),
    "a smaller L2 cache": (gups_1, {"gpu.l2_cache.size": "16KiB"}, {"l2_misses", "l2_cache_time"},
                           "gpu.l2_cache.size"),
    "more kernel launches": (reduction | {"workload.reduction.iterations": 2}, {"workload.reduction.iterations": 8},
                             {"launches"}, "workload.reduction.iterations"),
    "a slower driver": (touches | {"driver.fault_latency": "5us"}, {"driver.fault_latency": "20us"},
                        {"driver_service"}, "driver.fault_latency"),
    "a smaller L2 TLB": (gups, {"gpu.l2_tlb.entries": 32}, {"l2_tlb_misses"}, "gpu.l2_tlb.entries"),
    "less DRAM bandwidth": (transpose_1, {"gpu.dram.bandwidth": "2GB/s"}, {"dram_queue_time"},
                            "gpu.dram.bandwidth"),
    "a slower host": (transpose, {"host.launch_latency": "30us"}, {"launch_time"}, "host.launch_latency"),
    "fewer L1 cache MSHRs": (transpose, {"gpu.l1_cache.mshrs": 4}, {"in_flight"}, "gpu.l1_cache.mshrs"),
    "fewer L2 TLB MSHRs": (transpose, {"gpu.l2_tlb.mshrs": 2}, {"l2_tlb_time"}, "gpu.l2_tlb.mshrs"),
    "fewer SMs": (gups_1, {"gpu.sms": 2}, {"occupancy"}, "gpu.sms"),
}
DECOY = {"gpu.copy_engine.window": 64}  # of copies, which these workloads do not have
for name, (settings, planted, causes, parameter) in PLANTED.items():
    a, b = run("a", settings), run("b", settings | planted)
    text, e = explained(a, b)
    check(e["change_ps"] > 0, f"{name}: B is slower")
    check_sums(name, e)
    check(e["first_cause"] in causes, f"{name}: the first cause is {e['first_cause']}")
    first = next(c for c in e["causes"] if c["name"] == e["first_cause"])
    named = [e["settings"][i]["name"] for i in first["settings"]]
    check(any(parameter in setting for setting in named), f"{name}: {named} act on the first cause")
    verdict = text.splitlines()[0]
    check(verdict.startswith("B is ") and " times as slow as A (+" in verdict, f"{name}: {verdict}")
    check(first["what"] in verdict and parameter in verdict, f"{name}: {verdict}")
    check(len(text.splitlines()) <= 90, f"{name}: {len(text.splitlines())} lines")
    # With a decoy, a second parameter that changes nothing.
    decoyed = run("c", settings | planted | DECOY)
    text, two = explained(a, decoyed)
    check(two["change_ps"] == e["change_ps"], f"{name}: the decoy changes the end")
    check(two["first_cause"] in causes, f"{name}: with a decoy, the first cause is {two['first_cause']}")
    share = sum(g["ps"] for g in two["groups"]
                if any(parameter in two["settings"][i]["name"] for i in g["settings"])) / two["change_ps"]
    check(abs(share - 1) < 0.05, f"{name}: with a decoy, {parameter} has {share:.1%} of the change")
    # The other way round.
    text, back = explained(b, a)
    check_sums(name, back)
    check(back["first_cause"] == e["first_cause"], f"{name}: from B to A, the first cause is {back['first_cause']}")
    check(" times as fast as A (-" in text.splitlines()[0], f"{name}: {text.splitlines()[0]}")

# The busiest instance of a slow link.
a, b = run("a", at_star("none")), run("b", at_star("gpu2"))
text, e = explained(a, b)
check(e["gpu"] == "gpu2", f"one slow link: the modelled GPU is {e['gpu']}")
check("gpu2" in e["causes"][0].get("resource", {}).get("busiest", ""), f"one slow link: {e['causes'][0]}")

# Two causes: both, with shares.
both = transpose_1 | {"gpu.dram.bandwidth": "2GB/s", "host.launch_latency": "15us"}
text, e = explained(run("a", transpose_1), run("b", both))
check_sums("two causes", e)
shares = {}
for group in e["groups"]:
    for i in group["settings"]:
        shares[e["settings"][i]["name"]] = group["ps"] / e["change_ps"]
check(set(shares) == {"gpu.dram.bandwidth", "host.launch_latency"}, f"two causes: {shares}")
check(all(share > 0.2 for share in shares.values()), f"two causes: {shares}")
verdict = text.splitlines()[0]
check(all(parameter in verdict for parameter in shares) and verdict.count("%") == 2, f"two causes: {verdict}")

# Several applications, clusters, and results of several ranks.
two = {"machine.topology": "generic", "machine.generic.gpus": 2}
applications = os.path.join(folder.name, "two.toml")
pathlib.Path(applications).write_text(
    'include = ["paper-gmmu-bypass"]\n[[application]]\nname = "fir"\nworkload = "fir"\nfir.size = "16KiB"\n'
    '[[application]]\nname = "sort"\nworkload = "stream"\nstream.bytes = "16KiB"\n', encoding="utf-8")


def run_applications(name, *sets):
    path = os.path.join(folder.name, name + ".h5")
    words = [w for s in (*two.items(), ("gpu.sms", 4)) for w in ("--set", f"{s[0]}={s[1]}")]
    words += [w for s in sets for w in ("--set", s)]
    done = subprocess.run([farfault, "run", applications, "--output", path, "--progress", "off", *words],
                          capture_output=True, text=True)
    check(done.returncode == 0, f"two applications run: {done.stderr}")
    return path


text, e = explained(run_applications("a"), run_applications("b", "host.launch_latency=30us"))
check_sums("two applications", e)
check({"fir", "sort"} <= {p["name"].partition("/")[0] for p in e["parts"] if p["kind"] == "kernel"},
      f"two applications: {[p['name'] for p in e['parts']]}")
check(e["first_cause"] == "launch_time", f"two applications: {e['first_cause']}")

cluster = generic(2, "stream", bytes="16KiB") | {"machine.generic.nics_per_switch": 1, "machine.cluster.machines": 2}
text, e = explained(run("a", cluster), run("b", cluster | {"host.launch_latency": "30us"}))
check_sums("cluster", e)
check(e["first_cause"] == "launch_time", f"cluster: {e['first_cause']}")

# Different work, and a run without a common kernel.
text, e = explained(run("a", generic(1, "stream", bytes="16KiB")), run("b", generic(1, "stream", bytes="64KiB")))
check_sums("more work", e)
check(e["settings"][0]["name"] == "workload.stream.bytes", f"more work: {e['settings']}")
text, e = explained(run("a", generic(1, "stream", bytes="16KiB")), run("b", reduction))
check_sums("no common kernel", e)
check(e["not_split"].startswith("A and B have no kernel name in common: "), f"no common kernel: {e['not_split']}")
check("Time of kernels is not split further: " in text, "no common kernel: one sentence")

# Equal results, and a file that is not a result.
same = run("a", transpose)
text, e = explained(same, same)
check_sums("equal", e)
check(text.startswith("B takes as long as A: "), f"equal: {text}")
done = subprocess.run([farfault, "explain", same, "nothing.h5"], capture_output=True, text=True)
check(done.returncode == 2 and done.stdout == "" and done.stderr == "farfault: cannot read 'nothing.h5': no such file\n",
      f"a missing file: {done.stderr}")

folder.cleanup()
print(counts())
