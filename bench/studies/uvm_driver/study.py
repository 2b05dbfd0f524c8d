# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: workloads, shares of the memory, and settings."""
import sys
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.append(str(FOLDER.parent))  # configuration, provenance, sweeps
from configuration import StudyError
PRESET = "nvidia-uvm"

# A regular stream, a random access and a matrix product.
WORKLOADS = {"vectoradd": "vectoradd", "random_access": "random access", "sgemm": "SGEMM"}
# Graph workloads for the check against Kim et al., from the study batch_aware.
GRAPHS = {"bfs_twc": "BFS-TWC", "kcore": "KCORE"}
# A strided program: a row of the matrix is one page, and each thread processes one row. 20,480 threads are 80 blocks, one per SM.
STRIDED = {"atax": "ATAX"}
GRAPH_SCALE = 18
DEFAULT = {"vectoradd": {"elements": 1 << 22}, "random_access": {"size": "64MiB", "threads": 65536, "accesses": 2},
           "sgemm": {"m": 1024, "n": 1024, "k": 512}}
STRIDES = {"atax": {"rows": 20480, "cols": 1024}}
GRAPH = {w: {"rmat.scale": GRAPH_SCALE} for w in GRAPHS}
SIZES = {
    "default": DEFAULT | GRAPH | STRIDES,
    "quick": DEFAULT | GRAPH | STRIDES,  # fewer runs
    "small": {"atax": {"rows": 2048, "cols": 1024}} | {w: {"rmat.scale": 12} for w in GRAPHS} | {"vectoradd": {"elements": 1 << 19}, "random_access": {"size": "16MiB", "threads": 8192, "accesses": 2},
              "sgemm": {"m": 1024, "n": 1024, "k": 64}},
    "large": GRAPH | STRIDES | {"vectoradd": {"elements": 1 << 24}, "random_access": {"size": "256MiB", "threads": 131072, "accesses": 4},
              "sgemm": {"m": 2048, "n": 2048, "k": 1024}},
}
# Memory of the GPU as a share of the buffers: all, and oversubscribed by 1.25x and 2x.
SHARES = [1, 0.8, 0.5]
# Approximate seconds of a run of the default size on a core of 2024; long runs start first.
COST = {"vectoradd": 1, "random_access": 2, "sgemm": 4, "bfs_twc": 30, "kcore": 3, "atax": 55}
TIMES = {"default": 1, "quick": 1, "small": 0.1, "large": 10}


@dataclass
class Run:
    """One simulation: settings on top of the preset."""
    workload: str
    name: str  # unique
    settings: dict = field(default_factory=dict)  # key -> value
    size: str = "default"
    base = PRESET
    source = None  # runs of this study are independent

    def all_settings(self):
        own = f"workload.{self.workload}."
        return {"workload.name": self.workload} | {own + key: value for key, value in SIZES[self.size][self.workload].items()} | self.settings

    def cost(self):
        more = 1 + 4 * (1 - self.settings.get("memory.gpu_share", 1)) * (self.workload == "random_access")
        return 0.1 + COST[self.workload] * TIMES[self.size] * more
