# SPDX-License-Identifier: Apache-2.0
"""Input files of the runs in parameter_runs.py: machines, maps, a graph, traces, runs of several applications."""
import json

NODE = """[[node]]
name = "{}"
kind = "{}"
"""
LINK = """[[link]]
a = "{}"
b = "{}"
kind = "{}"
"""


def _machine(nodes, links):
    """Machine TOML of (name, kind) and (a, b, kind, further lines)."""
    return "".join(NODE.format(*n) for n in nodes) + "".join(LINK.format(*link[:3]) + "".join(f"{line}\n" for line in link[3:]) for link in links)


def _applications(sms, programs):
    """Configuration of (name, workload, settings of the workload) on two GPUs. sms: SMs of each."""
    return 'machine.topology = "two-gpu"\ngpu.sms = 2\n' + "".join(
        f'[[application]]\nname = "{name}"\nworkload = "{workload}"\nsms = "{sms}"\n' + "".join(f"{workload}.{k} = {json.dumps(v)}\n" for k, v in settings.items())
        for name, workload, settings in programs)


def _nccl(devices):
    """NCCL topology XML with GPUs below one CPU."""
    gpus = "".join(f'<pci busid="0000:0{i}:00.0" class="{of_class}" link_speed="16 GT/s" link_width="16"><gpu dev="{i}" {what}>'
                   f'<{kind} target="0000:0{3 - i}:00.0" count="1" tclass="{of_class}"/></gpu></pci>'
                   for i, (what, kind, of_class) in enumerate(devices, 1))
    return f'<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">{gpus}</cpu></system>\n'


def files(folder, corpus):
    """Writes the files that settings name; {name: path}. corpus: folder of trace files."""
    gpus, cpu = [("gpu0", "gpu"), ("gpu1", "gpu")], ("cpu0", "cpu")
    pcie = [("cpu0", "gpu0", "pcie"), ("cpu0", "gpu1", "pcie")]
    texts = {
        "node": ("node.toml", _machine([cpu, ("gpu0", "gpu"), ("nic0", "nic")], [("cpu0", "gpu0", "pcie"), ("cpu0", "nic0", "pcie")])
                 .replace('kind = "nic"\n', 'kind = "nic"\nbandwidth = "10GB/s"\n')),
        "mi200": ("mi200.toml", _machine([cpu, *gpus], [*pcie, ("gpu0", "gpu1", "xgmi")])),
        "sockets": ("sockets.toml", _machine([cpu, ("cpu1", "cpu"), *gpus],
                                             [("cpu0", "gpu0", "pcie"), ("cpu1", "gpu1", "pcie"), ("cpu0", "cpu1", "cpu_interconnect")])),
        # A short slow route, and a longer one of higher bandwidth.
        "routes": ("routes.toml", _machine([cpu, *gpus, ("nvswitch0", "nvswitch")], [
            *pcie, ("gpu0", "gpu1", "nvlink", 'latency = "100ns"', 'bandwidth = "1GB/s"'),
            *((g, "nvswitch0", "nvlink", 'latency = "150ns"', 'bandwidth = "100GB/s"') for g in ("gpu0", "gpu1"))])),
        "pascal": ("pascal.xml", _nccl([('sm="60" rank="0"', "nvlink", "0x030200")] * 2)),
        "mi100": ("mi100.xml", _nccl([('sm="120" gcn="gfx908"', "xgmi", "0x120000")] * 2)),
        "mi300": ("mi300.xml", _nccl([('sm="304" gcn="gfx942"', "xgmi", "0x120000")] * 2)),
        "domain": ("domain.yaml", "blocks:\n- switch: leaf\n  attributes:\n    topology.kubernetes.io/domain: nvl1\n  nodes:\n  - node1\n"
                                  "switches:\n  leaf:\n    switches: []\n"),
        **{name: (f"{name}.csv", "page,device\n" + "".join(f"{0x100000 + page},gpu{page // every % 2}\n" for page in range(256)))
           for name, every in (("map_a", 1), ("map_b", 128))},
        "graph": ("ring.graph", "96 96\n" + "".join(f"{(v - 1) % 96 + 1} {(v + 1) % 96 + 1}\n" for v in range(96))),
        "two_applications": ("two.toml", _applications("equal", ((name, "random_access", {
            "size": "1 MiB", "threads": threads, "accesses": 8, "updates": True, "block": 64}) for name, threads in (("a", 1024), ("b", 512))))),
        "filters": ("filters.toml", _applications("all", ((name, "fir", {"size": size, "taps": taps, "block": 64}) for name, size, taps in (
            ("a", "1 KiB", 4096), ("b", "2 KiB", 3072), ("c", "4 KiB", 2048), ("d", "1 KiB", 4000))))),
    }
    paths = {}
    for name, (file, text) in texts.items():
        paths[name] = folder / file
        paths[name].write_text(text)
    trace = (corpus / "version5").read_text()
    for name, text in (("trace_a", trace), ("trace_b", _without_store(trace))):
        paths[name] = folder / f"{name}.traceg"
        paths[name].write_text(text)
    return {name: str(path) for name, path in paths.items()}


def _without_store(trace):
    """The trace without the store of its first warp, which has six instructions."""
    lines = [line for line in trace.splitlines(keepends=True) if " ST.E." not in line]
    return "".join(lines).replace("insts = 6", "insts = 5")
