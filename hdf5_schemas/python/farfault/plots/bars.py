# SPDX-License-Identifier: Apache-2.0
"""Stacked bars: access time by stage, SM time by activity."""
import numpy

from ..errors import ResultError
from ..palette import NAMES
from ..stacks import SUMS
from ..units import time_unit
from . import drawing

# Above SEPARATE bars, the plot is one area. Above BARS, neighbouring bars are added up.
SEPARATE, BARS = 100, 2000
# Parts below this share of the longest bar are too thin to see and get no legend entry.
VISIBLE = 0.002
# Labels of the axis of rows.
ROWS = {"machine": "", "gpu": "GPU", "application": "application", "kernel": "kernel"}


def latency_stack(run, by="gpu"):
    table, note = together(run.latency(by))
    mean = mean_times(run, table)
    size, quantity = access_axis([mean])
    figure, axes = _one(len(table))
    stack(axes, mean / size, quantity)
    axes.set_ylabel(ROWS[by])
    drawing.head(axes, f"latency stack of {drawing.title(run)}", note)
    drawing.legend(axes)
    return figure


def stalls(run, by="gpu"):
    table, note = together(run.stalls(by))
    figure, axes = _one(len(table))
    stack(axes, shares(table), share_axis(table))
    axes.set_ylabel(ROWS[by])
    drawing.head(axes, f"SM time by activity, {drawing.title(run)}", note)
    drawing.legend(axes)
    return figure


def mean_times(run, table):
    """The stages of an average access of each row, in ps."""
    if not table["transactions"].any():
        raise ResultError(f"{run.path}: no SM accessed memory")
    return table.drop(columns=list(SUMS)).div(table["transactions"].where(table["transactions"] > 0), axis=0).fillna(0.0)


def access_axis(means):
    """The picoseconds of a unit for these average accesses, and the label of their axis."""
    name, size = time_unit(max(mean.sum(axis=1).max() for mean in means))
    return size, f"average access time ({name})"


def shares(table):
    """The activities of each row as shares of its time, in percent."""
    whole = table.columns[-1]
    return 100 * table.drop(columns=whole).div(table[whole].where(table[whole] > 0), axis=0).fillna(0.0)


def share_axis(table):
    return f"share of {'SM' if table.columns[-1] == 'sm_time' else 'resident'} time (%)"


def together(table):
    """The table with neighbouring rows added up to at most BARS rows, and a line for the title."""
    size = -(-len(table) // BARS)
    if size <= 1:
        return table, ""
    names = table.index[::size]
    return table.groupby(numpy.arange(len(table)) // size).sum().set_axis(names), f"each bar: {size} consecutive rows, named after the first"


def height_of(bars):
    return 1.4 + max(1.6, min(9.0, 0.34 * bars))


def _one(bars):
    return drawing.single(9, height_of(bars))


def stack(axes, table, quantity, longest=None):
    """Stacks the parts from the left, in the order of the columns. longest: of the axis; default: the longest bar."""
    style = axes.figure.style
    at, left = numpy.arange(len(table)), numpy.zeros(len(table))
    longest = table.sum(axis=1).max() if longest is None else longest
    for part in [p for p in table if table[p].any()]:
        width = table[part].to_numpy()
        look = {**style.part(part), "label": NAMES[part] if width.max() > VISIBLE * longest else None}
        if len(table) <= SEPARATE:
            axes.barh(at, width, 0.8, left=left, **look)
        else:
            axes.fill_betweenx(at, left, left + width, step="mid", **{**look, "linewidth": 0})
        left = left + width
    step = max(1, len(table) // 40)
    axes.set_yticks(at[::step], [drawing.words(n) for n in table.index[::step]])
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.set_xlim(0, 1.02 * longest if len(table) and longest > 0 else 1)
    axes.set_xlabel(quantity)
