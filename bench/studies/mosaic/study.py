# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: applications, mixes, designs, and their settings."""
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.append(str(FOLDER.parent))  # configuration, provenance, sweeps
from configuration import StudyError
PRESET = "paper-mosaic"
SMS = 30

# The paper's 27 applications, by the names of its companion paper (MASK): workload, and settings beyond its defaults.
APPLICATIONS = {
    "3DS": ("stencil3d", {}), "BFS2": ("bfs_rodinia", {}), "BLK": ("blackscholes", {}), "BP": ("backprop", {}), "CFD": ("cfd", {}),
    "CONS": ("convolution", {}), "FFT": ("fft", {}), "FWT": ("fwt", {}), "GUP": ("gups", {}), "HISTO": ("histogram256", {}),
    "HS": ("hotspot", {}), "LPS": ("laplace3d", {}), "LUD": ("lud", {}), "LUH": ("lulesh", {}), "MM": ("sgemm_parboil", {}),
    "MUM": ("mummer", {}), "NN": ("nn", {}), "NW": ("nw", {}), "QTC": ("qtc", {}), "RAY": ("ray", {}), "RED": ("reduction", {}),
    "SAD": ("sad", {}), "SC": ("streamcluster", {}), "SCAN": ("scan", {}), "SCP": ("scalar_product", {}), "SRAD": ("srad", {}),
    "TRD": ("triad", {}),
}

GPU_MMU = {"memory.frame_allocation": "on_demand", "memory.page_sizes": "base_only", "memory.compaction": "none"}
DESIGNS = {
    "gpu_mmu": GPU_MMU,
    "mosaic": {},
    "ideal": GPU_MMU | {"gpu.l1_tlb.organization": "ideal", "gpu.scalar_cache.tlb_organization": "ideal"},
    # No compaction; in-DRAM copies; copies in zero time; compaction without stopping the SMs.
    "no_cac": {"memory.compaction": "none"},
    "cac_bc": {"memory.compaction": "cac_bulk_copy"},
    "ideal_cac": {"memory.compaction": "ideal"},
    "cac_no_stall": {"memory.moves_stall_gpu": False},
    # Mosaic's baseline in section 4.3: base pages are moved to be coalesced.
    "migrating": {"memory.frame_allocation": "on_demand", "memory.page_sizes": "migrating_coalescer", "memory.compaction": "none"},
    # Fig. 3: large pages only, with as many TLB entries as GPU-MMU has for base pages. The scalar cache's TLB, which the paper does not have, keeps 16
    # entries for large pages.
    "large": {"memory.frame_allocation": "on_demand", "memory.page_sizes": "large_only", "memory.compaction": "none", "gpu.l1_tlb.by_page_size.large_entries": 128,
              "gpu.l2_tlb.by_page_size.large_entries": 512, "gpu.l2_tlb.by_page_size.large_ways": 16},
}
NAMES = {"gpu_mmu": "GPU-MMU", "mosaic": "Mosaic", "ideal": "ideal TLB", "large": "2 MB pages", "no_cac": "no CAC", "cac_bc": "CAC-BC",
         "ideal_cac": "ideal CAC", "cac_no_stall": "CAC without stalls", "migrating": "migrating coalescer"}

SEED = 2017
MIXES_OF_EACH = 25  # per number of applications: 2, 3, 4 and 5


def heterogeneous():
    """The paper draws its mixes at random and does not name them; here SEED draws them."""
    draw = random.Random(SEED)
    return {n: [tuple(draw.sample(list(APPLICATIONS), n)) for _ in range(MIXES_OF_EACH)] for n in (2, 3, 4, 5)}


@dataclass
class Run:
    """One simulation: settings on top of the preset, and the applications."""
    mix: tuple        # names of APPLICATIONS; a name may occur several times
    name: str         # unique
    settings: dict = field(default_factory=dict)  # key -> value
    sms: tuple = ()   # of each application; empty: equal shares, or all SMs for one application
    program: dict = field(default_factory=dict)   # settings of every application: copies, allocates
    base = PRESET
    source = None     # runs of this study are independent

    def names(self):
        """Names of the applications in the configuration, in order."""
        return [f"a{i}_{name.lower()}" for i, name in enumerate(self.mix)]

    def applications(self):
        """Tables of the configuration, one per application."""
        tables = []
        for name, key in zip(self.names(), self.mix):
            workload, own = APPLICATIONS[key]
            table = {"name": name, "workload": workload}
            if self.sms:
                table["sms"] = self.sms[len(tables)]
            elif len(self.mix) > 1:
                table["sms"] = "equal"
            if len(self.mix) > 1:
                table["relaunch"] = True
            tables.append(table | self.program | ({workload: own} if own else {}))
        return tables

    def all_settings(self):
        return self.settings | {"application": self.applications()}

    def cost(self):
        return sum(COST.get(name, 1) for name in self.mix)


# Approximate seconds of processor time of an application alone; long runs start first.
COST = {"GUP": 3.39, "MUM": 4.04, "QTC": 3.51}
