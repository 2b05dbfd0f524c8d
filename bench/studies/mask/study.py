# SPDX-License-Identifier: Apache-2.0
"""What the study of MASK runs: pairs of applications, designs, and how the SMs are shared."""
import itertools
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.append(str(FOLDER.parent))  # configuration, provenance, sweeps
from configuration import StudyError
PRESET = "paper-mask"
SMS = 30

# The paper's Table 2: L1 and L2 TLB miss rates, low below 20%, with the workload of each application.
TABLE_2 = {
    ("low", "low"): ("LUD", "NN"),
    ("low", "high"): ("BFS2", "FFT", "HISTO", "NW", "QTC", "RAY", "SAD", "SCP"),
    ("high", "low"): ("BP", "GUP", "HS", "LPS"),
    ("high", "high"): ("3DS", "BLK", "CFD", "CONS", "FWT", "LUH", "MM", "MUM", "RED", "SC", "SCAN", "SRAD", "TRD"),
}
RATES = {name: rates for rates, names in TABLE_2.items() for name in names}
WORKLOADS = {
    "3DS": "stencil3d", "BFS2": "bfs_rodinia", "BLK": "blackscholes", "BP": "backprop", "CFD": "cfd", "CONS": "convolution", "FFT": "fft",
    "FWT": "fwt", "GUP": "gups", "HISTO": "histogram256", "HS": "hotspot", "LPS": "laplace3d", "LUD": "lud", "LUH": "lulesh",
    "MM": "sgemm_parboil", "MUM": "mummer", "NN": "nn", "NW": "nw", "QTC": "qtc", "RAY": "ray", "RED": "reduction", "SAD": "sad",
    "SC": "streamcluster", "SCAN": "scan", "SCP": "scalar_product", "SRAD": "srad", "TRD": "triad",
}

SHARED_TLB = {"gpu.l2_tlb.fill": "always", "gpu.l2_cache.walk_reads": "cached", "gpu.dram.scheduler": "frfcfs", "gpu.dram.queue": 256}
NO_L2_TLB = {"gpu.l2_tlb.entries": 0, "gpu.l2_tlb.latency": 1}
IDEAL = {"gpu.l1_tlb.organization": "ideal", "gpu.scalar_cache.tlb_organization": "ideal"}


def without(*keys):
    return {key: value for key, value in SHARED_TLB.items() if key not in keys}


DESIGNS = {
    "shared_tlb": SHARED_TLB,
    "pw_cache": SHARED_TLB | NO_L2_TLB | {"gpu.page_walk_cache.size": "8KiB"},
    "mask_tlb": without("gpu.l2_tlb.fill"),
    "mask_cache": without("gpu.l2_cache.walk_reads"),
    "mask_dram": without("gpu.dram.scheduler", "gpu.dram.queue"),
    "mask": {},
    "ideal": SHARED_TLB | IDEAL,
}
# Each application of n by itself, on its SMs and a part of all else: nothing is shared (`static_part`).
STATIC = "static"
NAMES = {"static": "Static", "shared_tlb": "SharedTLB", "pw_cache": "PWCache", "mask_tlb": "MASK-TLB", "mask_cache": "MASK-Cache",
         "mask_dram": "MASK-DRAM", "mask": "MASK", "ideal": "Ideal"}

# What the paper leaves open, each varied by itself.
SENSITIVITY = {
    "gpu.l2_tlb.tokens.step": [0.05, 0.2],
    "gpu.l2_tlb.tokens.initial": [0.2, 0.5, 1.0],
    "gpu.l2_tlb.tokens.change": ["relative"],
    "gpu.l2_tlb.tokens.epoch": [10_000],
    "gpu.l2_cache.translation_aware_bypass.sampled": [4, 256],
    "gpu.l2_cache.translation_aware_bypass.epoch": [10_000, 1_000_000],
    "gpu.dram.address_space_aware.thresh_max": [50, 5000],
    "gpu.dram.address_space_aware.epoch": [10_000],
}

SEED = 2018
PAIRS = 35


def pairs():
    """The paper draws 35 pairs at random, none of two low/low ones, and does not say which: these are drawn by SEED."""
    allowed = [p for p in itertools.combinations(sorted(RATES), 2) if any(RATES[name] != ("low", "low") for name in p)]
    return random.Random(SEED).sample(allowed, PAIRS)


def class_of(mix, rates=None):
    """How many of its applications miss often in both TLBs: 0-HMR, 1-HMR, 2-HMR. By Table 2, or by `rates` that were measured: name ->
    (L1, L2) as shares."""
    if rates is None:
        return sum(RATES[name] == ("high", "high") for name in mix)
    return sum(all(rate >= 0.2 for rate in rates[name]) for name in mix)


def splits(applications=2, sms=SMS):
    """All static shares of the SMs, for the oracle: it takes the one with the best weighted speedup."""
    cuts = itertools.combinations(range(1, sms), applications - 1)
    return [tuple(b - a for a, b in zip((0, *c), (*c, sms))) for c in cuts]


def static_part(applications):
    """The part of L2 TLB, L2 cache and memory channels that one of several has to itself."""
    part = SHARED_TLB | {"gpu.l2_tlb.entries": 512 // applications // 16 * 16, "gpu.l2_cache.slices": 16 // applications,
                         "gpu.l2_cache.size": f"{128 * (16 // applications)}KiB", "gpu.dram.channels": 8 // applications}
    if (16 // applications) % (8 // applications) != 0:
        part["gpu.l2_cache.slices"] = 2 * (8 // applications)
        part["gpu.l2_cache.size"] = f"{256 * (8 // applications)}KiB"
    return part


@dataclass
class Run:
    """One simulation: the preset, what it sets beyond it, and the applications with their SMs."""
    mix: tuple
    name: str         # of its own
    settings: dict = field(default_factory=dict)  # key -> value
    sms: tuple = ()   # of each application; none: equal shares, or all of one alone
    own: dict = field(default_factory=dict)       # application -> what its workload sets beyond its defaults
    base: str = PRESET
    source = None     # no run of this study needs another's result

    def names(self):
        """Of the applications in the configuration, in order."""
        return [f"a{i}_{name.lower()}" for i, name in enumerate(self.mix)]

    def applications(self):
        """Tables of the configuration, one for each."""
        tables = []
        for i, (name, key) in enumerate(zip(self.names(), self.mix)):
            table = {"name": name, "workload": WORKLOADS[key]}
            if self.sms:
                table["sms"] = self.sms[i]
            elif len(self.mix) > 1:
                table["sms"] = "equal"
            if len(self.mix) > 1:
                table["relaunch"] = True
            tables.append(table | ({WORKLOADS[key]: self.own[key]} if key in self.own else {}))
        return tables

    def all_settings(self):
        return self.settings | {"application": self.applications()}

    def cost(self):
        return len(self.mix)
