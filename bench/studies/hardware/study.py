# SPDX-License-Identifier: Apache-2.0
"""The runs of the study, and the figures of a result file."""
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import h5py

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.insert(0, str(FOLDER.parent))
from configuration import StudyError  # noqa: E402

MEASURED = ROOT.parent / "shared/data/measured"
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
GPUS = {"v100": "V100", "a100": "A100", "h100": "H100", "mi100": "MI100", "mi210": "MI210", "mi300x": "MI300X"}
# A machine with each GPU, and the GPU that exchanges data with GPU 0: on DGX-1 a GPU with two NVLinks to GPU 0.
MACHINES = {"v100": ("dgx1", 3), "a100": ("dgx-a100", 1), "h100": ("dgx-h100", 1), "mi300x": ("mi300x-8", 1)}


@dataclass
class Run:
    """One simulation of a preset."""
    base: str
    settings: dict  # key -> value
    source = None   # runs of this study are independent

    @property
    def name(self):
        return f"{self.base}, " + ", ".join(f"{key}={value}" for key, value in self.settings.items())

    def all_settings(self):
        return self.settings

    def cost(self):
        return 1


def picoseconds(text):
    """Picoseconds of a duration in a result's configuration: "5400 ns"."""
    number, unit = text.split()
    return int(number) * {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}[unit]


def figures(path):
    """Figures of a result file: kernel times, TLB counts, and the GPU's parameters."""
    with h5py.File(path, "r") as f:
        if f.attrs.get("end_reason") != b"completed":
            raise StudyError(f"{path}: the run did not complete")
        kernels = f["tables/kernels"]
        times = [int(b - a) for a, b in zip(kernels["launched"][:], kernels["finished"][:])]
        machine = f["summary/machine"]
        total = {name: int(machine[name][0]) for name in machine if name != "name"}
        config = tomllib.loads(f["config/toml"][()].decode())
        host = sum(picoseconds(config["host"][name]) for name in ("launch_latency", "done_latency"))
        return {"kernel_ps": times, "host_ps": host, "l2_tlb_requests": total["l2_tlb_hits"] + total["l2_tlb_misses"],
                "dram_bytes": total["dram_bytes"], "gpu": config["gpu"], "digest": f.attrs["result_digest"].decode()}


# ---- Runs

def hops(gpu, mhz, footprint, stride, count, order="random"):
    """A pointer chase of `count` loads through the footprint."""
    return Run(f"gpu-{gpu}", {
        "gpu.clock": f"{mhz}MHz", "workload.name": "pointer_chase",
        "workload.pointer_chase.stride": f"{stride} B", "workload.pointer_chase.order": order,
        "workload.pointer_chase.elements": max(1, footprint // stride), "workload.pointer_chase.hops": count})


def chase(gpu, mhz, footprint, stride, beyond):
    """(short run, long run, additional loads of the long one). Their difference is the time of loads with warm caches."""
    elements = max(1, footprint // stride)
    # Footprints beyond all caches need no full warm-up lap: its loads miss as well.
    warm = elements if footprint <= beyond else 4096
    more = min(elements, 8192)
    if elements < 4096:
        warm, more = elements * -(-4096 // elements), elements * -(-8192 // elements)
    return hops(gpu, mhz, footprint, stride, warm), hops(gpu, mhz, footprint, stride, warm + more), more


def stream(gpu, size, writes, passes=1, lane=16, accesses=4, more=None):
    return Run(f"gpu-{gpu}", {
        "workload.name": "stream", "workload.stream.bytes": f"{size} B", "workload.stream.write_fraction": writes,
        "workload.stream.bytes_per_lane": lane, "workload.stream.accesses_per_thread": accesses,
        "workload.stream.passes": passes, **(more or {})})


def exchange(machine, access, part, to):
    """GPU 0 reads or writes `part` bytes of GPU `to`'s memory in the second kernel of the run. The machine has 8 GPUs."""
    return Run(machine, {
        "workload.name": "exchange", "workload.exchange.pattern": "pair", "workload.exchange.access": access,
        "workload.exchange.parts": 8, "workload.exchange.from": 0, "workload.exchange.to": to,
        "workload.exchange.bytes": f"{8 * part} B", "memory.placement": "contiguous", "host.block_order": "contiguous"})


def has_workload(program, name):
    listed = subprocess.run([program.path, "workloads"], capture_output=True, text=True).stdout
    return any(line.split()[:1] == [name] for line in listed.splitlines())
