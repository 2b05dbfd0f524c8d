# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: workloads, policies, and settings of a run."""
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.append(str(FOLDER.parent))  # configuration, provenance, sweeps
from configuration import StudyError
PRESET = "paper-grit"


@dataclass
class Workload:
    """A workload of the paper: Farfault's workload, and its parameters at each size."""
    program: str
    stands_for: str  # empty: the same program
    sizes: dict


def square(names, **sides):
    return {size: dict.fromkeys(names, side) for size, side in sides.items()}


MNK = ("m", "n", "k")
# The paper's name: ...
WORKLOADS = {
    "BFS": Workload("bfs", "", {"default": {"rmat.scale": 14}, "small": {"rmat.scale": 9}, "larger": {"rmat.scale": 15}}),
    "BS": Workload("fwt", "bitonic sort: pairs of elements at changing distances, in place, a kernel for each distance",
                   {"default": {"log2_data": 19}, "small": {"log2_data": 14}, "larger": {"log2_data": 20}}),
    "C2D": Workload("convolution", "convolution layer: kernels that read what the last one wrote",
                    {"default": {"width": 1024, "height": 512, "iterations": 4}, "small": {"width": 256, "height": 128, "iterations": 2},
                     "larger": {"width": 1536, "height": 768, "iterations": 4}}),
    "FIR": Workload("fir", "", {"default": {"size": "8MiB"}, "small": {"size": "512KiB"}, "larger": {"size": "16MiB"}}),
    "GEMM": Workload("sgemm", "matrix product of DNN layers, tiles of 16 x 16",
                     {size: side | {"tile": "16"} for size, side in square(MNK, default=512, small=128, larger=768).items()}),
    "MM": Workload("sgemm", "matrix multiplication, tiles of 32 x 32", square(MNK, default=768, small=128, larger=1024)),
    "SC": Workload("conv2d", "simple convolution, 3 x 3", square(("rows", "cols"), default=1024, small=256, larger=1536)),
    "ST": Workload("stencil2d", "", {"default": {"rows": 512, "cols": 1024}, "small": {"rows": 128, "cols": 256}, "larger": {"rows": 1024, "cols": 1024}}),
}
# Bytes of all buffers, by workload and size; tests/studies/grit_test.py and `run` compare them with the results.
FOOTPRINTS = {
    "BFS": {"default": 2226912, "small": 69168, "larger": 4454876},
    "BS": {"default": 4194304, "small": 131072, "larger": 8388608},
    "C2D": {"default": 6291524, "small": 393284, "larger": 14155844},
    "FIR": {"default": 8388732, "small": 524412, "larger": 16777340},
    "GEMM": {"default": 3145728, "small": 196608, "larger": 7077888},
    "MM": {"default": 7077888, "small": 196608, "larger": 12582912},
    "SC": {"default": 8388608, "small": 524288, "larger": 18874368},
    "ST": {"default": 4276480, "small": 282880, "larger": 8536320},
}
POLICIES = {"migrate": "on-touch", "access_counters": "counters", "duplicate": "duplication", "grit": "GRIT"}
GPUS = 4
SHARE = 0.7
PAGE = 4096
FEWEST = 256  # frames: the range of gpu.dram.capacity begins at 1 MiB, which only small workloads need


def frames(workload, size):
    """Frames of a GPU: 70% of the footprint."""
    return max(FEWEST, math.ceil(SHARE * FOOTPRINTS[workload][size] / PAGE))


@dataclass
class Run:
    """One simulation: settings on top of the preset."""
    workload: str
    policy: str
    name: str  # unique
    settings: dict = field(default_factory=dict)  # key -> value
    size: str = "default"
    base = PRESET
    source = None  # runs of this study are independent

    def all_settings(self):
        program = WORKLOADS[self.workload].program
        own = {f"workload.{program}.{key}": value for key, value in WORKLOADS[self.workload].sizes[self.size].items()}
        memory = {} if "memory.gpu_share" in self.settings else {"gpu.dram.capacity": f"{frames(self.workload, self.size) * PAGE // 1024}KiB"}
        return {"workload.name": program, "memory.remote_touch": self.policy} | own | memory | self.settings

    def cost(self):
        """Approximate seconds on a core of 2024; long runs start first."""
        return {"small": 0.3, "default": 1.5, "larger": 5}[self.size] * (2 if self.workload in ("BFS", "MM", "ST") else 1)
