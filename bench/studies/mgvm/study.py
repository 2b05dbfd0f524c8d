# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: programs, designs, and settings of a run."""
import sys
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.append(str(FOLDER.parent))  # configuration, provenance, sweeps
from configuration import StudyError
PRESET = "published-mgvm"
LEVEL = "gpu.translation.level.l2_tlb"
CHIPLETS = 4
LINE = 64
PAGE = 4096
FIRST_ADDRESS, ALIGNMENT = 1 << 32, 2 << 20  # of buffers (workloads/buffer_layout.hpp)
LINK = 768  # GB/s of a chiplet in the published code: 12 flits of 64 bytes per cycle


@dataclass
class Program:
    """A program of the paper: Farfault's workload, its parameters and HSL in MiB at each size. The HSL is the code's, or scaled with the data."""
    workload: str
    published: str  # size in the published code
    hsl: dict  # published: the code's
    sizes: dict
    note: str = ""  # difference from the code's program


UNIFORM = {"rmat.a": 0.25, "rmat.b": 0.25, "rmat.c": 0.25, "iterations": 1}
# The code's name: ...
PROGRAMS = {
    "convolution2d": Program("conv2d", "8192 x 8192", {"published": 64, "full": 32, "quick": 2},
                             {"full": {"rows": 4096, "cols": 8192}, "quick": {"rows": 1024, "cols": 1024}}, "half of the rows"),
    "fastwalshtransform": Program("fwt", "2^23 floats", {"published": 8, "full": 8, "quick": 2}, {"full": {"log2_data": 23}, "quick": {"log2_data": 18}},
                                  "CUDA sample: two arrays, radix 4, shared memory; code: AMD APP SDK, one array, radix 2"),
    "gups": Program("gups", "32 MiB, 4096 threads, 1024 updates each", {"published": 4, "full": 4, "quick": 2},
                    {"full": {"table": "32MiB", "blocks": 128, "block": 32, "updates": 1024},
                     "quick": {"table": "8MiB", "blocks": 128, "block": 32, "updates": 16}}, "atomics; code: load and store"),
    "kmeans": Program("kmeans", "524,288 points, 32 features, 20 clusters, 1 round", {"published": 16, "full": 16, "quick": 2},
                      {"full": {"size": "130MiB", "clusters": 20, "max_rounds": 1}, "quick": {"size": "2MiB", "clusters": 20, "max_rounds": 1}}),
    "matrixtranspose": Program("transpose", "2048 x 2048", {"published": 4, "full": 4, "quick": 2},
                               {"full": {"width": 2048, "height": 2048}, "quick": {"width": 1024, "height": 1024}}),
    "mis": Program("mis", "524,288 vertices, 1,048,576 entries", {"published": 2, "full": 2, "quick": 2},
                   {"full": {"rmat.scale": 19, "rmat.edge_factor": 1}, "quick": {"rmat.scale": 13, "rmat.edge_factor": 1}},
                   "undirected: 524,288 edges, each in both directions; code: directed"),
    "pagerank": Program("pagerank", "8192 vertices, density 0.5, 1 iteration", {"published": 32, "full": 32, "quick": 2},
                        {"full": UNIFORM | {"rmat.scale": 13, "rmat.edge_factor": 4096}, "quick": UNIFORM | {"rmat.scale": 10, "rmat.edge_factor": 256}}),
    "shoc-reduction": Program("reduction", "256 MiB, 2 iterations", {"published": 64, "full": 64, "quick": 2},
                              {"full": {"size": "256MiB", "iterations": 2, "precision": "single"},
                               "quick": {"size": "4MiB", "iterations": 2, "precision": "single"}}),
    "spmv": Program("pagerank", "2^21 rows, 21 entries per row", {"published": 2, "full": 2, "quick": 2},
                    {"full": UNIFORM | {"mapping": "thread", "rmat.scale": 21, "rmat.edge_factor": 5},
                     "quick": UNIFORM | {"mapping": "thread", "rmat.scale": 14, "rmat.edge_factor": 5}},
                    "`pagerank` with a thread per row of a CSR matrix, as SHOC's kernel; 5 entries per row"),
    "stencil2d": Program("stencil2d", "2048 x 2048, 5 iterations", {"published": 4, "full": 4, "quick": 2},
                         {"full": {"rows": 2016, "cols": 2048}, "quick": {"rows": 512, "cols": 512, "iterations": 1}},
                         "2016 rows: with 2048 the second array, at a multiple of 2 MiB, would begin within a block of the HSL"),
}
ABSENT = ["jacobi1d", "jacobi2d", "simpleconvolution", "syr2k", "syrk"]  # programs of the paper that Farfault does not have
OTHER_DIVISION = ["matrixtranspose", "stencil2d"]  # grids that the code divides over the chiplets in the other dimension
WITH_DATA = {"memory.page_tables": "with_data"}
FIXED = {f"{LEVEL}.balance": "fixed"}
# Settings of a design in addition to the preset's and the program's HSL.
DESIGNS = {
    "private": WITH_DATA | {f"{LEVEL}.groups": CHIPLETS, f"{LEVEL}.banks": 1, f"{LEVEL}.far_latency": 0},
    "shared": WITH_DATA | FIXED | {f"{LEVEL}.interleave": "4KiB", f"{LEVEL}.hash": "xor"},
    "mgvm_no_balance": FIXED,
    "mgvm": {},
}
NAMES = {"private": "private", "shared": "shared", "mgvm_no_balance": "MGvm, no balance", "mgvm": "MGvm"}
BASE = "private"


@dataclass
class Run:
    """One simulation: settings on top of the preset."""
    program: str
    design: str
    name: str  # unique
    settings: dict = field(default_factory=dict)  # key -> value
    size: str = "full"
    base = PRESET
    source = None  # runs of this study are independent

    def all_settings(self):
        program = PROGRAMS[self.program]
        own = {f"workload.{program.workload}.{key}": value for key, value in program.sizes[self.size].items()}
        hsl = {} if self.design == BASE else {f"{LEVEL}.interleave": f"{program.hsl[self.size]}MiB"}
        far = {f"{LEVEL}.far_latency": value for key, value in self.settings.items() if key == "gpu.l2_cache.partition_latency"}
        return {"workload.name": program.workload} | own | hsl | self.settings | far | DESIGNS[self.design]

    def cost(self):
        """Approximate seconds on a core of 2024; long runs start first."""
        return {"convolution2d": 40, "kmeans": 30, "fastwalshtransform": 16, "matrixtranspose": 0.5}.get(self.program, 10) if self.size == "full" else 0.3
