#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every parameter acts: two values of it give runs whose end or whose statistics differ, on a machine where its text and its conditions
promise an effect. INERT lists the parameters without effect on both, each with its reason.

The runs are in tests/support/parameter_runs.py: two GPUs with two SMs each, and small inputs. A parameter is tried with a few values,
until one gives a different end, summary, last sample or table than the value in its run.

Usage: parameters_act_test.py BUILD_FOLDER/anything [KEY_PREFIX ...]
The prefixes select parameters: gpu.l2_tlb. links.scale.nvlink.latency
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from parameter_runs import RULES, WORKLOADS, files, values

try:
    import h5py
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

# Pattern of keys: why no value changes the end or a statistic.
INERT = {
    r"run\.sample_(interval|doubling)": "times of samples; the last sample is that of the end",
    r"limits\..*": "bounds the content of input files and the size of the model; never changes a result",
    r"application\.name": "name of an application; its table of the configuration has the same name",
    r"workload\..*\.format": "overrides the format that is recognized; another one is an error for the same file",
    r".*walk_cache_organization": "the only organization",
    r"workload\.trace\.max_instructions": "bounds the content of a trace",
    r"workload\.(color|gc_dtc|gc_ttc|kcore|mis|mst)\.undirected": "false is an error for a directed graph, and an undirected one has both directions",
    r"nic\.latency": "no workload accesses the memory of a NIC; a run warns",
    r"(gpu|cpu)\.dram\.address_space_aware\.golden": "a full golden queue delays only page-walk reads, which are served in order; a run warns",
    r"cpu\.dram\.address_space_aware\.epoch": "the L2 TLBs report to the memory of GPUs only; a run warns",
    r"(gpu\.l1_tlb\.|gpu\.scalar_cache\.tlb_|iommu\.tlb_)compressed\.latency": "must be 0: only the L2 TLB has an additional latency",
}
MOST_VALUES = 8  # tried for a parameter


class Program:
    """Runs of the program, each at most once."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        self.names = files(folder, ROOT / "tests/fuzz/corpus/trace")
        (folder / "empty.toml").write_text("")
        self.lock, self.runs, self.count = threading.Lock(), {}, 0

    def run(self, settings):
        """The outcome of a run: the same object for the same settings."""
        filled = tuple(sorted((key, value.format_map(self.names) if "{" in value else value) for key, value in settings.items()))
        with self.lock:
            known = self.runs.get(filled)
            if known is None:
                self.count += 1
                known = self.runs[filled] = Outcome(self, dict(filled), self.folder / f"{self.count}.h5")
        known.make()
        return known


class Outcome:
    def __init__(self, program, settings, path):
        self.program, self.settings, self.path = program, settings, path
        self.lock, self.error, self.summary, self.figures = threading.Lock(), None, None, None

    def make(self):
        with self.lock:
            if self.error is not None:
                return
            settings = dict(self.settings)
            config = settings.pop("config", str(self.program.folder / "empty.toml"))
            sets = [w for key, value in settings.items() for w in ("--set", f"{key}={value}")]
            command = [self.program.path, "run", config, *sets, "--output", self.path, "--threads", "1", "--progress", "off", "--summary-json", "-"]
            try:
                ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
            except subprocess.TimeoutExpired:
                self.error = "no end after 60 s"
                return
            self.error = "" if ran.returncode == 0 else ran.stderr.strip()[:300] or f"exit code {ran.returncode}"
            if not self.error:
                outcome = json.loads(ran.stdout)
                self.summary = outcome["end_time_ps"], outcome["summary"]

    def read(self):
        """Every figure of the summary and of the tables, and the last sample of every statistic."""
        with self.lock:
            if self.figures is None:
                self.figures = {}
                with h5py.File(self.path) as f:
                    for group in ("summary", "timeseries", "tables"):
                        f[group].visititems(lambda name, item, of=group: self._read(f"{of}/{name}", item))
            return self.figures

    def unused(self):
        """{key: condition} of the settings without effect."""
        with h5py.File(self.path) as f:
            unused = f["config"].get("unused")
            return dict(zip(unused["key"].asstr()[:], unused["only_with"].asstr()[:])) if unused else {}

    def _read(self, name, item):
        if isinstance(item, h5py.Dataset) and not name.endswith("/time_ps"):
            last = name.startswith("timeseries/") and item.attrs.get("CLASS") != b"DIMENSION_SCALE" and item.ndim > 1
            self.figures[name] = item[-1].tobytes() if last else item[()].tobytes()

    def equals(self, other):
        return self.summary == other.summary and self.read() == other.read()


def conditions(parameter, of_application):
    """Settings under which the parameter has an effect, as far as its conditions are about other parameters."""
    settings = {}
    for text in parameter["only_with"]:
        first = text.split(" or ")[0]
        if m := re.fullmatch(r'(\S+) = "?([^"]*)"?', first):
            settings[m[1]] = m[2]
        elif (m := re.fullmatch(r"(\S+) above (\d+)", first)) and not m[1].startswith("machine."):
            key, least = m[1], int(m[2])
            settings[key] = {"size": "64 KiB", "t_refi": "1 us", "fragmentation_index": "0.5", "large_entries": "4"}.get(key.split(".")[-1], str(least + 1))
    return {key: value for key, value in settings.items() if key not in of_application}


def runs_of(parameter):
    """(settings, first values) of the rules that match the parameter, and their settings with its conditions."""
    key = parameter["key"]
    workload = key.split(".")[1] if key.startswith("workload.") and key.count(".") > 1 else None
    found = []
    for pattern, settings, first in RULES:
        if not re.fullmatch(pattern, key):
            continue
        settings = {name.replace("WORKLOAD", workload or ""): value for name, value in settings.items()}
        for name, value in conditions(parameter, settings).items():
            settings.setdefault(name, value)
        found.append((settings, first))
    if workload is not None:
        small = {"machine.topology": "single-gpu", "gpu.sms": "2", "workload.name": workload,
                 **{f"workload.{workload}.{name}": value for name, value in WORKLOADS.get(workload, {}).items()}}
        found = [(small | settings, first) for settings, first in found] + [(small, [])]
    return found


def examine(program, parameter):
    """None if the parameter acts, else why it does not."""
    key = parameter["key"]
    name = re.sub(r"^application\.", "application.a.", key)
    tried, refused, unmet = [], [], []
    for settings, first in runs_of(parameter):
        now = settings.get(name, parameter["default"])
        base = program.run(settings)
        if base.error:
            return f"its run fails: {base.error}"
        for value in [*first, *(v for v in values(parameter, now) if v not in first)][:MOST_VALUES]:
            if value == now:
                continue
            other = program.run(settings | {name: value})
            if other.error:
                refused.append(f"{value}: {other.error}")
            elif not base.equals(other):
                return None
            elif reason := other.unused().get(name):
                unmet.append(reason)
                break
            else:
                tried.append(value)
    if unmet and not tried:
        return f"its run does not meet its conditions: {unmet[0]}"
    if tried:
        return f"{', '.join(tried)} and its value in the run give equal results"
    return "no value was accepted: " + "; ".join(refused[:2]) if refused else "the test has no value for it"


def reason_in_list(key):
    return next((reason for pattern, reason in INERT.items() if re.fullmatch(pattern, key)), None)


def main():
    path = (Path(sys.argv[1]).parent / "farfault").resolve()
    prefixes = tuple(sys.argv[2:])
    listed = json.loads(subprocess.run([path, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    chosen = [p for p in listed if not prefixes or p["key"].startswith(prefixes)]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        program = Program(path, Path(folder))

        def examined(parameter):
            try:
                return examine(program, parameter)
            except Exception as problem:
                return f"{type(problem).__name__}: {problem}"

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for parameter, why in zip(chosen, pool.map(examined, chosen)):
                key, reason = parameter["key"], reason_in_list(parameter["key"])
                if (why is None) == (reason is None):
                    continue
                failed += 1
                print(f"FAILED: {key}: " + (f"acts, but is listed as inert ({reason})" if why is None else why))
        unused = [pattern for pattern in INERT if not any(re.fullmatch(pattern, p["key"]) for p in listed)]
        for pattern in unused:
            print(f"FAILED: no parameter matches {pattern}, which is listed as inert")
        print(f"{len(chosen)} parameters, {program.count} runs")
    failed += len(unused)
    print(f"{len(chosen) + len(unused) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
