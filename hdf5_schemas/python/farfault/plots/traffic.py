# SPDX-License-Identifier: Apache-2.0
"""Traffic between devices, link utilization, and final page placement."""
import numpy

from ..errors import ResultError
from . import drawing
from .heat import heat_map

# Maximum links that are drawn: the busiest.
LINKS = 30


def traffic(run, what="bytes"):
    table = run.traffic(what)
    if not table.to_numpy().any():
        raise ResultError(f"{run.path}: it has no traffic between devices")
    return heat_map(table, "from", what, "to", f"{what} between devices, {drawing.title(run)}")


def placement(run):
    table = run.placement()
    if not table.to_numpy().any():
        raise ResultError(f"{run.path}: no device has pages at the end of the run")
    for level in ("machine", "application"):
        if level in table.index.names and len(table.index.unique(level)) == 1:
            table = table.droplevel(level)
    return heat_map(table, "buffer", "pages", "device", f"pages of each buffer at the end of {drawing.title(run)}")


def links(run, logx=False):
    """Two bars per link, one for each direction; the busiest link first."""
    table = run.links()
    if len(table) == 0:
        raise ResultError(f"{run.path}: its machine has no links")
    busiest = table.groupby("link", sort=True)["busy"].max()
    order = list(busiest.sort_values(ascending=False, kind="stable").index)
    shown = order[:LINKS]
    of = dict(list(table[table["link"].isin(shown)].groupby("link", sort=False)))
    ends = [(of[link]["from"].iloc[0], of[link]["to"].iloc[0]) for link in shown]
    names = [f"{drawing.words(a)} \N{LEFT RIGHT ARROW} {drawing.words(b)}" + (f" #{link}" if ends.count((a, b)) > 1 else "")
             for (a, b), link in zip(ends, shown)]
    figure, axes = drawing.single(9, 1.4 + 0.36 * len(shown))
    at = numpy.arange(len(shown))
    for way, (start, name) in enumerate(((0, "left to right"), (1, "right to left"))):
        busy = [100 * of[link]["busy"].iloc[start] if len(of[link]) > start else 0.0 for link in shown]
        if logx:
            drawing.check_positive(busy, run.path, f"the utilization {name}", "logx", names)
        axes.barh(at + (way - 0.5) * 0.4, busy, 0.4, label=f"from {name}", **figure.style.area(way))
    if logx:
        axes.set_xscale("log")
    axes.set_yticks(at, names)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel("utilization (%)")
    axes.grid(axis="x", alpha=0.3)
    axes.set_ylabel("link")
    some = f"the {len(shown)} busiest of {len(order)} links" if len(shown) < len(order) else "links"
    drawing.head(axes, f"{some} of {drawing.title(run)}")
    drawing.legend(axes)
    return figure
