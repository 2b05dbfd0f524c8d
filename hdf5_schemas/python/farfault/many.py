# SPDX-License-Identifier: Apache-2.0
"""Arbitrary results as the rows of a table. Its parameters are the keys in which their configurations differ."""
import os

import numpy

from . import baselines
from .calls import checked_limit, counted_apart, names_of, whole_calls
from .configuration import flat
from .errors import ResultError, in_one_line, some_of
from .run import Run, open_run

FACTS = ("state", "result", "result_digest")


@whole_calls
class ManyRuns:
    def __init__(self, paths, max_bytes, baseline=None, mean_over=None):
        if isinstance(paths, (str, bytes, os.PathLike)):
            raise ResultError(f"{os.fsdecode(paths)}: farfault.open_many takes a list of files; farfault.open takes one")
        self.max_bytes = checked_limit(max_bytes)
        # The files are read one at a time, so the limit applies to each.
        with counted_apart():
            self._runs = [open_run(p, max_bytes=max_bytes) for p in names_of(paths, "paths")]
            configs = [flat(r.path, r.config) for r in self._runs]
            self.figures = list(dict.fromkeys(n for r in self._runs for n in r.figure_names()))
        if not self._runs:
            raise ResultError("farfault.open_many: the list of files is empty")
        self.path = f"{len(self._runs)} results"
        self.numbers = numpy.arange(len(self._runs))
        self.facts = list(FACTS)
        self._values = varied(configs)
        self.parameters, self.settings = list(self._values), []
        if mean_over is not None and (baseline is None or mean_over not in self.parameters or mean_over in baseline):
            raise ResultError(f"{self.path}: mean_over must be a varied parameter outside of the baseline, not {in_one_line(mean_over)}; "
                              f"available: {some_of(self.parameters)}")
        self.baseline = self.partners = None
        self.mean_over = mean_over
        if baseline is not None:
            self.partners = baselines.partners(self.path, self._values, baseline)
            self.baseline = ", ".join(f"{key} = {value}" for key, value in baseline.items())

    def columns(self, names):
        """Values of each name, and their units and long_name."""
        figures = [n for n in names if n in self.figures]
        found = [r.figures(figures) for r in self._runs] if figures else []
        labels = {}
        for r in self._runs:
            labels |= r.figure_labels([n for n in figures if n not in labels])
        return {n: (self._figure(n, found), labels[n]) if n in self.figures else (self._fact(n), {"long_name": n})
                for n in names}

    def _fact(self, name):
        if name in self._values:
            return self._values[name]
        tell = {"state": lambda r: "done" if r.finished else "missing", "result": lambda r: r.path,
                "result_digest": lambda r: r.digest or ""}[name]
        return numpy.array([tell(r) for r in self._runs], dtype=object)

    def spread(self):
        return None

    def open(self, run, parameters):
        return Run(self._runs[run].path, parameters, self.max_bytes)

    def _figure(self, name, found):
        missing = any(name not in of_run for of_run in found)
        return numpy.array([of_run.get(name, numpy.nan) for of_run in found], dtype=float if missing else None)


def varied(configs):
    """The keys in which configurations (by dotted key) differ, each with its values: numbers as numbers, otherwise
    text.

    A key that only some configurations have, with one value, is omitted: it follows from another difference (parameters
    of a policy).
    """
    keys = dict.fromkeys(key for c in configs for key in c)
    found = {key: [c.get(key) for c in configs] for key in keys}
    differ = {key: v for key, v in found.items() if len({repr(x) for x in v if x is not None}) > 1}
    return {key: _column(v) for key, v in differ.items()}


def _column(found):
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in found if v is not None):
        missing = any(v is None for v in found)
        return numpy.array([numpy.nan if v is None else v for v in found], dtype=float if missing else None)
    return numpy.array(["" if v is None else str(v).lower() if isinstance(v, bool) else str(v) for v in found], dtype=object)
