# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: workloads, designs, and workload sizes for a footprint."""
import json
import re
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.append(str(FOLDER.parent))  # configuration, provenance, sweeps
from configuration import StudyError, flat
PRESET = "paper-gmmu-bypass"
MIB = 1 << 20
FULL = 64 * MIB

# Workloads in the paper's order, with its names.
WORKLOADS = {"relu": "RL", "fir": "FIR", "maxpool": "MP", "aes": "AES", "pagerank": "PR", "transpose": "MT",
             "fft": "FFT", "kmeans": "KM", "stencil2d": "ST"}
DESIGNS = ["distributed", "centralized", "gmmu_bypass", "oracle"]
PLACEMENTS = ["recorded", "first_touch", "interleave", "contiguous"]  # the first one has the main figures
MAIN = PLACEMENTS[0]

# Approximate seconds of a run on a core of 2024: start-up, and seconds per MiB. Long runs start first.
START, COST = 0.1, {"relu": 0.06, "fir": 0.1, "maxpool": 0.23, "aes": 0.6, "pagerank": 2, "transpose": 0.06, "fft": 0.12,
                    "kmeans": 1.1, "stencil2d": 0.4}


def parse_bytes(text):
    match = re.fullmatch(r"\s*([0-9.]+)\s*(B|KiB|MiB|GiB|TiB|)\s*", text)
    if not match:
        raise StudyError(f"'{text}': not a footprint, such as 8MiB")
    factor = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30, "TiB": 1 << 40}[match[2]]
    return int(float(match[1]) * factor)


def setting(text):
    """KEY=VALUE as (key, TOML text). Values other than numbers, true and false are quoted."""
    key, equals, value = text.partition("=")
    if not equals or "." not in key or not value.strip():
        raise StudyError(f"--set '{text}': must be KEY=VALUE, such as iommu.walkers=16")
    value = value.strip()
    bare = re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?|true|false", value) or value[0] in "\"'"
    return key.strip(), value if bare else json.dumps(value)


def show_bytes(n):
    for unit, factor in (("GiB", 1 << 30), ("MiB", MIB), ("KiB", 1 << 10)):
        if n >= factor:
            value = n / factor
            return f"{value:.0f} {unit}" if value == int(value) else f"{value:.1f} {unit}"
    return f"{n} B"


def two_sides(footprint):
    """Sides of two arrays of floats that fill the footprint: a power of two, and a multiple of 64 that does not exceed it."""
    area = footprint / 8
    wide = 64
    while wide * wide < area:
        wide *= 2
    return wide, max(64, round(area / wide / 64) * 64)


def sizes(workload, footprint):
    """Settings that give a workload its footprint; the workload's TOML file explains them."""
    if footprint == FULL:
        return {}  # the file's size
    if workload == "transpose":
        width, height = two_sides(footprint)
        return {"workload.transpose.width": width, "workload.transpose.height": height}
    if workload == "stencil2d":
        cols, rows = two_sides(footprint)
        return {"workload.stencil2d.cols": cols, "workload.stencil2d.rows": rows}
    if workload == "pagerank":
        scale = 1
        while (2 << scale) * (8 * 14 + 12) <= footprint * 33 / 32:
            scale += 1
        factor = max(1, round((footprint / (1 << scale) - 12) / 8))
        return {"workload.pagerank.rmat.scale": scale, "workload.pagerank.rmat.edge_factor": factor}
    return {f"workload.{workload}.size": f'"{footprint} B"'}


@dataclass
class Run:
    """One simulation: configuration files, and settings on top of them."""
    workload: str
    design: str
    placement: str
    footprint: int
    name: str  # unique
    settings: dict = field(default_factory=dict)  # key -> TOML text, on top of the files
    base = PRESET
    source: "Run" = None  # with placement `recorded`: the run whose first touches give the page map

    def files(self):
        return [FOLDER / "workloads" / f"{self.workload}.toml", FOLDER / "designs" / f"{self.design}.toml"]

    def all_settings(self):
        """All settings; the run's own override the files'."""
        found = {}
        for path in self.files():
            found |= flat(tomllib.loads(path.read_text()))
        found.pop("include", None)  # the preset
        own = {**sizes(self.workload, self.footprint), "memory.placement": f'"{self.placement}"', **self.settings}
        return found | {key: tomllib.loads(f"value = {text}")["value"] for key, text in own.items()}

    def cost(self):
        shorter = 0.2 if any(key.startswith("workload.") for key in self.settings) else 1
        return START + COST[self.workload] * shorter * self.footprint / MIB


def figure_run(workload, design, placement, footprint, settings=None, beside=""):
    """A run of the paper's figures or, with the name prefix `beside`, a run with other settings that uses the figures' recorded pages."""
    if beside:
        source = figure_run(workload, "distributed", "first_touch", footprint)
    else:
        source = figure_run(workload, "distributed", "first_touch", footprint, settings) if placement == "recorded" else None
    name = f"{beside}{show_bytes(footprint)}, {placement}, {workload}, {design}"
    return Run(workload, design, placement, footprint, name, settings or {}, source)
