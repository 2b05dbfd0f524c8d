# SPDX-License-Identifier: Apache-2.0
"""Ratios to the baseline of a sweep as bars: a group per value of a parameter, and their geometric mean."""
import numpy
import pandas

from .. import baselines
from ..baselines import ERROR, SEED, SPEEDUP
from ..errors import ResultError, in_one_line, unknown
from ..units import in_order
from . import drawing
from .gaps import Gaps
from .sweep import check_any, named

# Maximum bars that are drawn.
BARS = 600


def speedup_bars(sweep, x=None, ratio=SPEEDUP, logy=False):
    if sweep.baseline is None:
        raise ResultError(f"{sweep.path}: it has no baseline, so it has no {in_one_line(ratio)}; set sweep.baseline in the study, or "
                          "baseline in farfault.open_many")
    if not sweep.is_ratio(ratio):
        raise ResultError(f"{sweep.path}: {in_one_line(ratio)} is not a ratio to a baseline; ratios are speedup and FIGURE_ratio")
    x = _default(sweep) if x is None else x
    if x not in [*sweep.parameters, *sweep.settings]:
        raise unknown(sweep.path, "varied parameter", x, sweep.parameters)
    table = sweep.table([ratio])
    check_any(sweep, table, ratio)
    others = baselines.independent(table, [x], [p for p in sweep.dimensions(x) if p not in (x, SEED)])
    groups = _without_baseline(sweep, table, others)
    values = in_order(table[x])
    if len(groups) * (len(values) + 1) > BARS:
        raise ResultError(f"{sweep.path}: {ratio} over {x} has {len(groups) * (len(values) + 1)} bars; at most {BARS} are drawn")
    means = _means(sweep, x, ratio, others)
    figure, axes = drawing.single(max(7.0, min(14.0, 1.5 + 0.25 * len(groups) * (len(values) + 1))), 4)
    gaps, width = Gaps("[{}] "), 0.8 / len(groups)
    for i, (combination, rows) in enumerate(groups):
        bars = [_bar(rows[rows[x] == value], ratio, x, value) for value in values]
        bars.append(means[combination])
        at = numpy.arange(len(bars)) + (i - 0.5 * (len(groups) - 1)) * width
        _draw(axes, at, bars, width, logy, i, _label(others, combination), gaps)
    labels = [drawing.words(v if isinstance(v, str) else f"{v:g}") for v in values]
    slanted = {"rotation": 30, "ha": "right"} if sum(map(len, labels)) > (60 if figure.style.width is None else 12 * figure.style.width) else {}
    axes.set_xticks(range(len(bars)), [*labels, "geometric\nmean"], **slanted)
    axes.axvline(len(values) - 0.5, color="0.7", linewidth=0.6)
    axes.axhline(1, color="0.2", linewidth=0.8, linestyle="--")
    axes.set_xlim(-0.5, len(bars) - 0.5)
    axes.set_xlabel(drawing.words(x))
    if logy:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    drawing.vertical_label(axes, drawing.words(f"{ratio} vs. {in_one_line(sweep.baseline)}"))
    axes.set_axisbelow(True)
    axes.grid(axis="y", alpha=0.3)
    gaps.write(figure)
    drawing.legend(axes)
    return figure


def _default(sweep):
    """`mean_over` of the study, or the first parameter in which runs of the baseline differ, without the seed."""
    if sweep.mean_over in [*sweep.parameters, *sweep.settings]:
        return sweep.mean_over
    own = sweep.table([])[sweep.is_baseline]
    return next((p for p in sweep.parameters if p != SEED and own[p].nunique(dropna=False) > 1), sweep.parameters[0])


def _without_baseline(sweep, table, others):
    """[(combination of the others, rows)], without the baseline itself, whose ratios are 1: it is the line at 1."""
    own = pandas.Series(sweep.is_baseline, table.index)
    grouped = [((), table)] if not others else [(key if isinstance(key, tuple) else (key,), rows) for key, rows in
                                                table.groupby(others if len(others) > 1 else others[0], sort=False, dropna=False)]
    return [(key, rows) for key, rows in grouped if not own[rows.index].all()] or grouped


def _means(sweep, x, ratio, others):
    """{combination: (mean, smallest, largest, reason)}."""
    table = sweep.geometric_mean(x, ratio)
    return {tuple(row[o] for o in others): (row[ratio], row["smallest"], row["largest"], row["error"]) for _, row in table.iterrows()}


def _bar(rows, ratio, x, value):
    """(mean, smallest, largest, reason) over the seeds of one point."""
    reason = next((r for r in rows[ratio + ERROR] if r), "") if len(rows) else f"no run has {in_one_line(x)} = {in_one_line(value)}"
    if reason:
        return numpy.nan, numpy.nan, numpy.nan, reason
    return baselines.geometric_mean(rows[ratio]), rows[ratio].min(), rows[ratio].max(), ""


def _draw(axes, at, bars, width, logy, i, label, gaps):
    mean, low, high = (numpy.array([bar[n] for bar in bars], dtype=float) for n in range(3))
    bottom = 1.0 if logy else 0.0  # on a logarithmic axis, bars begin at the baseline
    axes.bar(at, mean - bottom, 0.9 * width, bottom, label=label, **axes.figure.style.area(i))
    spread = low < high
    if spread.any():
        axes.errorbar(at[spread], mean[spread], yerr=[(mean - low)[spread], (high - mean)[spread]], fmt="none", ecolor="0.1",
                      elinewidth=0.8, capsize=2)
    for x, (_, _, _, reason) in zip(at, bars):
        if reason:
            gaps.mark(axes, x, reason)


def _label(others, combination):
    shown = ", ".join(named(p, v) for p, v in zip(others, combination) if not (isinstance(v, str) and v == ""))
    return shown or None
