# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: the paper's 22 benchmarks, TLBs, and variations."""
import sys
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.append(str(FOLDER.parent))  # configuration, provenance, sweeps
from configuration import StudyError
PRESET = "paper-tlb-compression"
HIGH = 0.75  # minimum hit rate of the paper's class H

# The paper's Table 2: (C)ompute- or (M)emory-intensive, (R)egular or (I)rregular, classes of the L1 and L2 TLB hit rates. Then the workload of each benchmark.
TABLE_2 = {
    "spmv": ("C", "I", "H", "H"), "heartwall": ("C", "R", "H", "H"), "page_rank": ("C", "I", "L", "H"), "fw": ("M", "I", "L", "H"),
    "color": ("M", "I", "L", "H"), "dwt": ("C", "I", "L", "L"), "bfs": ("M", "I", "L", "L"), "stencil": ("C", "R", "L", "L"),
    "pathfinder": ("M", "R", "L", "L"), "nw": ("M", "I", "L", "L"), "atax": ("M", "I", "L", "L"), "mst": ("M", "I", "H", "H"),
    "bh": ("M", "I", "L", "H"), "srad": ("C", "R", "L", "H"), "mis": ("C", "I", "L", "H"), "hotspot": ("C", "R", "L", "L"),
    "kmeans": ("M", "I", "H", "L"), "2dconv": ("C", "R", "H", "L"), "backprop": ("C", "R", "H", "L"), "mvt": ("C", "I", "L", "L"),
    "bicg": ("C", "I", "L", "L"), "bc": ("C", "I", "L", "L"),
}
WORKLOADS = {
    "spmv": "spmv", "heartwall": "heartwall", "page_rank": "pr_pannotia", "fw": "fw", "color": "color", "dwt": "dwt", "bfs": "bfs_rodinia",
    "stencil": "stencil_parboil", "pathfinder": "pathfinder", "nw": "nw", "atax": "atax", "mst": "mst", "bh": "bh", "srad": "srad", "mis": "mis",
    "hotspot": "hotspot", "kmeans": "kmeans", "2dconv": "conv2d", "backprop": "backprop", "mvt": "mvt", "bicg": "bicg", "bc": "bc_pannotia",
}
IRREGULAR = [name for name, of in TABLE_2.items() if of[1] == "I"]
INTENSIVE_OR_IRREGULAR = [name for name, of in TABLE_2.items() if of[0] == "M" or of[1] == "I"]
OTHERS = [name for name in TABLE_2 if name not in INTENSIVE_OR_IRREGULAR]
# Benchmarks with walkers as the bottleneck of the baseline, because a warp touches 32 rows at once. They dominate every mean.
WALKER_BOUND = ["atax", "mvt", "bicg"]
WITHOUT_WALKER_BOUND = [name for name in TABLE_2 if name not in WALKER_BOUND]
NOTHING_TO_GAIN = 0.97  # baseline L2 TLB hit rate, rounded to percent, above which it can hardly rise
# Graph benchmarks, which can read a file of --graph; the paper has networks of authors.
GRAPHS = ["page_rank", "mis", "bfs", "bc", "color", "mst"]
LONG_ON_GRAPHS = ["color", "mst"]  # minutes per run because of their many rounds; run only if --benchmarks names them
# Known files: vertices, edges and source. They are not part of this project.
SNAP = "SNAP, as Matrix Market in JuliaGraphs/SNAPDatasets.jl"
GRAPH_FILES = {
    "cit-HepTh.mtx.gz": f"citations of high-energy physics, 27,770 vertices, 352,807 directed edges ({SNAP})",
    "soc-Slashdot0902.mtx.gz": f"a social network, 82,168 vertices, 948,464 directed edges ({SNAP})",
    "astro-ph.graph": "authors of astrophysics, 16,706 vertices, 121,251 edges (METIS, networkit/networkit)",
}

# name -> (settings beyond the workload's defaults, seconds of the baseline on one core). Sizes are the suites' own if a run takes at most about
# 20 seconds on one core, otherwise the largest round size within that time; programs with very many passes over the same data make fewer.
# PUBLISHED: the suites' sizes. QUICK: the workloads' defaults or smaller.
GRAPH = {"rmat": {"scale": 18}}  # 262,144 vertices and 1,048,576 edges, like coAuthorsDBLP of the 10th DIMACS challenge, the paper's [54]
SIZES = {
    "spmv": ({"side": 52, "iterations": 4}, 2), "heartwall": ({"frames": 4}, 3), "page_rank": (GRAPH, 6), "fw": ({}, 4), "color": (GRAPH, 14),
    "dwt": ({}, 1), "bfs": (GRAPH, 8), "stencil": ({"nx": 512, "ny": 512}, 4), "pathfinder": ({}, 1), "nw": ({}, 2),
    "atax": ({"rows": 4096, "cols": 4096}, 13), "mst": ({}, 13), "bh": ({"bodies": 30_000}, 17), "srad": ({"iterations": 8}, 2), "mis": (GRAPH, 7),
    "hotspot": ({"rows": 1024, "cols": 1024}, 1), "kmeans": ({}, 12), "2dconv": ({"rows": 4096, "cols": 4096}, 5), "backprop": ({}, 1),
    "mvt": ({"side": 4096}, 13), "bicg": ({"rows": 4096, "cols": 4096}, 14), "bc": (GRAPH, 11),
}
QUICK = {name: ({}, cost) for name, cost in (
    ("spmv", 0.2), ("heartwall", 1.3), ("page_rank", 1.2), ("color", 3.1), ("dwt", 0.7), ("bfs", 0.9), ("stencil", 1), ("pathfinder", 0.9),
    ("nw", 1.2), ("atax", 3.1), ("mst", 12.4), ("bh", 4.2), ("srad", 0.4), ("mis", 1.3), ("hotspot", 0.2), ("2dconv", 1.1), ("backprop", 0.5),
    ("mvt", 3.1), ("bicg", 3.4), ("bc", 2.5))} | {"fw": ({"steps": 8}, 1), "kmeans": ({"size": "16MiB"}, 3)}
PUBLISHED = {
    "spmv": "Dubcova3, 146,689 rows, 50 iterations", "heartwall": "104 frames", "page_rank": "coAuthorsDBLP, 20 iterations", "fw": "511 steps",
    "color": "larger graphs", "dwt": "the same", "bfs": "1,000,000 vertices", "stencil": "100 iterations", "pathfinder": "the same",
    "nw": "the same", "atax": "4,096^2", "mst": "graphs of millions", "bh": "30,000 bodies, several steps", "srad": "100 iterations",
    "mis": "larger graphs", "hotspot": "1,024^2, more iterations", "kmeans": "494,020 points with 34 features", "2dconv": "4,096^2", "backprop": "the same",
    "mvt": "4,096^2", "bicg": "4,096^2", "bc": "all roots",
}

# Table 3's 64 KB of registers are too few for one block of these kernels compiled for sm_75: they get Kepler's 256 KB.
KEPLER_REGISTERS = {"gpu.sm.registers": 65_536}
MORE = {name: KEPLER_REGISTERS for name in ("mst", "bh", "srad")}

L1, L2 = "gpu.l1_tlb", "gpu.l2_tlb"
PLAIN = {f"{L2}.organization": "plain"}
COMPRESSED = {f"{L2}.organization": "compressed"}
RANGE = {f"{L2}.organization": "range"}


def compressed(**settings):
    return COMPRESSED | {f"{L2}.compressed.{key}": value for key, value in settings.items()}


IDEAL = {"gpu.l1_tlb.organization": "ideal", f"{L2}.organization": "ideal", "gpu.scalar_cache.tlb_organization": "ideal"}
COMPRESSED_L1 = {f"{L1}.organization": "compressed", f"{L1}.compressed.sets_per_base": 0}
DESIGNS = {
    "plain": PLAIN,
    "compressed": COMPRESSED,
    "consecutive": compressed(rebasing="consecutive"),
    "cumulative": compressed(rebasing="cumulative"),
    "naive": compressed(rebasing="none"),
    "plain_1024": PLAIN | {f"{L2}.entries": 1024},
    "plain_256": PLAIN | {f"{L2}.entries": 256},
    "range": RANGE,
    "ideal_l2": {f"{L2}.organization": "ideal"},
    "ideal": IDEAL,
    "compressed_l1": PLAIN | COMPRESSED_L1,
}
# Compression with each reading of the re-basing counter: consecutive hits and insertions (the preset's); consecutive insertions; all
# insertions since the last base.
READINGS = ["compressed", "consecutive", "cumulative"]
# Partitions are named (uncompressed, compressed), as in the paper. It gives no widths for a ratio of 3: three deltas with 2 status bits each
# leave 15 bits of an entry's 52. The wide variants are not the paper's: their frame delta is as wide as the entry allows.
VARIANTS = {
    "ratio_3": compressed(ratio=3, virtual_delta=9, physical_delta=6),
    "ratio_3_6_9": compressed(ratio=3, virtual_delta=6, physical_delta=9),
    "uncompressed_25": compressed(compressed_percent=75),
    "uncompressed_75": compressed(compressed_percent=25),
    "shared_2": compressed(sets_per_base=2),
    "shared_4": compressed(sets_per_base=4),
    "searched": compressed(base="searched"),
    "naive": compressed(rebasing="none"),
    "consecutive": compressed(rebasing="consecutive"),
    "cumulative": compressed(rebasing="cumulative"),
    "both_levels": COMPRESSED | COMPRESSED_L1,
    "wide_2": compressed(virtual_delta=9, physical_delta=15),
    "wide_2_25": compressed(virtual_delta=9, physical_delta=15, compressed_percent=75),
    "wide_3": compressed(ratio=3, virtual_delta=4, physical_delta=11),
}
NAMES = {
    "plain": "baseline", "compressed": "compressed", "consecutive": "consecutive counter", "cumulative": "cumulative counter", "naive": "without re-basing", "plain_1024": "1,024 entries", "plain_256": "256 entries",
    "range": "range TLB", "ideal_l2": "ideal L2 TLB", "ideal": "ideal", "compressed_l1": "compressed L1 TLB", "ratio_3": "ratio 3, deltas of 9 and 6 bits",
    "ratio_3_6_9": "ratio 3, deltas of 6 and 9 bits", "uncompressed_25": "partitions (25%, 75%)", "uncompressed_75": "partitions (75%, 25%)",
    "shared_2": "bases shared by 2 sets", "shared_4": "bases shared by 4 sets", "searched": "searched base",
    "both_levels": "compressed L1 TLBs too, one base each", "wide_2": "ratio 2, deltas of 9 and 15 bits",
    "wide_2_25": "ratio 2, deltas of 9 and 15 bits, partitions (25%, 75%)", "wide_3": "ratio 3, deltas of 4 and 11 bits",
}
# Order in which pages get frames; the paper does not state it. on_demand: the next free frame, with buffers mapped page by page.
FRAMES = {
    "on_demand": {}, "per_application": {"memory.frame_allocation": "per_application"},
    "contiguity_conserving": {"memory.frame_allocation": "contiguity_conserving"}, "interleaved": {"memory.frame_allocation": "interleaved"},
    "first_touch": {"memory.placement": "first_touch", "memory.first_touch_by": "iommu"},  # at the GPU's first touch, without the driver
    "fragmented": {"memory.fragmentation_index": 1.0}, "random": {"memory.frame_allocation": "random"},
}
# Pages alternate between n parts of the memory: pages of one set are then n times as dense in each part.
INTERLEAVED = {1: {"memory.frame_allocation": "interleaved", "memory.interleaved.parts": 1},
               2: {"memory.frame_allocation": "interleaved", "memory.interleaved.parts": 2},
               4: {"memory.frame_allocation": "interleaved", "memory.interleaved.parts": 4}, 8: FRAMES["interleaved"]}
# Contiguity at a cost. Other data occupies half of each large frame, and pages are mapped at their first touch.
# If a page needs a large frame and none is free, one is emptied page by page (Mosaic's compaction). 80 ns: a copy within DRAM.
SCATTERED = FRAMES["first_touch"] | {"memory.fragmentation_index": 1.0, "memory.frame_allocation": "contiguity_conserving"}
MOVES = {
    "none": {}, "ideal": {"memory.compaction": "ideal"}, "80ns": {"memory.compaction": "cac_bulk_copy"},
    "800ns": {"memory.compaction": "cac_bulk_copy", "memory.cac_bulk_copy.time": "800ns"}, "copy_engine": {"memory.compaction": "cac"},
}
MOVE_NAMES = {"none": "none", "ideal": "0", "80ns": "80 ns", "800ns": "800 ns", "copy_engine": "copy engine"}
LARGE_PAGES = {"memory.page_size": "2MiB"}
# Assumed parameters: of compression (SENSITIVITY, compressed runs only), and of the GPU (SYSTEM, baseline and compressed runs).
SENSITIVITY = {
    f"{L2}.compressed.latency": [1, 5, 10],
    f"{L2}.compressed.rebase_after": [8, 32],
}
CACHE = "gpu.scalar_cache"
CONSTANT_CACHES = {
    "constant cache of Table 3, no TLB": {f"{CACHE}.sms": 1, f"{CACHE}.size": "8KiB", f"{CACHE}.ways": 2, f"{CACHE}.tlb_organization": "ideal"},
    "constant cache of GCN3, with a TLB": {f"{CACHE}.sms": 4, f"{CACHE}.size": "16KiB", f"{CACHE}.ways": 4, f"{CACHE}.tlb_organization": "plain"},
}
SYSTEM = {
    "gpu.sm.registers": [65_536],
    f"{L2}.mshrs": [32, 128],
    "workload.small_buffers": ["128KiB"],  # as in glibc's malloc: small buffers in their own segment
    "gpu.crossbar_latency": [25, 100],
    "gpu.gmmu.walk_latency": [250, 1000],
}


@dataclass
class Run:
    """One simulation: settings on top of the preset, and the benchmark with its size."""
    benchmark: str
    name: str         # unique
    settings: dict = field(default_factory=dict)  # key -> value
    sizes: dict = field(default_factory=lambda: SIZES)  # benchmark -> (settings beyond its workload's defaults, seconds)
    graph: str = ""   # graph file of a benchmark of GRAPHS
    base: str = PRESET
    source = None     # runs of this study are independent

    def workload(self):
        name, own = WORKLOADS[self.benchmark], self.sizes[self.benchmark][0]
        if self.graph:
            own = {"graph": self.graph}
        return {"workload.name": name} | ({f"workload.{name}": own} if own else {})

    def all_settings(self):
        return MORE.get(self.benchmark, {}) | self.settings | self.workload()

    def cost(self):
        """Approximate seconds of processor time."""
        return self.sizes[self.benchmark][1]
