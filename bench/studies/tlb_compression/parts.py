# SPDX-License-Identifier: Apache-2.0
"""The parts of the study and the runs of each."""
from pathlib import Path

from study import (CONSTANT_CACHES, DESIGNS, FRAMES, GRAPHS, INTERLEAVED, LARGE_PAGES, LONG_ON_GRAPHS, MOVES, QUICK, RANGE, SCATTERED, SENSITIVITY,
                   SIZES, SYSTEM, VARIANTS, WORKLOADS, Run)

AS_IT_IS = "as it is"
COMPARED = ["plain", "compressed"]
# Benchmarks of the other parts: the ones that the paper's text names besides its averages.
SOME = ["page_rank", "color", "bfs", "nw", "srad", "mis", "kmeans", "mvt"]
FEW = ["bfs", "nw", "mis", "kmeans"]  # benchmarks of the sensitivity
DENSE = SOME + ["mst"]  # benchmarks of interleaved frames
COUNTERS = ["plain", "compressed", "consecutive", "cumulative", "naive", "plain_1024"]
FULL = ["kmeans", "bicg", "mvt", "atax", "mis", "bfs", "spmv"]  # benchmarks at the suites' sizes


class Parts:
    """runs: part -> (what, benchmark, design) -> Run."""

    def __init__(self, names, quick, chosen, graphs=()):
        """`graphs`: graph files of the part graph_files."""
        self.quick, self.graphs = quick, [Path(g) for g in graphs]
        self.runs = {name: {} for name in names}
        for name in names:
            getattr(self, name)(chosen)

    def add(self, part, what, benchmark, design, settings, quick=None, graph=None):
        """Adds a run. Its name consists of its settings, so parts may share runs."""
        quick = self.quick if quick is None else quick
        size = f"{graph.name} " if graph else "quick " if quick else ""
        name = ", ".join([size + benchmark] + [f"{key}={value}" for key, value in sorted(settings.items())])
        self.runs[part][what, benchmark, design] = Run(benchmark, name, settings, QUICK if quick else SIZES, str(graph) if graph else "")

    def benchmarks(self, chosen):
        for benchmark in chosen:
            for design, settings in DESIGNS.items():
                self.add("benchmarks", AS_IT_IS, benchmark, design, settings)

    def graph_files(self, chosen):
        """All graph benchmarks on every file. LONG_ON_GRAPHS only if benchmarks are selected by name."""
        names = [b for b in GRAPHS if b in chosen and (len(chosen) < len(WORKLOADS) or b not in LONG_ON_GRAPHS)]
        for graph in self.graphs:
            for benchmark in names:
                for design in COUNTERS:
                    self.add("graph_files", graph.name, benchmark, design, DESIGNS[design], graph=graph)

    def full(self, chosen):
        for benchmark in [b for b in FULL if b in chosen]:
            for design in COUNTERS:
                self.add("full", AS_IT_IS, benchmark, design, DESIGNS[design], quick=False)

    def variants(self, chosen):
        for benchmark in [b for b in SOME if b in chosen]:
            for design, settings in ({d: DESIGNS[d] for d in COMPARED} | VARIANTS).items():
                self.add("variants", AS_IT_IS, benchmark, design, settings)

    def frames(self, chosen):
        for benchmark in [b for b in SOME if b in chosen]:
            for order, more in FRAMES.items():
                for design in COMPARED + ["range"]:
                    self.add("frames", order, benchmark, design, DESIGNS[design] | more)

    def interleaved(self, chosen):
        for benchmark in [b for b in DENSE if b in chosen]:
            for design in ["plain", "plain_1024"]:
                self.add("interleaved", AS_IT_IS, benchmark, design, DESIGNS[design])
            for count, more in INTERLEAVED.items():
                for design in COMPARED:
                    self.add("interleaved", count, benchmark, design, DESIGNS[design] | more)

    def moves(self, chosen):
        for benchmark in [b for b in SOME if b in chosen]:
            for design in COMPARED:
                self.add("moves", "none", benchmark, design, DESIGNS[design] | SCATTERED)
            for cost, more in MOVES.items():
                self.add("moves", cost, benchmark, "range", RANGE | SCATTERED | more)

    def pages(self, chosen):
        for benchmark in chosen:
            self.add("pages", "4 KiB", benchmark, "plain", DESIGNS["plain"])
            for design in COMPARED:
                self.add("pages", "2 MiB", benchmark, design, DESIGNS[design] | LARGE_PAGES)

    def sensitivity(self, chosen):
        for benchmark in [b for b in FEW if b in chosen]:
            for design in COMPARED:
                self.add("sensitivity", AS_IT_IS, benchmark, design, DESIGNS[design])
            for key, values in SENSITIVITY.items():
                for value in values:
                    self.add("sensitivity", f"{key}={value}", benchmark, "compressed", DESIGNS["compressed"] | {key: value})
            systems = {f"{key}={value}": {key: value} for key, values in SYSTEM.items() for value in values} | CONSTANT_CACHES
            for what, more in systems.items():
                for design in COMPARED:
                    self.add("sensitivity", what, benchmark, design, DESIGNS[design] | more)
