# SPDX-License-Identifier: Apache-2.0
"""Executes the runs of a study with `farfault sweep` and reads their results. Each run is a point of the sweep's list.

Members of a study's Run:
  name            unique
  base            a configuration: a preset
  all_settings()  {key: value}
  cost()          relative run time; long runs start first
  source          the run whose first touches give the page placement, or None; sources are executed first
"""
import re
import resource
import signal
import subprocess
import sys
import time

import h5py

from configuration import StudyError, lines_of, toml_of


def by_name(runs):
    """{name: run}. Parts of a study may share runs."""
    return {run.name: run for run in runs}


def write_map(result, path):
    """Writes the page map of a run: pages and their devices, in order of first touch."""
    lines = ["page,device"]
    with h5py.File(result, "r") as f:
        if "first_touches" in f["tables"]:
            table = f["tables/first_touches"]
            lines += [f"{p},{d.decode()}" for p, d in zip(table["page"][:], table["device"][:])]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def point_of(run, maps):
    """Lines of the sweep point of a run."""
    settings = run.all_settings() | ({"memory.recorded.map": str(maps[run.source.name])} if run.source else {})
    return ["", "[[sweep.list]]", *lines_of({"name": run.name, "cost": run.cost(), "base": run.base} | settings)]


class Sweep:
    """The results of a study's runs. Missing and failed runs and runs of a different program have no result, so tables cannot contain them."""

    def __init__(self, program, out, measure, jobs=1, quiet=False):
        """`measure`: function from a result file to its figures."""
        self.program, self.out, self.measure, self.jobs, self.quiet = program, out.resolve(), measure, jobs, quiet
        self.rows, self.known = {}, {}

    def make(self, runs, table_only=False):
        """Executes missing runs; with `table_only`, only reads results. Returns the failures as sentences."""
        runs = by_name([r.source for r in runs if r.source] + list(runs))
        first, then = ([r for r in runs.values() if bool(r.source) == late] for late in (False, True))
        self._sweep("sweep", first, {}, table_only)
        maps = {r.source.name: self.out / "maps" / f"{r.source.name}.csv" for r in then if self.result(r.source)}
        for name, path in maps.items():
            write_map(self.result(runs[name]), path)
        self._sweep("sweep_recorded", [r for r in then if r.source.name in maps], maps, table_only)
        late = [f"{r.name}: no result of {r.source.name}, which provides its page map" for r in then if r.source.name not in maps]
        return [f"{name}: {self.rows[name]['error']}" for name in runs if self.state(name) == "failed"] + late

    def state(self, name):
        return self.rows[name]["state"] if name in self.rows else "missing"

    def result(self, run):
        """Result file of a run, or None."""
        return self.rows[run.name]["path"] if self.state(run.name) == "done" else None

    def of(self, run):
        """Measures of a run, or None."""
        if run.name not in self.known:
            path = self.result(run)
            self.known[run.name] = self.measure(path) if path else None
        return self.known[run.name]

    def digests(self, runs):
        return [self.rows[name]["digest"] for name in by_name(runs) if self.state(name) == "done"]

    def all_digests(self):
        """Result digests of all completed runs."""
        return [row["digest"] for row in self.rows.values() if row["digest"]]

    def missing(self, runs):
        """Names of runs without a valid result."""
        return [name for name in by_name(runs) if self.state(name) != "done"]

    def refuse_stale(self, runs):
        stale = [name for name in self.missing(runs) if name in self.rows and self.rows[name]["error"]]
        if stale:
            raise StudyError(f"{len(stale)} results, such as that of {stale[0]}, cannot be used ({self.rows[stale[0]]['error']});"
                             " omit --table-only to execute these runs again")

    def submit(self, runs):
        """Submits the runs as a Slurm array job; make(runs, table_only=True) reads its results. Runs with a source are not supported.
        Returns the exit code of `farfault sweep`."""
        return subprocess.run([self.program.path, "sweep", self._write("sweep", by_name(runs).values(), {}), "--slurm"]).returncode

    def _write(self, name, runs, maps):
        """Writes the sweep file <out>/<name>.toml; returns its path."""
        self.out.mkdir(parents=True, exist_ok=True)
        study = self.out / f"{name}.toml"
        lines = ["# Written by the study's `run`.", "[sweep]", f"output = {toml_of(name)}"]
        study.write_text("\n".join(lines + [line for run in runs for line in point_of(run, maps)]) + "\n")
        return study

    def _sweep(self, name, runs, maps, table_only):
        """Executes the runs as the sweep <out>/<name>.toml and reads its table."""
        if not runs:
            return
        study = self._write(name, runs, maps)
        self._check_program()
        self._call([self.program.path, "sweep", study, *(["--collect"] if table_only else ["--jobs", str(self.jobs)])])
        self._check_program()
        folder = self.out / name
        with h5py.File(folder / "sweep.h5", "r") as f:
            columns = [f["runs"][column].asstr()[:] for column in ("name", "state", "error", "result", "result_digest")]
        for point, state, error, result, digest in zip(*columns):
            self.rows[point] = {"state": state, "error": error, "path": folder / result, "digest": digest}
            self.known.pop(point, None)

    def _check_program(self):
        if self.program.replaced():
            raise StudyError(f"{self.program.path} was rebuilt while the study ran; start the study again")

    def _call(self, command):
        """Runs `farfault sweep`, which prints its own progress. A signal that ends the study also ends the sweep, which then saves
        its active runs; the next call continues them."""
        began, before = time.monotonic(), processor_time()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE if self.quiet else None, text=True)
        handlers = {s: signal.signal(s, lambda number, _: sys.exit(128 + number)) for s in (signal.SIGTERM, signal.SIGHUP)}
        try:
            said, errors = child.communicate()
        except BaseException:
            child.terminate()
            child.wait()
            raise
        finally:
            for s, handler in handlers.items():
                signal.signal(s, handler)
        if child.returncode == 3:
            raise KeyboardInterrupt
        if child.returncode not in (0, 1):
            raise StudyError(errors.strip() if errors else f"farfault sweep rejected {command[2]}")
        counts = re.search(r"^ *(\d+ runs?\b.*)", said, re.MULTILINE)
        if not counts:
            raise StudyError(errors.strip() if errors else f"farfault sweep {command[2]} failed")
        if not self.quiet:
            print(f"{counts[1]}; {(processor_time() - before) / 60:.1f} minutes of processor time, {(time.monotonic() - began) / 60:.1f} minutes elapsed",
                  file=sys.stderr, flush=True)


def processor_time():
    """Seconds of processor time of completed sweeps and their runs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
