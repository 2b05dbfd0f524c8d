# SPDX-License-Identifier: Apache-2.0
"""Parts of the study and the runs of each."""
from study import DESIGNS, PROGRAMS, Run

# Latency between chiplets in cycles, one way: values in the published code's comments.
LATENCIES = [180, 360, 720]
BASE_LATENCY = 360
VARIED = ["matrixtranspose", "mis", "stencil2d"]  # programs of the part `latency`
MORE_WALKERS = 64  # per L2 TLB; the preset has 16
WALK_BOUND = ["gups", "kmeans", "matrixtranspose", "mis", "spmv", "stencil2d"]  # private walkers busy for more than half of the time


class Parts:
    """{part: {(latency, program, design): run}}"""

    def __init__(self, size, names, programs=PROGRAMS):
        self.size, self.programs, self.runs = size, list(programs), {name: {} for name in names}
        for name in names:
            getattr(self, name)()

    def add(self, part, latency, programs, settings):
        for p in programs:
            for d in DESIGNS:
                if p in self.programs:
                    self.runs[part][latency, p, d] = Run(p, d, f"{part}, {latency}, {p}, {d}", settings, self.size)

    def designs(self):
        self.add("designs", BASE_LATENCY, PROGRAMS, {})

    def latency(self):
        for cycles in LATENCIES:
            if cycles != BASE_LATENCY:
                self.add("latency", cycles, VARIED, {"gpu.l2_cache.partition_latency": cycles})

    def walkers(self):
        self.add("walkers", BASE_LATENCY, WALK_BOUND, {"gpu.gmmu.walkers": MORE_WALKERS})
