# SPDX-License-Identifier: Apache-2.0
"""The table that `farfault sweep` writes: sweep.h5, one dataset for each column, beside the results of the runs."""
import os

import h5py
import numpy

from .datasets import frame
from .errors import ResultError
from .file import File, attributes, check_readable, check_version, converted, filled, plain
from .run import Run

# Of each run, beside what varied and what came out.
FACTS = ("name", "state", "error", "result", "result_digest")


class SweepFile:
    def __init__(self, path):
        path = os.fspath(path)
        table = os.path.join(path, "sweep.h5") if os.path.isdir(path) else path
        if os.path.isdir(path) and not os.path.exists(table):
            raise ResultError(f"{path}: it holds no sweep.h5, so it is not the folder of a sweep; "
                              "farfault.open_many opens the results of any runs")
        check_readable(table)
        self.path, self.folder = path, os.path.dirname(table)
        self._file = File(table)
        with self._file.reading() as f:
            found = attributes(f)
            if found.get("kind") != "sweep":
                raise ResultError(f"{table}: it is not the table of a sweep; farfault.open opens the result of a run")
            check_version(table, found.get("schema_version"))
            columns = f["runs"]
            roles = {n: plain(d.attrs.get("role", "")) for n, d in columns.items() if isinstance(d, h5py.Dataset)}
            self.numbers = converted(columns["run"][()])
            self._results, self._digests = (converted(columns[n][()]) for n in ("result", "result_digest"))
            parameters = {n: converted(columns[n][()]) for n, role in roles.items() if role == "parameter"}
        # Those that change least from row to row first: HDF5 lists them by name, a study in this order.
        self.parameters = sorted(parameters, key=lambda n: int((parameters[n][1:] != parameters[n][:-1]).sum()))
        self.figures = [n for n, role in roles.items() if role == "figure"]
        self.facts = [n for n in FACTS if n in roles]

    def columns(self, names):
        """Of each name its values (NaN for a figure that a run does not have), and what they are: units, long_name."""
        with self._file.reading() as f:
            return {n: (filled(f["runs"][n]), attributes(f["runs"][n])) for n in names}

    def spread(self):
        """The table of the points whose runs differ in their seeds alone; None where seeds are not varied."""
        with self._file.reading() as f:
            there = "spread" in f
        return frame(self._file, "spread", "point") if there else None

    def open(self, run, parameters):
        row = numpy.flatnonzero(self.numbers == run)[0]
        if not self._results[row]:
            state, error = (column[row] for column, _ in self.columns(("state", "error")).values())
            raise ResultError(f"{self.path}: run {run} has no result: it is {state}" + (f": {error}" if error else ""))
        opened = Run(os.path.join(self.folder, self._results[row]), parameters)
        recorded = self._digests[row]
        if recorded and opened.digest != recorded:
            raise ResultError(f"{opened.path}: it is not the result that the table of the sweep is made from: "
                              f"its digest is {opened.digest}, that of run {run} was {recorded}")
        return opened
