# SPDX-License-Identifier: Apache-2.0
"""A figure of the machine, or its ratio to the baseline, over the parameters of a sweep."""
import pandas

from .. import baselines
from ..baselines import ERROR, SEED
from ..errors import ResultError, in_one_line, unknown
from ..units import TIMES, in_order, measured, time_unit
from . import drawing
from .gaps import Gaps

# Maximum lines that are drawn, and maximum labels on the x axis.
LINES, PLACES = 1000, 100


def figure_over_parameters(sweep, figure, x=None, logx=None, logy=False):
    is_ratio = sweep.is_ratio(figure)
    if figure not in sweep.figures and not is_ratio:
        raise unknown(sweep.path, "figure", figure, sweep.figures)
    if not sweep.parameters:
        raise ResultError(f"{sweep.path}: its runs have no varied parameter")
    x = next((p for p in sweep.parameters if p != SEED), SEED) if x is None else x
    if x not in [*sweep.parameters, *sweep.settings]:
        raise unknown(sweep.path, "varied parameter", x, sweep.parameters)
    table = sweep.table([figure])
    unit, name = table.attrs["units"][figure], table.attrs["long_name"][figure]
    others = baselines.independent(table, [x], [p for p in sweep.dimensions(x) if p not in (x, SEED)])
    if is_ratio:
        check_any(sweep, table, figure)
        gone = table.loc[table[figure].isna(), figure + ERROR]
    else:
        states = table["state"][table["state"] != "done"]
        names = baselines.PointNames({p: table[p] for p in sweep.parameters})
        gone = [f"{names[run]} failed" if state == "failed" else f"{names[run]} is missing" for run, state in states.items()]
        table = table[table["state"] == "done"]
        if len(table) == 0:
            raise ResultError(f"{sweep.path}: no run has completed")
    _check_log(sweep, table, figure, x, logx, logy)
    if unit in dict(TIMES):
        unit, size = time_unit(table[figure].max())
        table = table.assign(**{figure: table[figure] / size})
    drawn, axes = drawing.single(7, 4)
    place = _x_axis(axes, table[x], logx)
    lines = {}
    for row, values in enumerate(zip(*(table[p] for p in others)) if others else [()] * len(table)):
        lines.setdefault(values, []).append(row)
    if len(lines) > LINES:
        raise ResultError(f"{sweep.path}: {figure} over {x} has {len(lines)} lines; at most {LINES} are drawn")
    for i, (values, rows) in enumerate(lines.items()):
        label = ", ".join(named(p, v) for p, v in zip(others, values) if not (isinstance(v, str) and v == ""))
        _line(axes, table.iloc[rows], x, figure, place, label, is_ratio, i)
    if is_ratio:
        axes.axhline(1, color="0.4", linewidth=0.8, linestyle="--")
        if x == sweep.mean_over and not pandas.api.types.is_numeric_dtype(table[x]):
            _add_means(axes, sweep.geometric_mean(x, figure), figure, len(in_order(table[x])))
        title = f"{figure} vs. {in_one_line(sweep.baseline)}"
    else:
        title = f"{figure}: {name}" if len(name) < 50 else figure
    axes.set_xlabel(drawing.words(x))
    drawing.count_axis(axes, title, unit, logy)
    axes.grid(alpha=0.3)
    gaps = Gaps("no value: ")
    for reason in gone:
        gaps.number(reason)
    gaps.write(drawn)
    if others:
        drawing.legend(axes)
    return drawn


def check_any(sweep, table, ratio):
    if table[ratio].isna().all():
        why = next((r for r in table[ratio + ERROR] if r), "it has no runs")
        raise ResultError(f"{sweep.path}: no run has a {in_one_line(ratio)}: {in_one_line(why)}")


def _check_log(sweep, table, figure, x, logx, logy):
    rows = [f"run {run}" for run in table.index]
    if logy:
        known = table[figure].notna().to_numpy()
        drawing.check_positive(table[figure][known], sweep.path, figure, "logy", [r for r, k in zip(rows, known) if k])
    if logx and pandas.api.types.is_numeric_dtype(table[x]):
        drawing.check_positive(table[x], sweep.path, x, "logx", rows)
    elif logx and len({what for what, _ in (measured(t) or (None, 0) for t in table[x])} | {None}) != 2:
        raise ResultError(f"{sweep.path}: the values of {in_one_line(x)} are not numbers or quantities with a unit; logx must be False")
    elif logx:
        drawing.check_positive([measured(t)[1] if measured(t) else 0 for t in table[x]], sweep.path, x, "logx", rows)


def _x_axis(axes, column, logx):
    """Numbers at their position (logarithmic, base 2, over a wide range), texts at equal distances, and quantities at equal
    distances or, with logx, at their size."""
    if pandas.api.types.is_numeric_dtype(column):
        if column.min() > 0 and column.max() >= 8 * column.min() if logx is None else logx:
            axes.set_xscale("log", base=2)
        places = sorted(set(column))
        if len(places) <= PLACES:
            axes.set_xticks(places, [f"{v:g}" for v in places])
        axes.minorticks_off()
        return lambda value: value
    texts = in_order(column)
    if logx:
        sizes = {text: measured(text)[1] for text in texts}
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(sizes.values()), [drawing.words(t) for t in texts])
        axes.minorticks_off()
        return sizes.get
    slanted = {"rotation": 30, "ha": "right"} if sum(map(len, texts)) > 60 else {}
    step = -(-len(texts) // PLACES)
    axes.set_xticks(range(0, len(texts), step), [drawing.words(t) for t in texts[::step]], **slanted)
    return {text: place for place, text in enumerate(texts)}.get


def _line(axes, rows, x, figure, place, name, is_ratio, i):
    """A ratio is drawn only at values of x for which all runs have one; its mean is geometric."""
    columns = rows.groupby(x, sort=False)[figure]
    mean = columns.agg(lambda v: baselines.geometric_mean(v) if v.notna().all() else float("nan")) if is_ratio else columns.mean()
    grouped = pandas.DataFrame({"mean": mean, "min": columns.min(), "max": columns.max()})
    grouped["at"] = [place(v) for v in grouped.index]
    grouped = grouped.sort_values("at")
    spread = [grouped["mean"] - grouped["min"], grouped["max"] - grouped["mean"]]
    axes.errorbar(grouped["at"], grouped["mean"], yerr=spread if (grouped["min"] < grouped["max"]).any() else None,
                  capsize=3, label=name, **axes.figure.style.line(i, marked=True))


def _add_means(axes, means, ratio, at):
    """One more place on the x axis for the geometric mean of each line."""
    ticks, labels = list(axes.get_xticks()), [t.get_text() for t in axes.get_xticklabels()]
    for container, (_, row) in zip(list(axes.containers), means.iterrows()):
        spread = [[row[ratio] - row["smallest"]], [row["largest"] - row[ratio]]]
        axes.errorbar([at], [row[ratio]], yerr=spread if row["smallest"] < row["largest"] else None, capsize=3,
                      marker=container[0].get_marker(), color=container[0].get_color())
    axes.set_xticks([*ticks, at], [*labels, "geometric mean"])


def named(parameter, value):
    return drawing.words(value) if isinstance(value, str) else f"{parameter.rsplit('.', 1)[-1]} {value:g}"
