"""Runs that are not done twice, and their results: only what this program made of just this configuration counts.

A study's folder has study.py, with its PRESET, Run and StudyError, and measure.py; its `run` puts that folder before this one."""
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib

import h5py

import provenance
from measure import measure
from study import PRESET, ROOT, Run, StudyError, flat

EVERY = 15  # seconds between two lines of progress


class Program(provenance.Program):
    """The farfault program, with the parameters of the study's preset."""

    def __init__(self, path):
        try:
            super().__init__(path)
        except OSError as problem:
            raise StudyError(str(problem)) from None

    def parameters(self):
        """All parameters; `default` is what the preset sets, where it sets one."""
        out = subprocess.run([self.path, "params", "--json"], capture_output=True, text=True, check=True).stdout
        preset = flat(tomllib.loads((ROOT / f"topologies/presets/{PRESET}.toml").read_text()))
        parameters = json.loads(out)["parameters"]
        for p in parameters:
            if p["key"] in preset:
                p["default"] = re.sub(r"^([0-9.]+)([A-Za-z])", r"\1 \2", str(preset[p["key"]]))
        return parameters


def digest_of(path):
    """The digest of a result file whose run came to its end, else None."""
    try:
        with h5py.File(path, "r") as f:
            if f.attrs.get("end_reason") == b"completed" and "result_digest" in f.attrs:
                return f.attrs["result_digest"].decode()
    except OSError:
        pass
    return None


def note_of(run):
    return run.output.with_suffix(".json")


def done_already(run, program):
    """Whether the result of just this run, by just this program, lies there, and is the file that was left then."""
    try:
        note = json.loads(note_of(run).read_text())
    except (OSError, ValueError):
        return False
    digest = digest_of(run.output)
    return (digest is not None and note.get("digest") == digest and note.get("configuration") == run.identity() and
            note.get("program") == program.hash)


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


class Results:
    """The measures of runs. What is missing, failed, or not this program's own has none, so that no table can hold it."""

    def __init__(self, program):
        self.program, self.known = program, {}

    def of(self, run):
        if run.output not in self.known:
            self.known[run.output] = measure(run.output) if done_already(run, self.program) else None
        return self.known[run.output]

    def digests(self, runs):
        found = {r.output: self.of(r) for r in runs}
        return [m["digest"] for m in found.values() if m]

    def missing(self, runs):
        """Outputs without a result of their own."""
        return [path for path, found in {r.output: self.of(r) for r in runs}.items() if found is None]

    def refuse_stale(self, runs):
        stale = [path for path in self.missing(runs) if path.exists()]
        if stale:
            raise StudyError(f"{len(stale)} results, such as {stale[0]}, are of another program or configuration, or of a run that failed;"
                             " leave --table-only out to have them made again")


class Runner:
    """Runs simulations side by side; an interrupt ends the children that it started and no others."""

    def __init__(self, program, jobs, quiet=False):
        self.program, self.jobs, self.quiet = program, jobs, quiet
        self.children, self.lock, self.stopped = set(), threading.Lock(), False

    def run(self, runs):
        """Returns the failures, as sentences. Runs whose pages others' first touches place come after those."""
        runs = {r.output: r for r in [r.source for r in runs if r.source] + list(runs)}.values()
        todo = [r for r in runs if not done_already(r, self.program)]
        self.total, self.finished, self.cpu, self.began, self.told = len(todo), 0, 0.0, time.monotonic(), time.monotonic()
        self.cost, self.left = sum(map(Run.cost, todo)), sum(map(Run.cost, todo))
        self.say(f"{len(runs)} runs, {len(runs) - len(todo)} of them done already; {self.jobs} at a time")
        todo.sort(key=Run.cost, reverse=True)
        failures = self._wave([r for r in todo if not r.source]) + self._wave([r for r in todo if r.source])
        if todo:
            self.say(f"{self.finished} runs took {self.cpu / 60:.1f} minutes of processor time, "
                     f"{(time.monotonic() - self.began) / 60:.1f} minutes in all")
        return failures

    def say(self, text):
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def _wave(self, todo):
        failures = []
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(self._one, r) for r in todo]
            try:
                for future in concurrent.futures.as_completed(futures):
                    if future.result():
                        failures.append(future.result())
            except BaseException:
                with self.lock:
                    self.stopped = True
                    for child in self.children:
                        child.send_signal(signal.SIGKILL)
                raise
        return failures

    def _one(self, run):
        """Makes one result with its note; of a failed run nothing stays behind."""
        run.output.parent.mkdir(parents=True, exist_ok=True)
        note_of(run).unlink(missing_ok=True)
        run.output.unlink(missing_ok=True)
        config = run.output.with_suffix(".toml")
        config.write_text(run.configuration())
        if run.source:
            if not done_already(run.source, self.program):
                return f"{config}: the run that gives its page map has failed"
            write_map(run.source.output, run.map())
        if self.program.replaced():
            raise StudyError(f"{self.program.path} was built again while the study ran; start it again")
        began = time.monotonic()
        with self.lock:
            if self.stopped:
                return None
            child = subprocess.Popen([self.program.path, "run", config, "--output", run.output, "--threads", "1", "--partitions", "one",
                                      "--progress", "off"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.children.add(child)
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        child.stderr.close()
        with self.lock:
            self.children.discard(child)
        digest = digest_of(run.output)
        if child.returncode != 0 or digest is None:
            run.output.unlink(missing_ok=True)
            return f"{config}: {errors.strip() or f'ended with {child.returncode}'}"
        note_of(run).write_text(json.dumps({"configuration": run.identity(), "program": self.program.hash, "digest": digest,
                                            "seconds": round(usage.ru_utime + usage.ru_stime, 2)}) + "\n")
        self._progress(run, usage.ru_utime + usage.ru_stime, time.monotonic() - began)
        return None

    def _progress(self, run, cpu, seconds):
        with self.lock:
            self.finished += 1
            self.cpu += cpu
            self.left -= run.cost()
            now = time.monotonic()
            if now - self.told < EVERY and self.finished < self.total:
                return
            self.told, taken = now, now - self.began
            name = f"{run.title()}: {seconds:.1f} s"
            to_go = taken * max(self.left, 0) / max(self.cost - self.left, 1e-9) / 60
            self.say(f"  {self.finished}/{self.total} after {taken / 60:.0f} min, about {to_go:.0f} min to go; last: {name}")
