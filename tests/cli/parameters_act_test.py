#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every parameter acts: two values of it give runs whose end or whose statistics differ, on a machine where its text and its conditions
promise an effect. INERT lists the parameters without effect on both, each with its reason.

The runs are in tests/support/parameter_runs.py: mostly two GPUs with two SMs each, and small inputs. A parameter is tried with a few
values, until one gives a different end, summary, last sample or table (in any order of its rows) than the value in its run. A parameter
that no rule matches, or that acts in none of its runs, fails; so does a rule or a listed pattern that matches no parameter.

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
from parameter_files import files
from parameter_runs import RULES, WORKLOADS
from parameter_values import values

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
    r"gpu\.translation\.level\.name": "name of a level; its table of the configuration has the same name",
    r"gpu\.translation\.level\.next": "another value alone is refused: a level would get no misses",
    r"workload\..*\.format": "overrides the format that is recognized; another one is an error for the same file",
    r".*walk_cache_organization": "the only organization",
    r"workload\.trace\.max_instructions": "bounds the content of a trace",
    r"workload\.(color|gc_dtc|gc_ttc|kcore|mis|mst)\.undirected": "false is an error for a directed graph, and an undirected one has both directions",
    r"nic\.latency": "no workload accesses the memory of a NIC; a run warns",
    r"(gpu|cpu)\.dram\.address_space_aware\.golden": "page-walk reads are served in the order of arrival, and the oldest one is always in the queue",
    r"cpu\.dram\.address_space_aware\.epoch": "the L2 TLBs report to the memory of GPUs only; a run warns",
    r"(gpu\.l1_tlb\.|gpu\.scalar_cache\.tlb_|iommu\.tlb_)compressed\.latency": "must be 0: only the L2 TLB has an additional latency",
}
MOST_VALUES = 8  # tried for a parameter
# Parameters of a level of TLBs that the L2 TLB also has are tried in its runs, at a level that replaces it.
LEVEL = "gpu.translation.level."
OF_LEVELS = ("sms", "groups", "banks", "interleave", "hash", "request_latency", "far_latency", "balance", "mgvm.requests", "mgvm.hit_rate",
             "mgvm.share", "mgvm.epochs")


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
        if name.startswith("tables/"):
            if isinstance(item, h5py.Group):  # the order of the rows depends on the times of samples
                columns = [item[column][()].tolist() for column in sorted(item) if column != "row"]
                self.figures[name] = sorted(zip(*columns), key=repr)
        elif isinstance(item, h5py.Dataset) and not name.endswith("/time_ps"):
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
    settings = {key.replace(LEVEL, LEVEL + "l2_tlb."): value for key, value in settings.items()}
    return {key: value for key, value in settings.items() if key not in of_application}


def runs_of(parameter):
    """(settings, first values) of the rules that match the parameter, and their settings with its conditions."""
    key = parameter["key"]
    if key.startswith(LEVEL) and key[len(LEVEL):] not in OF_LEVELS:
        as_l2 = json.loads(json.dumps(parameter).replace(LEVEL, "gpu.l2_tlb."))
        return [({"gpu.translation.level": '[{{name = "l2_tlb"}}]'} | {name.replace("gpu.l2_tlb.", LEVEL + "l2_tlb."): value for name, value in settings.items()},
                 first) for settings, first in runs_of(as_l2)]
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
        small = {"machine.topology": "single-gpu", "gpu.sms": "2", "gpu.warp_width": "32", "workload.name": workload,
                 **{f"workload.{workload}.{name}": value for name, value in WORKLOADS.get(workload, {}).items()}}
        found = [(small | settings, first) for settings, first in found] + [(small, [])]
    if not key.startswith("run.sample"):  # samples take time, and change nothing
        for settings, _ in found:
            settings.setdefault("run.sample_interval", "1 s")
    return found


class Verdict:
    """How a parameter did: acts, has no effect, or cannot be examined because of an error in its rule."""

    def __init__(self, acts, why, is_error=False):
        self.acts, self.why, self.is_error = acts, why, is_error


def examine(program, parameter, runs):
    """The verdict on the parameter from these (settings, first values)."""
    key = parameter["key"]
    name = re.sub(r"^application\.", "application.a.", key).replace(LEVEL, LEVEL + "l2_tlb.")
    tried, refused, unmet = [], [], []
    for settings, first in runs:
        now = settings.get(name, parameter["default"])
        base = program.run(settings)
        if base.error:
            return Verdict(False, f"its run fails: {base.error}", is_error=True)
        for value in [*first, *(v for v in values(parameter, now) if v not in first)][:MOST_VALUES]:
            if value == now:
                continue
            other = program.run(settings | {name: value})
            if other.error:
                refused.append(f"{value}: {other.error}")
            elif not base.equals(other):
                return Verdict(True, f"{value} instead of {now}")
            elif reason := other.unused().get(name):
                unmet.append(reason)
                break
            else:
                tried.append(value)
    if unmet and not tried:
        return Verdict(False, f"its run does not meet its conditions: {unmet[0]}")
    if tried:
        return Verdict(False, f"{', '.join(dict.fromkeys(tried))} and its value in the run give equal results")
    if refused:
        return Verdict(False, "no value was accepted: " + "; ".join(refused[:2]))
    return Verdict(False, "the test has no value for it" if runs else "no rule of parameter_runs.py matches it", is_error=not runs)


def planted(program, listed):
    """Parameters in runs where they have no effect: (what, verdict, expected part of its reason)."""
    by_key = {p["key"]: p for p in listed}
    ways, network = by_key["gpu.page_walk_cache.ways"], by_key["links.network_latency"]
    run = {"machine.topology": "two-gpu", "gpu.sms": "2", "workload.name": "vectoradd", "workload.vectoradd.elements": "4096",
           "run.sample_interval": "1 s"}
    never_full = run | {"gpu.page_walk_cache.size": "1 MiB"}
    renamed = ways | {"key": "gpu.page_walk_cache.renamed"}
    added = ways | {"key": "new.parameter"}
    for what, parameter, runs, why in (
            ("a cache that is never full", ways, [(never_full, [])], "give equal results"),
            ("a machine without the link", network, [(run, [])], "does not meet its conditions"),
            ("a renamed parameter", renamed, [(never_full, [])], "unknown key"),
            ("a setting that is refused", ways, [(run | {"gpu.clock": "0 Hz"}, [])], "its run fails"),
            ("a parameter without a rule", added, runs_of(added), "no rule")):
        yield what, examine(program, parameter, runs), why


def reason_in_list(key):
    return next((reason for pattern, reason in INERT.items() if re.fullmatch(pattern, key)), None)


def main():
    path = (Path(sys.argv[1]).parent / "farfault").resolve()
    prefixes = tuple(sys.argv[2:])
    listed = json.loads(subprocess.run([path, "params", "--json"], capture_output=True, text=True, check=True).stdout)["parameters"]
    chosen = [p for p in listed if not prefixes or p["key"].startswith(prefixes)]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        program = Program(path, Path(folder))
        faults = list(planted(program, listed))
        failures += [f"{what}: {verdict.why or 'found to act'}, instead of: {why}" for what, verdict, why in faults
                     if verdict.acts or why not in verdict.why]

        def examined(parameter):
            try:
                return examine(program, parameter, runs_of(parameter))
            except Exception as problem:
                return Verdict(False, f"{type(problem).__name__}: {problem}", is_error=True)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for parameter, verdict in zip(chosen, pool.map(examined, chosen)):
                reason = reason_in_list(parameter["key"])
                if verdict.is_error or (not verdict.acts and reason is None):
                    failures.append(f"{parameter['key']}: {verdict.why}")
                elif verdict.acts and reason is not None:
                    failures.append(f"{parameter['key']}: acts ({verdict.why}), but is listed as inert ({reason})")
        runs = program.count
    patterns = [*INERT, *(pattern for pattern, _, _ in RULES)]
    failures += [f"no parameter matches {pattern}" for pattern in patterns if not any(re.fullmatch(pattern, p["key"]) for p in listed)]
    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"{len(chosen)} parameters, {sum(reason_in_list(p['key']) is not None for p in chosen)} of them listed as inert; {runs} runs")
    print(f"{len(chosen) + len(faults) + len(patterns) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
