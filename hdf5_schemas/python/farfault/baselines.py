# SPDX-License-Identifier: Apache-2.0
"""Ratios to the baseline of a sweep, their geometric means, and the keys that vary independently of each other.

An empty value has a reason. If one of the runs of a mean has no value, the mean is empty, with that reason.
"""
import numpy
import pandas

from .errors import Misuse, ResultError, in_one_line, unknown
from .units import in_order, measured

SPEEDUP, RATIO, ERROR = "speedup", "_ratio", "_error"
SEED, NAME = "run.seed", "name"


def figure_of(ratio):
    """The figure that a ratio divides: "end" for "speedup", "iommu_walks" for "iommu_walks_ratio". None for a figure."""
    if ratio == SPEEDUP:
        return "end"
    return ratio.removesuffix(RATIO) if ratio.endswith(RATIO) else None


def partners(path, parameters, baseline):
    """The row of the baseline of each run, or -1. parameters: {key: values}; baseline: {key: value}."""
    if not isinstance(baseline, dict) or not baseline:
        raise Misuse(f"baseline must be a dict of keys and values, not {baseline!r}")
    fits = True
    for key, value in baseline.items():
        if key == SEED:
            raise ResultError(f"{path}: the baseline must not have run.seed: runs are compared with runs of their seed")
        if key not in parameters:
            raise unknown(path, "varied parameter", key, list(parameters))
        of_key = numpy.array([_same(v, value) for v in parameters[key]])
        if not of_key.any():
            raise ResultError(f"{path}: no run has {key} = {in_one_line(value)}; available: "
                              + ", ".join(in_one_line(v) for v in in_order(parameters[key])))
        fits = fits & of_key
    others = list(zip(*([repr(v) for v in values] for key, values in parameters.items() if key not in baseline))) or [()] * len(fits)
    rows = {}
    for row in numpy.flatnonzero(fits):
        rows.setdefault(others[row], row)
    return numpy.array([rows.get(of_run, -1) for of_run in others], dtype="int64")


def _same(a, b):
    """Equal values; texts of quantities by their size."""
    b = str(b).lower() if isinstance(b, bool) else b
    if isinstance(a, str) and isinstance(b, str):
        return a == b or (measured(a) is not None and measured(a) == measured(b))
    return not isinstance(a, str) and not isinstance(b, str) and a == b


class PointNames:
    """Names of runs: their number, and their values of the parameters."""

    def __init__(self, parameters):
        self._parameters = parameters

    def __getitem__(self, run):
        """"run 4 (bfs, entries 64)": texts alone, numbers and quantities with the last part of their key."""
        texts = [(key, in_one_line(values[run])) for key, values in self._parameters.items() if not pandas.isna(values[run])]
        point = ", ".join(f"{key.rpartition('.')[2]} {text}" if text[0] in "0123456789.-" else text for key, text in texts if text)
        return f"run {run} ({point})" if point else f"run {run}"


def divided(ratio, values, states, partners, baseline, names):
    """The ratio by run (NaN: empty), and why it is empty. partners: row of each run's baseline; -1: none."""
    name = figure_of(ratio)
    found = [_ratio_of(run, ratio, name, values, states, partners[run], baseline, names) for run in range(len(values))]
    reasons = numpy.array([reason for _, reason in found], dtype=object)
    return numpy.array([quotient for quotient, _ in found], dtype=float), reasons


def _ratio_of(run, ratio, name, values, states, partner, baseline, names):
    """The ratio, or NaN and the reason."""
    own, base = float(values[run]), float(values[partner]) if partner >= 0 else numpy.nan
    if states[run] == "done" and partner >= 0 and states[partner] == "done" and own * base != 0 and not numpy.isnan(own * base):
        return (base / own if ratio == SPEEDUP else own / base), ""
    return numpy.nan, _why_empty(run, name, values, states, partner, baseline, names)


def _why_empty(run, name, values, states, partner, baseline, names):
    why = _why_none(run, name, values, states, names[run])
    if why:
        return why
    if partner < 0:
        return f"no run with {baseline} has the other values of {names[run]}"
    if values[run] == 0:
        return f"{name} of {names[run]} is 0"
    who = names[run] if partner == run else f"{names[partner]}, the baseline of {names[run]},"
    return _why_none(partner, name, values, states, who) or f"{name} of {who} is 0"


def _why_none(run, name, values, states, who):
    if states[run] != "done":
        return f"{who} failed" if states[run] == "failed" else f"{who} is missing"
    return f"{who} has no figure '{name}'" if pandas.isna(values[run]) else ""


def independent(table, asked, keys):
    """The keys whose values do not follow from the values of `asked` and of the keys before them. Keys that all rows have
    come first."""
    kept = []
    for key in sorted(keys, key=lambda k: bool((table[k] == "").any())):
        before = [*asked, *kept]
        values = table.groupby(before, sort=False, dropna=False)[key].nunique(dropna=False) if before else pandas.Series([table[key].nunique(dropna=False)])
        if (values > 1).any():
            kept.append(key)
    return [k for k in keys if k in kept]


def geometric_mean(values):
    values = numpy.asarray(values, dtype=float)
    return float(values[0] if len(values) == 1 else numpy.exp2(numpy.log2(values).mean()))


def means(table, ratio, over, others):
    """One row per combination of the `others`: the geometric mean of the ratio over the dimension `over`, its range over the
    seeds, and why it is empty. table: the columns of the dimensions, of the ratio, and of its reasons."""
    wanted = in_order(table[over])
    groups = [((), table)] if not others else table.groupby(others if len(others) > 1 else others[0], sort=False, dropna=False)
    rows = []
    for values, group in groups:
        mean, low, high, reason = _mean_of(group, ratio, over, wanted)
        rows.append([*(values if isinstance(values, tuple) else (values,)), mean, low, high, reason])
    return pandas.DataFrame(rows, columns=[*others, ratio, "smallest", "largest", "error"])


def _mean_of(group, ratio, over, wanted):
    of_seeds = []
    for _, runs in group.groupby(SEED, sort=True) if SEED in group and over != SEED else [(None, group)]:
        present = set(runs[over])
        lacking = [v for v in wanted if v not in present]
        reason = f"no run has {in_one_line(over)} = {in_one_line(lacking[0])}" if lacking else next((r for r in runs[ratio + ERROR] if r), "")
        if reason:
            return numpy.nan, numpy.nan, numpy.nan, reason
        of_seeds.append(geometric_mean(runs[ratio]))
    return geometric_mean(of_seeds), min(of_seeds), max(of_seeds), ""
