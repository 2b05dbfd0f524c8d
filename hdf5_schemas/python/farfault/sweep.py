# SPDX-License-Identifier: Apache-2.0
"""Several runs as one table, indexed by their varying parameters."""
import math

import numpy
import xarray

from . import baselines, grid
from .baselines import ERROR, NAME, SEED, SPEEDUP
from .calls import MAX_BYTES, names_of, whole_calls
from .datasets import labelled
from .errors import NAMES, ResultError, in_one_line, unknown
from .many import ManyRuns
from .sweep_file import SweepFile
from .units import in_order


def open_sweep(path, *, max_bytes=MAX_BYTES):
    """The sweep in a folder made by `farfault sweep`, or in its sweep.h5. max_bytes: as in farfault.open."""
    return Sweep(SweepFile(path, max_bytes))


def open_many(paths, *, baseline=None, mean_over=None, max_bytes=MAX_BYTES):
    """A sweep of any results; its parameters are the keys in which their configurations differ.

    baseline: {key: value}; each run is compared with the run that has these values and all its own other ones. mean_over:
    parameter of the geometric mean. max_bytes: as in farfault.open.
    """
    return Sweep(ManyRuns(paths, max_bytes, baseline, mean_over))


@whole_calls
class Sweep:
    """parameters: varied keys, with `name` instead of the keys of a named list's points. settings: these keys. figures: results,
    from the summary of the whole machine, and "speedup" if the sweep has a baseline. baseline: its keys and values."""

    def __init__(self, source):
        self._source = source
        self._read = {}
        self.path, self.max_bytes = source.path, source.max_bytes
        self.parameters, self.settings = source.parameters, source.settings
        self.baseline, self.mean_over = source.baseline, source.mean_over
        self.figures = ([SPEEDUP] if self.baseline and "end" in source.figures else []) + source.figures

    @property
    def runs(self):
        """One row per run: varied parameters, state, figures (NaN if missing), settings of the points; units in `.attrs`."""
        return self.table()

    def table(self, figures=None):
        """`runs` with these figures only; no others are read. With a baseline, "FIGURE_ratio" is a figure relative to that of
        the baseline. The column "speedup_error", or "FIGURE_ratio_error", states why a ratio is NaN."""
        columns = [c for f in self._checked(figures) for c in ((f, f + ERROR) if self.is_ratio(f) else (f,))]
        return self._table([*self.parameters, *self._source.facts, *columns, *self.settings])

    @property
    def points(self):
        """One row per point of a list with names: the values of its keys."""
        if NAME not in self.parameters:
            raise ResultError(f"{self.path}: its points have no names")
        return self._table([NAME, *self.settings]).drop_duplicates(NAME).set_index(NAME)

    def is_ratio(self, figure):
        """True for a figure relative to the baseline: "speedup", "FIGURE_ratio"."""
        return self.baseline is not None and figure not in self._source.figures and baselines.figure_of(figure) is not None

    @property
    def is_baseline(self):
        """True for each run that is its own baseline; None without a baseline."""
        return None if self._source.partners is None else self._source.partners == numpy.arange(len(self._source.numbers))

    def geometric_mean(self, over=None, figure=SPEEDUP):
        """The mean of a ratio over a parameter (default: `mean_over` of the study), a row per combination of the others, with
        its smallest and largest value over the seeds. NaN, with an `error`, if a run or a value is missing."""
        over = self.mean_over if over is None else over
        self._checked([figure])
        if not self.is_ratio(figure):
            raise ResultError(f"{self.path}: {in_one_line(figure)} is not a ratio to a baseline; ratios are speedup and FIGURE_ratio")
        if over not in [*self.parameters, *self.settings]:
            raise unknown(self.path, "varied parameter", over, self.parameters)
        table = self._table([*self.parameters, *self.settings, figure, figure + ERROR])
        others = baselines.independent(table, [over], [p for p in self.dimensions(over) if p not in (over, SEED)])
        return baselines.means(table, figure, over, others)

    def dimensions(self, *asked):
        """The parameters, with the keys of the points instead of their name if one of these keys is asked for."""
        if not any(a in self.settings for a in asked):
            return self.parameters
        return [*self.settings, *(p for p in self.parameters if p != NAME)]

    def dataset(self, figures=None):
        """Figures over the parameters, a dimension for each parameter. Keys that vary together, as in a list of points,
        share a dimension: the key that identifies the points, or `point`. The sweep must be a complete grid."""
        figures = self._checked(figures)
        table = self._table([*self.parameters, *figures])
        keys = grid.dimensions(table, self.parameters)
        columns = {d: table[d] if d in table else table.groupby(k, sort=False, dropna=False).ngroup() for d, k in keys.items()}
        axes = {d: in_order(column) for d, column in columns.items()}
        self._check_grid(table, keys, axes)
        at = tuple(numpy.array([axes[d].index(v) for v in column], dtype=int) for d, column in columns.items())
        shape = tuple(len(v) for v in axes.values())
        variables = {}
        for name in figures:
            filled = numpy.empty(shape, dtype=table[name].dtype)
            filled[at] = table[name].to_numpy()
            labels = {k: table.attrs[k][name] for k in ("units", "long_name")}
            variables[name] = xarray.Variable(list(axes), filled, labels)
        shared = {key: (d, [table[key][columns[d] == v].iloc[0] for v in axes[d]]) for d, own in keys.items() for key in own if key != d}
        return xarray.Dataset(variables, {**axes, **shared})

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
        ratios = dict.fromkeys(r for r in (c.removesuffix(ERROR) for c in columns) if self.is_ratio(r))
        for ratio in ratios:
            if ratio not in self._read:
                self._divide(ratio)
        self._load([n for n in columns if n not in self._read])
        labels = {n: self._read[n][1] for n in columns}
        units, names = {n: labels[n].get("units", "1") for n in columns}, {n: labels[n].get("long_name", n) for n in columns}
        return labelled({"run": self._source.numbers, **{n: self._read[n][0] for n in columns}}, units, names, "run")

    def _load(self, columns):
        self._read |= self._source.columns([n for n in columns if n not in self._read])

    def _divide(self, ratio):
        figure = baselines.figure_of(ratio)
        self._load([figure, "state", *self.parameters])
        (values, labels), (states, _) = self._read[figure], self._read["state"]
        baseline = in_one_line(self.baseline)
        who = baselines.PointNames({p: self._read[p][0] for p in self.parameters})
        ratios, reasons = baselines.divided(ratio, values, states, self._source.partners, baseline, who)
        text = "End of the baseline divided by the end of the run" if ratio == SPEEDUP else \
            f"Figure of the run divided by that of its baseline: {labels.get('long_name', figure)}"
        self._read[ratio] = ratios, {"units": "1", "long_name": text}
        self._read[ratio + ERROR] = reasons, {"long_name": "Why the ratio is empty"}

    def _checked(self, figures):
        if figures is None:
            return self.figures
        figures = names_of(figures, "figures")
        for name in figures:
            if name not in self.figures and not (self.is_ratio(name) and baselines.figure_of(name) in self.figures):
                raise unknown(self.path, "figure", name, self.figures)
        return figures

    def _check_grid(self, table, keys, axes):
        points = math.prod(len(v) for v in axes.values())
        here = table[self.parameters].drop_duplicates()
        named = [d for d in keys if d in table]
        if points == len(table) == len(here) and not table[named].isna().any(axis=None):
            return
        sizes = " x ".join(f"{len(v)} of {in_one_line(p)}" for p, v in list(axes.items())[:NAMES]) or "no parameter"
        if len(axes) > NAMES:
            sizes += f" x ... ({len(axes)} parameters)"
        raise ResultError(f"{self.path}: its runs do not form a complete grid: {len(table)} runs at {len(here)} points instead "
                          f"of {points} ({sizes}); `.runs` lists the runs as a table")
