# SPDX-License-Identifier: Apache-2.0
"""Stacked bars: access time by stage, SM time by activity."""
import numpy

from ..errors import ResultError
from ..stacks import RESIDENT, ACTIVITIES, STAGES, SUMS
from ..units import time_unit
from . import drawing

# Above SEPARATE bars, the plot is one area. Above BARS, neighbouring bars are added up.
SEPARATE, BARS = 100, 2000
# Parts below this share of the longest bar are too thin to see and get no legend entry.
VISIBLE = 0.002
# Each part has the same colour in all plots: translation blue, faults red, data green, links orange.
COLOURS = {
    "load_store": "#9e9e9e", "l1_tlb": "#c6dbef", "l2_tlb": "#9ecae1", "walk_queue": "#6baed6", "walk": "#3182bd",
    "iommu": "#08519c", "fault": "#d62728", "l1_cache": "#c7e9c0", "l2_cache": "#74c476", "dram_queue": "#31a354",
    "dram": "#006d2c", "links": "#ff7f0e", "remote_memory": "#8c564b", "outstanding": "#e0e0e0",
    "active": "#2ca02c", "memory_stall": "#ff7f0e", "fault_stall": "#d62728", "load_store_stall": "#9467bd",
    "scalar_stall": "#17becf", "barrier_stall": "#bcbd22", "stopped": "#8c564b", "idle": "#e0e0e0", "outside": "#9e9e9e"}
WORDS = {**STAGES, **ACTIVITIES, **RESIDENT, "outstanding": "outstanding accesses"}


def latency_stack(run, by="gpu"):
    table, note = _together(run.latency(by))
    if not table["transactions"].any():
        raise ResultError(f"{run.path}: no SM accessed memory")
    parts = table.drop(columns=list(SUMS))
    mean = parts.div(table["transactions"].where(table["transactions"] > 0), axis=0).fillna(0.0)
    name, size = time_unit(mean.sum(axis=1).max())
    return _stack(mean / size, f"average access time ({name})", f"latency stack of {drawing.title(run)}{note}")


def stalls(run, by="gpu"):
    table, note = _together(run.stalls(by))
    whole = table.columns[-1]
    share = 100 * table.drop(columns=whole).div(table[whole].where(table[whole] > 0), axis=0).fillna(0.0)
    of = "SM" if whole == "sm_time" else "resident"
    return _stack(share, f"share of {of} time (%)", f"SM time by activity, {drawing.title(run)}{note}")


def _together(table):
    """The table with neighbouring rows added up to at most BARS rows, and a line for the title."""
    size = -(-len(table) // BARS)
    if size <= 1:
        return table, ""
    names = table.index[::size]
    return table.groupby(numpy.arange(len(table)) // size).sum().set_axis(names), f"\neach bar: {size} consecutive rows, named after the first"


def _stack(table, quantity, heading):
    """Stacks the parts from the left, in the order of the columns."""
    figure, axes = drawing.plt.subplots(figsize=(9, 1.4 + max(1.6, min(9.0, 0.34 * len(table)))), constrained_layout=True)
    at, left, longest = numpy.arange(len(table)), numpy.zeros(len(table)), table.sum(axis=1).max()
    for part in [p for p in table if table[p].any()]:
        width = table[part].to_numpy()
        look = {"color": COLOURS[part], "label": WORDS[part] if width.max() > VISIBLE * longest else None}
        if len(table) <= SEPARATE:
            axes.barh(at, width, 0.8, left=left, **look)
        else:
            axes.fill_betweenx(at, left, left + width, step="mid", linewidth=0, **look)
        left += width
    step = max(1, len(table) // 40)
    axes.set_yticks(at[::step], [drawing.words(n) for n in table.index[::step]])
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.set_xlim(0, 1.02 * longest if len(table) and longest > 0 else 1)
    axes.set_xlabel(quantity)
    axes.set_title(heading, fontsize=10)
    drawing.legend(axes)
    return figure
