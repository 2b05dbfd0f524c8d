# SPDX-License-Identifier: Apache-2.0
"""A figure of the machine over the parameters of a sweep."""
import pandas

from ..errors import ResultError, unknown
from ..units import TIMES, in_order, time_unit
from . import drawing

SEED = "run.seed"
# Maximum lines that are drawn, and maximum labels on the x axis.
LINES, PLACES = 1000, 100


def figure_over_parameters(sweep, figure, x=None):
    if figure not in sweep.figures:
        raise unknown(sweep.path, "figure", figure, sweep.figures)
    if not sweep.parameters:
        raise ResultError(f"{sweep.path}: its runs have no varied parameter")
    x = next((p for p in sweep.parameters if p != SEED), SEED) if x is None else x
    if x not in sweep.parameters:
        raise unknown(sweep.path, "varied parameter", x, sweep.parameters)
    table = sweep.table([figure])
    unit, name = table.attrs["units"][figure], table.attrs["long_name"][figure]
    table = table[table["state"] == "done"]
    if len(table) == 0:
        raise ResultError(f"{sweep.path}: no run has completed")
    if unit in dict(TIMES):
        unit, size = time_unit(table[figure].max())
        table = table.assign(**{figure: table[figure] / size})
    others = [p for p in sweep.parameters if p not in (x, SEED)]
    drawn, axes = drawing.plt.subplots(figsize=(7, 4), constrained_layout=True)
    place = _x_axis(axes, table[x])
    lines = {}
    for row, values in enumerate(zip(*(table[p] for p in others)) if others else [()] * len(table)):
        lines.setdefault(values, []).append(row)
    if len(lines) > LINES:
        raise ResultError(f"{sweep.path}: {figure} over {x} has {len(lines)} lines; at most {LINES} are drawn")
    for values, rows in lines.items():
        _line(axes, table.iloc[rows], x, figure, place, ", ".join(_named(p, v) for p, v in zip(others, values)))
    axes.set_xlabel(drawing.words(x))
    drawing.count_axis(axes, f"{figure}: {name}" if len(name) < 50 else figure, unit)
    axes.grid(alpha=0.3)
    if others:
        drawing.legend(axes)
    return drawn


def _x_axis(axes, column):
    """Numbers at their position (logarithmic, base 2, over a wide range), texts at equal distances."""
    if pandas.api.types.is_numeric_dtype(column):
        if column.min() > 0 and column.max() >= 8 * column.min():
            axes.set_xscale("log", base=2)
        places = sorted(set(column))
        if len(places) <= PLACES:
            axes.set_xticks(places, [f"{v:g}" for v in places])
        axes.minorticks_off()
        return lambda value: value
    texts = in_order(column)
    slanted = {"rotation": 30, "ha": "right"} if sum(map(len, texts)) > 60 else {}
    step = -(-len(texts) // PLACES)
    axes.set_xticks(range(0, len(texts), step), [drawing.words(t) for t in texts[::step]], **slanted)
    return {text: place for place, text in enumerate(texts)}.get


def _line(axes, rows, x, figure, place, name):
    grouped = rows.groupby(x, sort=False)[figure].agg(["mean", "min", "max"])
    grouped["at"] = [place(v) for v in grouped.index]
    grouped = grouped.sort_values("at")
    spread = [grouped["mean"] - grouped["min"], grouped["max"] - grouped["mean"]]
    axes.errorbar(grouped["at"], grouped["mean"], yerr=spread if (grouped["min"] < grouped["max"]).any() else None,
                  marker="o", capsize=3, label=name)


def _named(parameter, value):
    return drawing.words(value) if isinstance(value, str) else f"{parameter.rsplit('.', 1)[-1]} {value:g}"
