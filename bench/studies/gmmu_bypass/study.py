"""What the study runs: workloads, designs, how a footprint becomes sizes, and runs that are not done twice."""
import concurrent.futures
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import h5py

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
MIB = 1 << 20
FULL = 64 * MIB

# In the paper's order, with its names.
WORKLOADS = {"relu": "RL", "fir": "FIR", "maxpool": "MP", "aes": "AES", "pagerank": "PR", "transpose": "MT",
             "fft": "FFT", "kmeans": "KM", "stencil2d": "ST"}
DESIGNS = ["distributed", "centralized", "gmmu_bypass", "oracle"]
PLACEMENTS = ["first_touch", "recorded", "interleave", "contiguous"]  # the first is the main one

# Rough cost of a run relative to relu, so that long ones start first.
COST = {"aes": 25, "pagerank": 25, "kmeans": 12, "stencil2d": 6, "fir": 2}


class StudyError(Exception):
    """One sentence for the user."""


def parse_bytes(text):
    match = re.fullmatch(r"\s*([0-9.]+)\s*(B|KiB|MiB|GiB|TiB|)\s*", text)
    if not match:
        raise StudyError(f"'{text}' is not a footprint such as 8MiB")
    factor = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30, "TiB": 1 << 40}[match[2]]
    return int(float(match[1]) * factor)


def flat(tables, prefix=""):
    """Nested tables as one: {"gpu.sms": 36, ...}."""
    found = {}
    for name, value in tables.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def setting(text):
    """KEY=VALUE as (key, TOML text); numbers, true and false stand bare, all else in quotes."""
    key, equals, value = text.partition("=")
    if not equals or "." not in key or not value.strip():
        raise StudyError(f"--set '{text}' is not KEY=VALUE such as iommu.walkers=16")
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
    """Sides of two arrays of floats that fill the footprint: a power of two, and a multiple of 64 not beyond it."""
    area = footprint / 8
    wide = 64
    while wide * wide < area:
        wide *= 2
    return wide, max(64, round(area / wide / 64) * 64)


def sizes(workload, footprint):
    """Settings that give a workload its footprint; the workload's TOML file says why these."""
    if footprint == FULL:
        return {}  # as the file has it
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
    """One simulation: the files it includes, what it sets beyond them, where its result goes."""
    workload: str
    design: str
    placement: str
    footprint: int
    output: Path
    settings: dict = field(default_factory=dict)  # key -> TOML text, on top of the files
    source: "Run" = None  # with placement recorded: the run whose first touches say where each page is

    def files(self):
        return [FOLDER / "workloads" / f"{self.workload}.toml", FOLDER / "designs" / f"{self.design}.toml"]

    def all_settings(self):
        placement = {"memory.placement": f'"{self.placement}"'}
        if self.source:
            placement["memory.recorded_map"] = json.dumps(self.map().name)
        return {**sizes(self.workload, self.footprint), **placement, **self.settings}

    def map(self):
        return self.output.parent / f"{self.workload}.csv"

    def configuration(self):
        """Text of the TOML file of this run; what it sets wins over what it includes."""
        paths = ", ".join(json.dumps(os.path.relpath(p, self.output.parent)) for p in self.files())
        lines = [f"# {WORKLOADS[self.workload]}, {self.design}, {self.placement}", f"include = [{paths}]"]
        tables = {}
        for key, value in self.all_settings().items():
            table, _, name = key.rpartition(".")
            tables.setdefault(table, []).append(f"{name} = {value}")
        for table, entries in tables.items():
            lines += ["", f"[{table}]"] + entries
        return "\n".join(lines) + "\n"

    def identity(self):
        """Changes with everything that can change the answer, but for the program."""
        parts = [p.read_text() for p in self.files()]
        if "machine.topology" in self.settings:
            parts.append((self.output.parent / json.loads(self.settings["machine.topology"])).read_text())
        parts += [f"{key}={value}" for key, value in sorted(self.all_settings().items())]
        if self.source:
            parts.append(self.source.identity())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def cost(self):
        return COST.get(self.workload, 1) * self.footprint * (2 if self.design == "centralized" else 1)


class Program:
    """The farfault program and what makes a result its own."""

    def __init__(self, path, trust_version=False):
        self.path = Path(path).resolve()
        if not os.access(self.path, os.X_OK):
            raise StudyError(f"{path} is not a program; build it (cmake --build --preset release) or name one with --program")
        self.version = subprocess.run([self.path, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        self.hash = hashlib.sha256(self.path.read_bytes()).hexdigest()
        self.trust_version = trust_version

    def parameters(self):
        """All parameters; `default` is what the preset sets, where it sets one."""
        out = subprocess.run([self.path, "params", "--json"], capture_output=True, text=True, check=True).stdout
        preset = flat(tomllib.loads((ROOT / "topologies/presets/paper-gmmu-bypass.toml").read_text()))
        parameters = json.loads(out)["parameters"]
        for p in parameters:
            if p["key"] in preset:
                p["default"] = re.sub(r"^([0-9.]+)([A-Za-z])", r"\1 \2", str(preset[p["key"]]))
        return parameters

    def made(self, note):
        return note.get("version") == self.version if self.trust_version else note.get("program") == self.hash


def write_map(result, path):
    """The page map of a run: the devices of its pages, in the order in which they were touched."""
    lines = ["page,device"]
    with h5py.File(result, "r") as f:
        if "first_touches" in f["tables"]:
            table = f["tables/first_touches"]
            lines += [f"{p},{d.decode()}" for p, d in zip(table["page"][:], table["device"][:])]
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{threading.get_ident()}")  # designs that run side by side share the map
    unfinished.write_text("\n".join(lines) + "\n")
    unfinished.replace(path)


def complete(path):
    try:
        with h5py.File(path, "r") as f:
            return f.attrs.get("end_reason") == b"completed" and "result_digest" in f.attrs
    except OSError:
        return False


def done_already(run, program):
    """Whether the result of just this run, by just this program, lies there."""
    try:
        note = json.loads(run.output.with_suffix(".json").read_text())
    except (OSError, ValueError):
        return False
    return note.get("configuration") == run.identity() and program.made(note) and complete(run.output)


class Runner:
    """Runs simulations side by side; an interrupt ends the children that it started and no others."""

    def __init__(self, program, jobs, quiet=False):
        self.program, self.jobs, self.quiet = program, jobs, quiet
        self.children, self.lock, self.stopped = set(), threading.Lock(), False
        self.finished = self.total = 0

    def run(self, runs):
        """Returns the failures, as sentences. Runs whose pages others' first touches place come after those."""
        runs = {r.output: r for r in [r.source for r in runs if r.source] + list(runs)}.values()
        todo = [r for r in runs if not done_already(r, self.program)]
        self.total, self.finished = len(todo), 0
        if not self.quiet:
            print(f"{len(runs)} runs, {len(runs) - len(todo)} of them done already; {self.jobs} at a time", file=sys.stderr)
        todo.sort(key=Run.cost, reverse=True)
        return self._wave([r for r in todo if not r.source]) + self._wave([r for r in todo if r.source])

    def _wave(self, todo):
        failures = []
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(self._one, r) for r in todo]
            try:
                for future in concurrent.futures.as_completed(futures):
                    if future.result():
                        failures.append(future.result())
            except KeyboardInterrupt:
                with self.lock:
                    self.stopped = True
                    for child in self.children:
                        child.send_signal(signal.SIGKILL)
                raise
        return failures

    def _one(self, run):
        run.output.parent.mkdir(parents=True, exist_ok=True)
        config = run.output.with_suffix(".toml")
        config.write_text(run.configuration())
        if run.source:
            if not complete(run.source.output):
                return f"{config}: the run that gives its page map has failed"
            write_map(run.source.output, run.map())
        note = run.output.with_suffix(".json")
        note.unlink(missing_ok=True)
        command = [self.program.path, "run", config, "--output", run.output, "--threads", "1", "--partitions", "one",
                   "--progress", "off"]
        began = time.monotonic()
        with self.lock:
            if self.stopped:
                return None
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.children.add(child)
        _, errors = child.communicate()
        with self.lock:
            self.children.discard(child)
            self.finished += 1
            count = self.finished
        seconds = time.monotonic() - began
        name = f"{run.placement}, {WORKLOADS[run.workload]}, {run.design}"
        if child.returncode != 0 or not complete(run.output):
            return f"{config}: {(errors or '').strip() or f'ended with {child.returncode}'}"
        note.write_text(json.dumps({"configuration": run.identity(), "program": self.program.hash,
                                    "version": self.program.version, "seconds": round(seconds, 2)}) + "\n")
        if not self.quiet:
            print(f"  {count}/{self.total}  {name}: {seconds:.1f} s", file=sys.stderr, flush=True)
        return None
