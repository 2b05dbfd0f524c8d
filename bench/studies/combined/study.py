# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: all combinations of six mechanisms on one machine with two applications."""
import itertools
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.append(str(FOLDER.parent))  # configuration, provenance, sweeps
from configuration import StudyError, lines_of, toml_of
PRESET = "paper-batch-aware"
GPUS = [1, 2, 4]
FEW_GPUS = [1, 2]  # of --quick

# Settings of all cells on top of the preset; README.md gives the reasons.
MACHINE = {
    "machine.topology": "generic",
    "memory.page_size": "4KiB", "memory.page_sizes": "base_only", "memory.gpu_share": 0.75,
    "memory.placement": "first_touch", "memory.first_touch_copy": True, "memory.remote_touch": "remote_access",
    "gpu.l1_tlb.organization": "by_page_size", "gpu.scalar_cache.tlb_organization": "by_page_size",
    "gpu.l2_tlb.entries": 512, "gpu.l2_tlb.ways": 16, "gpu.l2_tlb.latency": 10,
    "gpu.l2_tlb.organization": "by_page_size", "gpu.l2_tlb.by_page_size.large_entries": 256,
    "gpu.gmmu.walk_cache": 0, "iommu.walk_cache": 0, "iommu.tlb_entries": 0,
    "gpu.dram.queue": 256,
}
# Settings of each mechanism, in the order of tables and plots.
MECHANISMS = {
    "gmmu_bypass": {"gpu.router.policy": "gmmu_bypass"},
    "mosaic": {"memory.frame_allocation": "contiguity_conserving", "memory.page_sizes": "in_place_coalescer", "memory.compaction": "cac"},
    "mask": {"gpu.l2_tlb.fill": "tokens", "gpu.l2_cache.walk_reads": "translation_aware_bypass",
             "gpu.dram.scheduler": "address_space_aware", "gpu.dram.queue": 272},
    "compression": {"gpu.l2_tlb.organization": "compressed", "gpu.l2_tlb.compressed.rebasing": "stream", "gpu.l2_tlb.compressed.large_entries": 256},
    "to_ue": {"gpu.sm.thread_blocks": "thread_oversubscription", "driver.batch.eviction_schedule": "unobtrusive"},
    "migration": {"memory.remote_touch": "migrate"},
}
NAMES = {"gmmu_bypass": "GMMU bypass", "mosaic": "Mosaic", "mask": "MASK", "compression": "TLB compression", "to_ue": "TO+UE", "migration": "migration"}
MIGRATIONS = ["migrate", "duplicate"]  # policies of the mechanism "migration"

# Pairs of applications, each on half of the SMs of all GPUs.
MIXES = {
    "graph and matrix": [("bfs_twc", {"rmat": {"scale": 16}}), ("mvt", {"side": 1536})],
}
# Evictions depend on the times of faults. Cells are repeated with the time of a batch changed by 1% to measure the noise of a cell's
# performance. The preset has 20 us.
NOISE = {"driver.batch.time": ["19.8us", "20.2us"]}


def noise_cells():
    """The bare machine and each mechanism alone."""
    return [(), *((m,) for m in MECHANISMS)]


SMALL = {  # for tests: just large enough for one large frame per application on each of two GPUs
    "small": [("bfs_twc", {"rmat": {"scale": 10}}), ("gups", {"table": "16MiB", "blocks": 64, "block": 64, "updates": 2})],
}
SECONDS = {1: 2.5, 2: 3, 4: 4}  # approximate processor time, by number of GPUs


def cells():
    """All combinations of mechanisms, from none to all."""
    return [tuple(m for m, on in zip(MECHANISMS, which) if on) for which in itertools.product((False, True), repeat=len(MECHANISMS))]


def few_cells():
    """The bare machine, each mechanism alone, each pair, and all mechanisms."""
    return [cell for cell in cells() if len(cell) <= 2 or len(cell) == len(MECHANISMS)]


def words_of(cell):
    """Name of a cell in options and tables."""
    return "+".join(cell) or "none"


def cell_of(words):
    """Cell of a name; the inverse of words_of()."""
    named = [] if words == "none" else words.split("+")
    for name in named:
        if name not in MECHANISMS:
            raise StudyError(f"unknown mechanism '{name}'; expected one of: {', '.join(MECHANISMS)}")
    return tuple(m for m in MECHANISMS if m in named)


@dataclass
class Run:
    """One simulation: a cell of the grid on a number of GPUs, with two applications."""
    mix: str
    gpus: int
    cell: tuple
    mixes: dict = field(default_factory=lambda: MIXES)
    more: dict = field(default_factory=dict)  # settings that override all others
    base: str = PRESET
    source = None  # runs of this study are independent

    @property
    def name(self):
        own = [f"{key}={value}" for key, value in sorted(self.more.items())]
        sizes = "; ".join(f"{workload} {toml_of(size)}" for workload, size in self.mixes[self.mix])
        return ", ".join([words_of(self.cell), f"{self.gpus} GPUs", sizes, *own])

    def applications(self):
        return [{"name": workload, "workload": workload, "sms": "equal"} | ({workload: size} if size else {})
                for workload, size in self.mixes[self.mix]]

    def all_settings(self):
        found = MACHINE | {"machine.generic.gpus": self.gpus}
        for mechanism in self.cell:
            found |= MECHANISMS[mechanism]
        if found["gpu.l2_tlb.organization"] != "by_page_size":  # a sweep of only such cells refuses the key
            del found["gpu.l2_tlb.by_page_size.large_entries"]
        return found | self.more | {"application": self.applications()}

    def cost(self):
        return SECONDS.get(self.gpus, 8)


def more_for(migration):
    """Additional settings of cells with migration, for a policy other than `migrate`."""
    if migration not in MIGRATIONS:
        raise StudyError(f"--migration '{migration}': expected one of: {', '.join(MIGRATIONS)}")
    return {} if migration == "migrate" else {"memory.remote_touch": migration}


def why_not(program, run):
    """The program's first error message for the configuration of a run; empty if it is valid."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cell.toml"
        path.write_text("\n".join([f"include = [{toml_of(run.base)}]", *lines_of(run.all_settings())]) + "\n")
        ran = subprocess.run([program, "statistics", path], capture_output=True, text=True)
        if ran.returncode == 0:
            return ""
        said = [line for line in ran.stderr.splitlines() if line.startswith("farfault: ") and not line.startswith("farfault: warning: ")]
        if ran.returncode != 2 or not said:
            raise StudyError(f"{words_of(run.cell)} on {run.gpus} GPUs: farfault statistics exited with {ran.returncode}: {ran.stderr.strip()[-300:]}")
        sentence = said[0].removeprefix("farfault: ")
        return sentence.partition(".toml:")[2].partition(": ")[2] or sentence
