# SPDX-License-Identifier: Apache-2.0
"""The parts of the study: which runs each is made of."""
from study import DESIGNS, FRAMES, LARGE_PAGES, QUICK, SENSITIVITY, SIZES, SYSTEM, VARIANTS, Run

COMPARED = ["plain", "compressed"]
# Of the other parts: those that the paper's text names beside its averages.
SOME = ["page_rank", "color", "bfs", "nw", "srad", "mis", "kmeans", "mvt"]
FEW = ["bfs", "nw", "mis", "kmeans"]  # of the assumptions


class Parts:
    """runs: part -> (what, benchmark, design) -> Run."""

    def __init__(self, names, quick, chosen, graph=""):
        self.sizes, self.graph = QUICK if quick else SIZES, graph
        self.size = ("quick " if quick else "") + ("own graph, " if graph else "")
        self.runs = {name: {} for name in names}
        for name in names:
            getattr(self, name)(chosen)

    def add(self, part, what, benchmark, design, settings):
        """Named by what it is: parts may share a run."""
        name = ", ".join([self.size + benchmark] + [f"{key}={value}" for key, value in sorted(settings.items())])
        self.runs[part][what, benchmark, design] = Run(benchmark, name, settings, self.sizes, self.graph)

    def benchmarks(self, chosen):
        for benchmark in chosen:
            for design, settings in DESIGNS.items():
                self.add("benchmarks", "as it is", benchmark, design, settings)

    def variants(self, chosen):
        for benchmark in [b for b in SOME if b in chosen]:
            for design, settings in ({d: DESIGNS[d] for d in COMPARED} | VARIANTS).items():
                self.add("variants", "as it is", benchmark, design, settings)

    def frames(self, chosen):
        for benchmark in [b for b in SOME if b in chosen]:
            for order, more in FRAMES.items():
                for design in COMPARED + ["range"]:
                    self.add("frames", order, benchmark, design, DESIGNS[design] | more)

    def pages(self, chosen):
        for benchmark in chosen:
            self.add("pages", "4 KiB", benchmark, "plain", DESIGNS["plain"])
            for design in COMPARED:
                self.add("pages", "2 MiB", benchmark, design, DESIGNS[design] | LARGE_PAGES)

    def sensitivity(self, chosen):
        for benchmark in [b for b in FEW if b in chosen]:
            for design in COMPARED:
                self.add("sensitivity", "as it is", benchmark, design, DESIGNS[design])
            for key, values in SENSITIVITY.items():
                for value in values:
                    self.add("sensitivity", f"{key}={value}", benchmark, "compressed", DESIGNS["compressed"] | {key: value})
            for key, values in SYSTEM.items():
                for value in values:
                    for design in COMPARED:
                        self.add("sensitivity", f"{key}={value}", benchmark, design, DESIGNS[design] | {key: value})
