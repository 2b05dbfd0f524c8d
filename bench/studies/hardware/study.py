"""The runs of the study: what each GPU preset is asked, and how a result file answers."""
import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import h5py

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path.insert(0, str(FOLDER.parent))
import provenance  # noqa: E402

MEASURED = ROOT.parent / "shared/data/measured"
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
GPUS = {"v100": "V100", "a100": "A100", "h100": "H100", "mi100": "MI100", "mi210": "MI210", "mi300x": "MI300X"}
# A machine of each GPU, and the GPU that exchanges data with GPU 0: on DGX-1 the one with two NVLinks to it.
MACHINES = {"v100": ("dgx1", 3), "a100": ("dgx-a100", 1), "h100": ("dgx-h100", 1), "mi300x": ("mi300x-8", 1)}


class StudyError(Exception):
    """One sentence for the user."""


@dataclass
class Run:
    """One simulation of a preset; `settings` are keys and TOML texts."""
    preset: str
    settings: dict

    def text(self):
        lines = [f'include = ["{self.preset}"]'] + [f"{k} = {v}" for k, v in self.settings.items()]
        return "\n".join(lines) + "\n"

    def name(self):
        return f"{self.preset}-{hashlib.sha256(self.text().encode()).hexdigest()[:16]}"


class Simulator:
    """Runs configurations, several at a time, each once for one program: results are kept by the text of the run, in a folder of
    just this program. A failed run leaves no result."""

    def __init__(self, program, out, jobs, quiet=False):
        self.jobs, self.quiet, self.lock, self.cpu, self.digests = jobs, quiet, threading.Lock(), 0.0, {}
        try:
            self.program = provenance.Program(program)
        except OSError as problem:
            raise StudyError(str(problem)) from None
        self.out = Path(out).resolve() / self.program.hash[:12]
        self.out.mkdir(parents=True, exist_ok=True)

    def file_of(self, run):
        return self.out / f"{run.name()}.json"

    def say(self, text):
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def all(self, runs):
        """{run name: figures} of all runs."""
        runs = {r.name(): r for r in runs}.values()
        todo = [r for r in runs if not self.file_of(r).exists()]
        self.say(f"{len(runs)} runs, {len(runs) - len(todo)} of them done already; {self.jobs} at a time")
        self.began, self.told, self.finished, self.total = time.monotonic(), time.monotonic(), 0, len(todo)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(self.one, r) for r in todo]
            try:
                for future in concurrent.futures.as_completed(futures):
                    future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        found = {r.name(): json.loads(self.file_of(r).read_text()) for r in runs}
        self.digests |= {name: f["digest"] for name, f in found.items()}
        return found

    def one(self, run):
        if self.program.replaced():
            raise StudyError(f"{self.program.path} was built again while the study ran; start it again")
        config = self.out / f"{run.name()}.toml"
        result = self.out / f"{run.name()}.h5"
        config.write_text(run.text())
        result.unlink(missing_ok=True)
        child = subprocess.Popen([self.program.path, "run", config, "--output", result, "--progress", "off", "--threads", "1",
                                  "--partitions", "one"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        child.stderr.close()
        if child.returncode != 0:
            result.unlink(missing_ok=True)
            raise StudyError(f"{config}: {errors.strip() or f'ended with {child.returncode}'}")
        partial = self.file_of(run).with_suffix(".part")
        partial.write_text(json.dumps(figures(result)))
        os.replace(partial, self.file_of(run))
        result.unlink()
        self.progress(usage.ru_utime + usage.ru_stime)

    def progress(self, cpu):
        with self.lock:
            self.finished += 1
            self.cpu += cpu
            now = time.monotonic()
            if now - self.told > 15 or self.finished == self.total:
                self.told = now
                self.say(f"  {self.finished}/{self.total} after {(now - self.began) / 60:.0f} min; {self.cpu / 60:.1f} min of processor time")


def picoseconds(text):
    """Of a duration as a result's configuration has it: "5400 ns"."""
    number, unit = text.split()
    return int(number) * {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}[unit]


def figures(path):
    """What a result file says: times of its kernels, TLB counts, and the parameters that the study divides by."""
    with h5py.File(path, "r") as f:
        if f.attrs.get("end_reason") != b"completed":
            raise StudyError(f"{path}: the run did not come to its end")
        kernels = f["tables/kernels"]
        times = [int(b - a) for a, b in zip(kernels["launched"][:], kernels["finished"][:])]
        machine = f["summary/machine"]
        total = {name: int(machine[name][0]) for name in machine if name != "name"}
        config = tomllib.loads(f["config/toml"][()].decode())
        host = sum(picoseconds(config["host"][name]) for name in ("launch_latency", "done_latency"))
        return {"kernel_ps": times, "host_ps": host, "l2_tlb_requests": total["l2_tlb_hits"] + total["l2_tlb_misses"],
                "dram_bytes": total["dram_bytes"], "gpu": config["gpu"], "digest": f.attrs["result_digest"].decode()}


# ---- What is asked

def hops(gpu, mhz, footprint, stride, count, order="random"):
    """A chase of `count` loads through the footprint."""
    return Run(f"gpu-{gpu}", {
        "gpu.clock": f'"{mhz}MHz"', "workload.name": '"pointer_chase"',
        "workload.pointer_chase.stride": f'"{stride} B"', "workload.pointer_chase.order": f'"{order}"',
        "workload.pointer_chase.elements": max(1, footprint // stride), "workload.pointer_chase.hops": count})


def chase(gpu, mhz, footprint, stride, beyond):
    """Two runs, whose difference is what a load takes once the caches hold what they can: (short, long, loads between)."""
    elements = max(1, footprint // stride)
    # Beyond all caches the first lap already finds nothing.
    warm = elements if footprint <= beyond else 4096
    more = min(elements, 8192)
    if elements < 4096:
        warm, more = elements * -(-4096 // elements), elements * -(-8192 // elements)
    return hops(gpu, mhz, footprint, stride, warm), hops(gpu, mhz, footprint, stride, warm + more), more


def stream(gpu, size, writes, passes=1, lane=16, accesses=4, more=None):
    return Run(f"gpu-{gpu}", {
        "workload.name": '"stream"', "workload.stream.bytes": f'"{size} B"', "workload.stream.write_fraction": writes,
        "workload.stream.bytes_per_lane": lane, "workload.stream.accesses_per_thread": accesses,
        "workload.stream.passes": passes, **(more or {})})


def exchange(machine, access, part, to):
    """GPU 0 reads or writes `part` bytes of GPU `to`'s memory, the second kernel of the run; the machine has 8 GPUs."""
    return Run(machine, {
        "workload.name": '"exchange"', "workload.exchange.pattern": '"pair"', "workload.exchange.access": f'"{access}"',
        "workload.exchange.parts": 8, "workload.exchange.from": 0, "workload.exchange.to": to,
        "workload.exchange.bytes": f'"{8 * part} B"', "memory.placement": '"contiguous"', "host.block_order": '"contiguous"'})


def has_workload(program, name):
    listed = subprocess.run([program.path, "workloads"], capture_output=True, text=True).stdout
    return any(line.split()[:1] == [name] for line in listed.splitlines())
