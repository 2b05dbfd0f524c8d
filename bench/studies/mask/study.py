# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: pairs of applications, designs, and splits of the SMs."""
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
SAMPLES = {"run.sample_interval": "10us", "run.sample_doubling": 1024}  # of concurrent walks, every 10,200 cycles at first

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

# name -> (settings beyond the workload's defaults, runs in sequence, millions of cycles alone on 15 SMs, seconds of processor time for them).
# Sizes are the published ones (CMU-SAFARI/Mosaic, v3.x/pthread_benchmark). A program that ends within ten epochs of 100,000 cycles, alone on
# half of the SMs, runs as many times as ten epochs require (assumed: the paper does not state the lengths). A program with very many passes
# over the same data makes fewer, down to the first number that takes ten epochs. Longer programs run once.
SIZES = {
    "3DS": ({}, 3, 1.41, 3.9), "BFS2": ({}, 7, 1.11, 4.7), "BLK": ({}, 3, 1.19, 1.2), "BP": ({}, 4, 1.17, 1.8),
    "CFD": ({"side": 32, "iterations": 2}, 1, 1.36, 3.4),          # published: the mesh of 193,000 elements, 2,000 iterations
    "CONS": ({"iterations": 2}, 1, 1.46, 3.7),                     # published: 10
    "FFT": ({"size": "2MiB"}, 8, 1.06, 0.3),                       # 256 transforms of 1,024 points
    "FWT": ({"log2_data": 23}, 1, 7.91, 13.5),
    "GUP": ({"updates": 8}, 1, 1.09, 1.6),                         # published: 32, four of each element
    "HISTO": ({}, 6, 1.01, 0.7), "HS": ({}, 8, 1.06, 1.5),
    "LPS": ({}, 14, 1.06, 3.2), "LUD": ({}, 2, 1.03, 0.1),
    "LUH": ({"side": 45, "steps": 1}, 1, 1.93, 4.2),               # published: some thousand steps
    "MM": ({}, 1, 2.43, 1.8), "MUM": ({"reference": 1_399_930}, 1, 6.52, 7.9),  # NC_003997.20k
    "NN": ({"images": 28}, 1, 1.58, 2.2), "NW": ({}, 1, 6.55, 4.4),
    "QTC": ({"points": 4096, "clusters": 1}, 1, 14.47, 12.4),      # published: all clusters
    "RAY": ({}, 22, 1.00, 0.8),
    "RED": ({"iterations": 256}, 1, 1.22, 2.5),                    # published: 10 passes of as many
    "SAD": ({}, 2, 1.29, 0.7),
    "SC": ({"points": 65_536, "dimensions": 256, "evaluations": 2}, 1, 1.19, 1.8),   # published: all evaluations
    "SCAN": ({"iterations": 64}, 1, 1.03, 2.0),                    # published: 10 passes of 256
    "SCP": ({}, 20, 1.03, 1.5),
    "SRAD": ({"iterations": 7}, 1, 1.05, 1.4),                     # published: 100
    "TRD": ({"size": "16MiB"}, 1, 1.78, 4.3),                      # published: 10 passes
}

# MASK's own policies with settings that give SharedTLB's timing (tests/models/mask_test.cpp), because they count walk reads by depth and
# waiting times in the DRAM queues.
SHARED_TLB = {"gpu.l2_tlb.fill": "always", "gpu.l2_cache.translation_aware_bypass.sampled": 1, "gpu.dram.address_space_aware.queues": 1,
              "gpu.dram.address_space_aware.normal": 256, "gpu.dram.queue": 256, "gpu.dram.walk_queue": 0}
NO_L2_TLB = {"gpu.l2_tlb.entries": 0, "gpu.l2_tlb.latency": 1}
IDEAL = {"gpu.l1_tlb.organization": "ideal", "gpu.scalar_cache.tlb_organization": "ideal"}


def without(*keys):
    return {key: value for key, value in SHARED_TLB.items() if key not in keys}


DESIGNS = {
    "shared_tlb": SHARED_TLB,
    "pw_cache": SHARED_TLB | NO_L2_TLB | {"gpu.page_walk_cache.size": "8KiB"},
    "mask_tlb": without("gpu.l2_tlb.fill"),
    "mask_cache": without("gpu.l2_cache.translation_aware_bypass.sampled"),
    "mask_dram": without("gpu.dram.address_space_aware.queues", "gpu.dram.address_space_aware.normal", "gpu.dram.queue", "gpu.dram.walk_queue"),
    "mask": {},
    "ideal": SHARED_TLB | IDEAL,
}
# The published code's preset does not have MASK's queues.
PUBLISHED_SHARED_TLB = {key: SHARED_TLB[key] for key in ("gpu.l2_tlb.fill", "gpu.l2_cache.translation_aware_bypass.sampled")}
PUBLISHED = {
    "shared_tlb": PUBLISHED_SHARED_TLB,
    "pw_cache": PUBLISHED_SHARED_TLB | NO_L2_TLB | {"gpu.page_walk_cache.size": "8KiB"},
    "mask": {},
    "ideal": PUBLISHED_SHARED_TLB | IDEAL,
}
# Each of n applications alone, on its SMs and its part of the shared resources (`static_part`).
STATIC = "static"
NAMES = {"static": "Static", "shared_tlb": "SharedTLB", "pw_cache": "PWCache", "mask_tlb": "MASK-TLB", "mask_cache": "MASK-Cache",
         "mask_dram": "MASK-DRAM", "mask": "MASK", "ideal": "Ideal"}

# MASK's parameters that the paper leaves open, varied one at a time: halved and doubled, or other values. Only MASK runs use them.
SENSITIVITY = {
    "gpu.l2_tlb.tokens.step": [0.05, 0.2],
    "gpu.l2_tlb.tokens.initial": [0.4, 1.0],
    "gpu.l2_tlb.tokens.threshold": [0.01, 0.04],
    "gpu.l2_tlb.tokens.change": ["relative"],
    "gpu.l2_tlb.tokens.epoch": [50_000, 200_000],
    "gpu.l2_tlb.tokens.bypass_entries": [16, 64],
    "gpu.l2_tlb.tokens.direction": ["hill_climbing"],
    "gpu.l2_tlb.tokens.warps": ["start"],
    "gpu.l2_cache.translation_aware_bypass.sampled": [16, 64],
    "gpu.l2_cache.translation_aware_bypass.epoch": [50_000, 200_000],
    "gpu.l2_cache.translation_aware_bypass.own_mshrs": [0, 8],
    "gpu.l2_cache.translation_aware_bypass.unmeasured": ["kept"],
    "gpu.l2_cache.translation_aware_bypass.data_rate": ["loads"],
    "gpu.dram.address_space_aware.thresh_max": [250, 1000],
    "gpu.dram.address_space_aware.priority": ["channel"],
    "gpu.dram.address_space_aware.epoch": [50_000, 200_000],
    "gpu.dram.address_space_aware.overflow": ["normal"],
    "gpu.dram.walk_queue": [0],
}
# Assumed parameters of the GPU: SharedTLB and the applications alone use the same value.
SYSTEM = {
    "gpu.crossbar_latency": [50],  # the published code's
    "gpu.l2_tlb.mshrs": [32, 128],
    "gpu.l2_cache.mshrs": [64, 256],
    "gpu.l2_tlb.ports": [1],
    "gpu.l2_cache.ports": [1],
    "gpu.scalar_cache.sms": [4],
    "gpu.l2_cache.interleave": ["128B", "512B"],
    "gpu.dram.controller_latency": ["14706ps", "58824ps"],
    "gpu.dram.row": ["2KiB"],
    "gpu.dram.t_wtr": ["0ns"],
}


@dataclass
class Reading:
    """One reading of the paper: settings on top of the preset, and the sentence or source of the reading."""
    source: str
    settings: dict = field(default_factory=dict)  # key -> value

    def name(self):
        """Name of the reading in its runs."""
        return ", ".join(f"{key}={value}" for key, value in self.settings.items() if key not in MSHRS) or PRESET


MSHRS = {"gpu.l1_tlb.misses": "non_blocking"}  # hits under several misses
# The first reading is the preset's, chosen before any of these were run.
READINGS = [
    Reading("MASK, section 6: \"the nonblocking TLB implementation used by Pichai et al.\", read as hits under one miss; the published "
            "configuration has 4 bytes per channel and one chip per controller"),
    Reading("MASK, section 4.1, on pages of 2 MB: \"the average number of concurrent page table walks never exceeds 5 misses per GPU core\", which can be "
            "read as more than one", MSHRS | {"gpu.l1_tlb.mshrs": 4}),
    Reading("Mosaic (by the same group), section 5: \"Each TLB contains miss status holding registers (MSHRs) to track in-flight page table walks\"; "
            "64 walks", MSHRS | {"gpu.l1_tlb.mshrs": 64}),
    Reading("half of the published width; no source", {"gpu.dram.bandwidth": "13392MB/s"}),
    Reading("channels of 64 bits, as in preset `paper-mosaic`", {"gpu.dram.bandwidth": "53568MB/s"}),
    Reading("both: 64 MSHRs and channels of 64 bits", MSHRS | {"gpu.l1_tlb.mshrs": 64, "gpu.dram.bandwidth": "53568MB/s"}),
    Reading("the paper does not state the interleaving of the 16 banks; 4 KiB instead of 256 bytes",
            {"gpu.l2_cache.interleave": "4KiB"}),
    Reading("published code (`l2cache.cc`): a bypassing read waits in the slice's queue and takes one of its MSHRs",
            {"gpu.l2_cache.translation_aware_bypass.overtakes": False, "gpu.l2_cache.translation_aware_bypass.own_mshrs": 0}),
]
TLB_SIZES = [64, 128, 2048, 8192]  # entries of the L2 TLB besides the preset's 512
LARGE_PAGES = {"memory.page_size": "2MiB"}

SEED = 2018
PAIRS = 35
# Pairs that the paper's text names: Fig. 7, sections 5.3, 7.1 and 7.2.
NAMED = [("3DS", "HISTO"), ("CONS", "MM"), ("RAY", "RED"), ("BP", "RED"), ("FWT", "SC"), ("SAD", "SCAN"), ("HISTO", "SCAN"), ("SCAN", "SRAD"),
         ("CONS", "SCAN")]


def pairs():
    """35 pairs. The paper draws them at random and excludes pairs of two low/low applications. Its text names nine; SEED draws the others,
    which the paper only labels in figures."""
    allowed = [p for p in itertools.combinations(sorted(RATES), 2) if p not in NAMED and any(RATES[name] != ("low", "low") for name in p)]
    return NAMED + random.Random(SEED).sample(allowed, PAIRS - len(NAMED))


def class_of(mix, rates=None):
    """n of n-HMR: the number of applications with high miss rates in both TLBs, by Table 2 or by measured `rates`: name -> (L1, L2) as
    shares."""
    if rates is None:
        return sum(RATES[name] == ("high", "high") for name in mix)
    return sum(all(rate >= 0.2 for rate in rates[name]) for name in mix)


def splits(applications=2, sms=SMS):
    """All static splits of the SMs. The oracle takes the split with the best weighted speedup."""
    cuts = itertools.combinations(range(1, sms), applications - 1)
    return [tuple(b - a for a, b in zip((0, *c), (*c, sms))) for c in cuts]


def static_part(applications):
    """The part of L2 TLB, walkers, L2 cache and memory channels of one of `applications`."""
    part = SHARED_TLB | {"gpu.l2_tlb.entries": 512 // applications // 16 * 16, "gpu.l2_cache.slices": 16 // applications,
                         "gpu.l2_cache.size": f"{128 * (16 // applications)}KiB", "gpu.dram.channels": 8 // applications,
                         "gpu.gmmu.walkers": 64 // applications}
    if (16 // applications) % (8 // applications) != 0:
        part["gpu.l2_cache.slices"] = 2 * (8 // applications)
        part["gpu.l2_cache.size"] = f"{256 * (8 // applications)}KiB"
    return part


@dataclass
class Run:
    """One simulation: settings on top of the preset, and the applications with their SMs."""
    mix: tuple
    name: str         # unique
    settings: dict = field(default_factory=dict)  # key -> value
    sms: tuple = ()   # of each application; empty: equal shares, or all SMs for one application
    sizes: dict = field(default_factory=lambda: SIZES)  # application -> (settings beyond its workload's defaults, runs in sequence, ...)
    base: str = PRESET
    source = None     # runs of this study are independent

    def names(self):
        """Names of the applications in the configuration, in order."""
        return [f"a{i}_{name.lower()}" for i, name in enumerate(self.mix)]

    def applications(self):
        """Tables of the configuration, one per application."""
        tables = []
        for i, (name, key) in enumerate(zip(self.names(), self.mix)):
            table = {"name": name, "workload": WORKLOADS[key]}
            if self.sms:
                table["sms"] = self.sms[i]
            elif len(self.mix) > 1:
                table["sms"] = "equal"
            if len(self.mix) > 1:
                table["relaunch"] = True
            own, repeats = self.sizes[key][:2] if key in self.sizes else ({}, 1)
            tables.append(table | ({"repeats": repeats} if repeats > 1 else {}) | ({WORKLOADS[key]: own} if own else {}))
        return tables

    def all_settings(self):
        return SAMPLES | self.settings | {"application": self.applications()}

    def cost(self):
        """Approximate seconds of processor time: all applications run as long as the longest."""
        sms = self.settings.get("gpu.sms", SMS)
        shares = self.sms or (sms,) * len(self.mix)
        known = [SIZES[name][2:] for name in self.mix]
        longest = max(cycles * 15 / share for (cycles, _), share in zip(known, shares))
        return round(sum(longest * seconds / cycles * share / 15 for (cycles, seconds), share in zip(known, shares)), 2)
