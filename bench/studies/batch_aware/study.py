# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: workloads, designs, and their settings."""
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.append(str(FOLDER.parent))  # configuration, provenance, sweeps
from configuration import StudyError
PRESET = "paper-batch-aware"
SCALE = 16

# The paper's eleven workloads, in its order and with its names; and four regular ones.
GRAPHS = {"bc": "BC", "bfs_dwc": "BFS-DWC", "bfs_ta": "BFS-TA", "bfs_tf": "BFS-TF", "bfs_ttc": "BFS-TTC", "bfs_twc": "BFS-TWC",
          "gc_dtc": "GC-DTC", "gc_ttc": "GC-TTC", "kcore": "KCORE", "pr_graphbig": "PR", "sssp_twc": "SSSP-TWC"}
REGULAR = {"vectoradd": {"elements": 1 << 21}, "stencil2d": {"cols": 2048, "rows": 1024}, "relu": {"size": "16MiB"},
           "sgemm": {"m": 1184, "n": 1184, "k": 1184}}
WORKLOADS = GRAPHS | {w: w for w in REGULAR}
# Workloads with runs of minutes; they have fewer designs.
SLOW = ["gc_dtc", "gc_ttc"]
# Workloads with runs of at most 5 seconds, for the readings of the message time.
SHORT = ["bfs_dwc", "bfs_tf", "bfs_ttc", "bfs_twc", "kcore", "sssp_twc"]
MESSAGES = ["1ns", "100ns", "274ns", "500ns", "1us", "2us", "5us"]  # driver.notify_latency
# Regular programs, small enough for pages of 4 KiB.
BOUND = {"vectoradd": {"elements": 1 << 19}, "stencil2d": {"cols": 1024, "rows": 512}, "relu": {"size": "4MiB"}, "sgemm": {"m": 448, "n": 448, "k": 448},
         "stream": {"bytes": "8MiB"}}
PAGES = ["4KiB", "64KiB"]
# Workloads of the parts on memory shares, fault-handling times and sensitivity.
THREE = ["bfs_ttc", "bfs_twc", "pr_graphbig"]

TO = {"gpu.sm.thread_blocks": "thread_oversubscription"}
UE = {"driver.batch.eviction_schedule": "unobtrusive"}
SEQUENTIAL = {"driver.batch.prefetch": "sequential"}
DESIGNS = {
    "unlimited": {"memory.gpu_share": 1},
    "baseline": {},
    "sequential": SEQUENTIAL,
    "lru": {"driver.batch.eviction_order": "lru"},
    "pcie": {"fabric.copies": "compressed"},
    "etc": {"gpu.sm.thread_blocks": "throttling", "gpu.memory_contents": "compressed"},
    "to": TO,
    "ue": UE,
    "to_ue": TO | UE,
    "ideal": {"driver.batch.eviction_schedule": "ideal"},
    "sequential_to": SEQUENTIAL | TO,
    "sequential_ue": SEQUENTIAL | UE,
    "sequential_to_ue": SEQUENTIAL | TO | UE,
    # Without faults: all data is resident from the start.
    "resident": {"memory.gpu_share": 1, "memory.placement": "contiguous"},
}
# Designs that are compared with the baseline at the same share of the memory.
COMPARED = [d for d in DESIGNS if d != "resident"]
# Registers per thread of the widest kernel (workloads/src/catalogue).
REGISTERS = {"bc": 39, "bfs_dwc": 64, "bfs_ta": 15, "bfs_tf": 24, "bfs_ttc": 18, "bfs_twc": 20, "kcore": 20, "pr_graphbig": 24,
             "sssp_twc": 30}

# Approximate seconds of a baseline run at scale 16 on a core of 2024; long runs start first.
COST = {"bc": 10, "bfs_dwc": 5, "bfs_ta": 15, "bfs_tf": 5, "bfs_ttc": 3, "bfs_twc": 2, "gc_dtc": 90, "gc_ttc": 80, "kcore": 0.4,
        "pr_graphbig": 8, "sssp_twc": 4, "vectoradd": 2, "stencil2d": 4, "relu": 2, "sgemm": 7, "stream": 1}


@dataclass
class Run:
    """One simulation: settings on top of the preset."""
    workload: str
    name: str  # unique
    settings: dict = field(default_factory=dict)  # key -> value
    scale: int = SCALE                            # of an R-MAT graph
    graph: Path = None                            # graph file instead of R-MAT
    size: dict = None                             # of a regular workload, instead of REGULAR's
    base = PRESET
    source = None                                 # runs of this study are independent

    def all_settings(self):
        own = f"workload.{self.workload}."
        if self.size or self.workload in REGULAR:
            size = {own + key: value for key, value in (self.size or REGULAR[self.workload]).items()}
        else:
            size = {own + "graph": str(self.graph)} if self.graph else {own + "rmat.scale": self.scale}
        return {"workload.name": self.workload} | size | self.settings

    def cost(self):
        share = self.settings.get("memory.gpu_share", 0.5)
        size = os.path.getsize(self.graph) / 2e7 if self.graph else 2.0 ** (self.scale - 16)
        return 0.1 + COST[self.workload] * size * (0.7 if share == 1 else 1)
