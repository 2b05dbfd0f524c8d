# SPDX-License-Identifier: Apache-2.0
"""Several runs as one table, indexed by their varying parameters."""
import math

import numpy
import xarray

from .calls import MAX_BYTES, names_of, whole_calls
from .datasets import labelled
from .errors import NAMES, ResultError, in_one_line, unknown
from .many import ManyRuns
from .sweep_file import SweepFile
from .units import in_order


def open_sweep(path, *, max_bytes=MAX_BYTES):
    """The sweep in a folder made by `farfault sweep`, or in its sweep.h5. max_bytes: as in farfault.open."""
    return Sweep(SweepFile(path, max_bytes))


def open_many(paths, *, max_bytes=MAX_BYTES):
    """A sweep of any results; its parameters are the keys in which their configurations differ. max_bytes: as in
    farfault.open."""
    return Sweep(ManyRuns(paths, max_bytes))


@whole_calls
class Sweep:
    """parameters: varied keys. figures: results, from the summary of the whole machine."""

    def __init__(self, source):
        self._source = source
        self._read = {}
        self.path, self.max_bytes = source.path, source.max_bytes
        self.parameters = source.parameters
        self.figures = source.figures

    @property
    def runs(self):
        """One row per run: varied parameters, state, figures (NaN if missing); units in `.attrs`."""
        return self.table()

    def table(self, figures=None):
        """`runs` with these figures only; no others are read."""
        return self._table([*self.parameters, *self._source.facts, *self._checked(figures)])

    def dataset(self, figures=None):
        """Figures over the parameters, a dimension for each parameter. The sweep must be a complete grid."""
        figures = self._checked(figures)
        table = self._table([*self.parameters, *figures])
        axes = {p: in_order(table[p]) for p in self.parameters}
        self._check_grid(table, axes)
        at = tuple(numpy.array([axes[p].index(v) for v in table[p]], dtype=int) for p in self.parameters)
        shape = tuple(len(v) for v in axes.values())
        variables = {}
        for name in figures:
            grid = numpy.empty(shape, dtype=table[name].dtype)
            grid[at] = table[name].to_numpy()
            labels = {k: table.attrs[k][name] for k in ("units", "long_name")}
            variables[name] = xarray.Variable(self.parameters, grid, labels)
        return xarray.Dataset(variables, axes)

    @property
    def spread(self):
        """If seeds are varied: one row per point, with the mean, smallest and largest value of each figure."""
        table = self._source.spread()
        if table is None:
            raise ResultError(f"{self.path}: it has no spread; only sweep.h5 of a sweep over seeds has one")
        return table

    def open(self, run):
        """The result of the run with this number."""
        table = self._table([*self.parameters, "state"])
        if run not in table.index:
            raise ResultError(f"{self.path}: it has no run {run!r}; available: 0 to {len(table) - 1}")
        return self._source.open(run, table.loc[run, self.parameters].to_dict())

    def __iter__(self):
        """The results of the completed runs, in their order; `.parameters` identifies each."""
        states = self._table(["state"])["state"]
        return (self.open(run) for run in states.index[states == "done"])

    @property
    def plot(self):
        """Plots of this sweep: plot("end") draws a figure over the parameters. Needs matplotlib."""
        from .plots import SweepPlots

        return SweepPlots(self)

    def __repr__(self):
        from .describe import describe_sweep

        return describe_sweep(self)

    def _table(self, columns):
        self._read |= self._source.columns([n for n in columns if n not in self._read])
        labels = {n: self._read[n][1] for n in columns}
        units, names = {n: labels[n].get("units", "1") for n in columns}, {n: labels[n].get("long_name", n) for n in columns}
        return labelled({"run": self._source.numbers, **{n: self._read[n][0] for n in columns}}, units, names, "run")

    def _checked(self, figures):
        if figures is None:
            return self.figures
        figures = names_of(figures, "figures")
        for name in figures:
            if name not in self.figures:
                raise unknown(self.path, "figure", name, self.figures)
        return figures

    def _check_grid(self, table, axes):
        points = math.prod(len(v) for v in axes.values())
        here = table[self.parameters].drop_duplicates()
        if points == len(table) == len(here) and not table[self.parameters].isna().any(axis=None):
            return
        grid = " x ".join(f"{len(v)} of {in_one_line(p)}" for p, v in list(axes.items())[:NAMES]) or "no parameter"
        if len(axes) > NAMES:
            grid += f" x ... ({len(axes)} parameters)"
        raise ResultError(f"{self.path}: its runs do not form a complete grid: {len(table)} runs at {len(here)} points instead "
                          f"of {points} ({grid}); `.runs` lists the runs as a table")
