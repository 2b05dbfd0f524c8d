# SPDX-License-Identifier: Apache-2.0
"""The table that `farfault sweep` writes: sweep.h5, one dataset per column, in the folder of the results."""
import os

import numpy

from .baselines import NAME
from .calls import checked_limit, checked_path, whole_calls
from .datasets import frame
from .errors import ResultError, in_one_line
from .file import File, attributes, check_readable, check_version, filled, plain, values
from .run import Run

# Columns of each run other than parameters and figures.
FACTS = ("state", "error", "result", "result_digest")


@whole_calls
class SweepFile:
    def __init__(self, path, max_bytes):
        self.path = path = checked_path(path)
        self.max_bytes = checked_limit(max_bytes)
        table = os.path.join(path, "sweep.h5") if os.path.isdir(path) else path
        if os.path.isdir(path) and not os.path.exists(table):
            raise ResultError(f"{path}: it has no sweep.h5, so it is not the folder of a sweep; "
                              "farfault.open_many opens the results of any runs")
        check_readable(table)
        self.folder = os.path.dirname(table)
        self._file = File(table, max_bytes)
        with self._file.reading() as f:
            found = attributes(f)
            if found.get("kind") != "sweep":
                raise ResultError(f"{table}: it is not the table of a sweep; farfault.open opens the result of a run")
            check_version(table, found.get("schema_version"))
            columns = f.group("runs")
            roles = {n: plain(d.attribute("role")) for n, d in columns.datasets().items()}
            self.numbers = values(columns.dataset("run"))
            self._results, self._digests = (values(columns.dataset(n)) for n in ("result", "result_digest"))
            parameters = {n: values(columns.dataset(n)) for n, role in roles.items() if role == "parameter" or n == NAME}
            named = {n for n in parameters if plain(columns.dataset(n).attribute("varies_with")) == NAME}
            self.baseline, self.mean_over = (found.get(n) for n in ("baseline", "mean_over"))
            self.partners = self._partners(columns, roles)
        if NAME in parameters and not named:  # a file of an earlier program
            named = {n for n in parameters if n != NAME and _follows(parameters[n], parameters[NAME])}
        # Parameters that change least from row to row first. HDF5 lists them by name, a study in this order.
        in_study_order = sorted(parameters, key=lambda n: (n != NAME, int((parameters[n][1:] != parameters[n][:-1]).sum())))
        self.parameters = [n for n in in_study_order if n not in named]
        self.settings = [n for n in in_study_order if n in named]
        self.figures = [n for n, role in roles.items() if role == "figure"]
        self.facts = [n for n in FACTS if n in roles]

    def columns(self, names):
        """Values of each name (NaN for a missing figure), and their units and long_name."""
        with self._file.reading() as f:
            found = f.group("runs").datasets(names)
            return {n: (filled(d), attributes(d)) for n, d in found.items()}

    def _partners(self, columns, roles):
        """The row of each run's baseline, or -1; None without a baseline."""
        if not isinstance(self.baseline, str) or "baseline" not in roles:
            self.baseline = None
            return None
        rows = filled(columns.dataset("baseline"))
        known = numpy.isfinite(rows) & (rows >= 0) & (rows < len(rows))
        return numpy.where(known, rows, -1).astype("int64")

    def spread(self):
        """The table of the points whose runs differ only in their seeds; None if seeds are not varied."""
        with self._file.reading() as f:
            there = "spread" in f
        return frame(self._file, "spread", "point") if there else None

    def open(self, run, parameters):
        row = numpy.flatnonzero(self.numbers == run)[0]
        if not self._results[row]:
            state, error = (column[row] for column, _ in self.columns(("state", "error")).values())
            raise ResultError(f"{self.path}: run {run} has no result: it is {in_one_line(state)}" + (f": {in_one_line(error)}" if error else ""))
        opened = Run(self._inside(self._results[row], run), parameters, self.max_bytes)
        recorded = self._digests[row]
        if recorded and opened.digest != recorded:
            raise ResultError(f"{opened.path}: it differs from the result in the table of the sweep: "
                              f"its digest is {in_one_line(opened.digest)}, the recorded digest of run {run} is {in_one_line(recorded)}")
        return opened

    def _inside(self, result, run):
        """The path of a result, which must be inside the sweep's folder, also after symbolic links are resolved."""
        result, folder = str(result), os.path.realpath(self.folder)
        path = os.path.join(folder, result)
        if "\0" in result or os.path.isabs(result) or ".." in result.split("/") or \
                os.path.commonpath([folder, os.path.realpath(path)]) != folder:
            raise ResultError(f"{self.path}: the result of run {run} is outside the sweep's folder: {in_one_line(result)}; "
                              "farfault.open opens it if you trust it")
        return os.path.join(self.folder, result)


def _follows(values, names):
    """True if all rows of a name have one value."""
    known = {}
    return all(known.setdefault(name, value) == value for name, value in zip(names, values))
