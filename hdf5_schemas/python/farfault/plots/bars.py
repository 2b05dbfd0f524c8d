"""Bars of parts that add up: where accesses spent their time, why SMs issued nothing."""
import numpy

from ..units import time_unit
from . import drawing

# More bars than this are drawn as one area: nobody could tell them apart.
SEPARATE = 100


def latency_stack(run, scope="gpu"):
    table = run.latency(scope)
    accesses = table["transactions"]
    mean = table.drop(columns="transactions").div(accesses.where(accesses > 0), axis=0).fillna(0.0)
    name, size = time_unit(mean.sum(axis=1).max())
    return _stack(mean / size, f"time of an access, on average ({name})", f"latency stack of {drawing.title(run)}")


def stalls(run, scope="gpu"):
    table = run.stalls(scope)
    total = table.sum(axis=1)
    share = 100 * table.div(total.where(total > 0), axis=0).fillna(0.0)
    return _stack(share, "share of all stalls (%)", f"stall reasons of {drawing.title(run)}")


def _stack(table, quantity, heading):
    """The largest part first, from the left; "other" last."""
    parts = sorted(table.columns, key=lambda part: (part == "other", -table[part].sum(), part))
    figure, axes = drawing.plt.subplots(figsize=(8, 1.4 + max(1.2, min(9.0, 0.34 * len(table)))), constrained_layout=True)
    at, left = numpy.arange(len(table)), numpy.zeros(len(table))
    for i, part in enumerate(parts):
        width = table[part].to_numpy()
        look = {"color": f"C{i % 10}", "hatch": "//" if i >= 10 else None, "label": part}
        if len(table) <= SEPARATE:
            axes.barh(at, width, 0.8, left=left, **look)
        else:
            axes.fill_betweenx(at, left, left + width, step="mid", linewidth=0, **look)
        left += width
    step = max(1, len(table) // 40)
    axes.set_yticks(at[::step], table.index[::step])
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.set_xlim(0, left.max() * 1.02 if len(left) and left.max() > 0 else 1)
    axes.set_xlabel(quantity)
    axes.set_title(heading, fontsize=10)
    drawing.legend(axes)
    return figure
