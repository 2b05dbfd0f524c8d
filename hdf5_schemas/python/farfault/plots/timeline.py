# SPDX-License-Identifier: Apache-2.0
"""Kernels over time, and rates of the GPUs."""
import numpy
import pandas

from ..calls import names_of
from ..errors import ResultError
from ..palette import LINES
from ..units import time_text
from . import drawing

RATES = ("sm/instructions", "sm/transactions")
WHOSE = ("machine", "application", "stream")  # columns of kernels
# Above BARS kernels, neighbours are drawn as one bar. Above LANES lanes, the plot is refused.
BARS, LANES = 5000, 1000


class Content:
    """The data of a timeline: kernels in lanes, [(name, rows)], and rates."""

    def __init__(self, run, rates, logy=False):
        self.run = run
        self.rates = [read_rate(run, r) for r in (RATES if rates is None else names_of(rates, "rates"))]
        if logy:
            for rate in self.rates:
                _check_positive(run, rate)
        kernels = _kernels(run)
        if len(kernels) == 0 and not self.rates:
            raise ResultError(f"{run.path}: it has no kernels")
        lanes = _lanes(run, kernels)
        self.whose = ", ".join(k for k in WHOSE if k in kernels)
        size = -(-len(kernels) // BARS)
        self.note = f"each bar: up to {size} kernels, named after the first" if size > 1 else ""
        self.lanes = [(name, _grouped(rows, size)) for name, rows in lanes]
        self.end = max([*kernels["finished"].nlargest(1), *(t for r in self.rates for t in r["time_ps"].values[-1:])], default=0)

    def kernel_names(self):
        return [n for _, rows in self.lanes for n in rows["name"]]


def timeline(run, rates=None, logy=False):
    content = Content(run, rates, logy)
    figure, ((kernels, *below),) = by_column(1, [content])
    size = drawing.time_axis([kernels, *below][-1], content.end)
    draw_kernels(kernels, content.lanes, [name for name, _ in content.lanes], list(dict.fromkeys(content.kernel_names())), size)
    kernels.set_ylabel(content.whose)
    drawing.legend(kernels)
    for axes, rate in zip(below, content.rates):
        draw_rate(axes, rate, size)
        drawing.count_axis(axes, rate.attrs["kind_and_name"], rate.attrs["units"], logy)
        drawing.legend(axes)
    drawing.head(kernels, f"kernels of {drawing.title(run)}", content.note)
    return figure


def by_column(columns, contents):
    """A figure with a row for kernels and for each rate, and its axes by column."""
    lanes = len(dict.fromkeys(name for content in contents for name, _ in content.lanes))
    rates = len(contents[0].rates)
    figure, axes = drawing.panels(1 + rates, columns, [min(20.0, max(0.4, 0.25 * lanes)), *[0.8] * rates], sharex=True,
                                  sharey="row" if columns > 1 else False, width=8.0 if columns == 1 else 11.0)
    return figure, axes.T


def _check_positive(run, rate):
    for i, device in enumerate(rate["device"].values):
        values = rate.values[:, i]
        names = [f"{device} in the interval that ends at {time_text(t)}" for t in rate["time_ps"].values[values <= 0][:1]]
        drawing.check_positive(values[values <= 0][:1], run.path, rate.attrs["kind_and_name"], "logy", names)


def read_rate(run, name):
    kind, slash, metric = str(name).rpartition("/")
    if not slash:
        raise ResultError(f'{run.path}: a rate is named by kind and statistic, such as "sm/instructions", not {name!r}')
    return run.rates(kind, metric, by="device").assign_attrs(kind_and_name=f"{kind}: {metric}")


def _kernels(run):
    """Empty before the first kernel has ended."""
    columns = ["name", "launched", "finished"]
    if "kernels" not in run.tables:
        return pandas.DataFrame(columns=columns)
    table = run.columns_there("tables/kernels", "row", [*columns, *WHOSE])
    return table if set(columns) <= set(table) else table.iloc[:0].reindex(columns=columns)


def _lanes(run, kernels):
    """[(name, rows)]: kernels of one application, stream or machine run one after the other."""
    keys = [k for k in WHOSE if k in kernels]
    if not keys:
        return [("kernels", kernels)]
    lanes = kernels.groupby(keys, sort=False).ngroups
    if lanes > LANES:
        raise ResultError(f"{run.path}: its kernels have {lanes} combinations of application, stream and machine; at most {LANES} are drawn")
    return [(" ".join(str(p) for p in (name if isinstance(name, tuple) else (name,))), rows)
            for name, rows in kernels.groupby(keys if len(keys) > 1 else keys[0], sort=False)]


def _grouped(rows, size):
    """Groups of `size` consecutive kernels as one bar each, with the first one's name, from first launch to last end."""
    if size <= 1:
        return rows
    by = rows.groupby(numpy.arange(len(rows)) // size)
    return pandas.DataFrame({"name": by["name"].first(), "launched": by["launched"].min(), "finished": by["finished"].max()})


def draw_kernels(axes, lanes, order, names, size):
    """order: of the lanes; names: of all kernels, in the order of their colours."""
    look = {name: axes.figure.style.area(i) for i, name in enumerate(names)}
    for name, rows in lanes:
        starts, ends = rows["launched"] / size, rows["finished"] / size
        of = [look[n] for n in rows["name"]]
        edge = [one.get("edgecolor", "white") for one in of]
        bars = axes.barh(numpy.full(len(rows), order.index(name)), ends - starts, left=starts, height=0.8, linewidth=0.4, edgecolor=edge,
                         color=[one["facecolor"] for one in of])
        for bar, one in zip(bars, of):
            bar.set_hatch(one.get("hatch"))
    if len(names) <= drawing.NAMED:
        for name in names:
            axes.barh(0, 0, label=drawing.words(name), **look[name])
    step = max(1, len(order) // 100)
    axes.set_yticks(range(0, len(order), step), [drawing.words(name) for name in order[::step]])
    axes.set_ylim(max(len(order), 1) - 0.5, -0.5)


def draw_rate(axes, rate, size):
    edges, devices, style = drawing.edges(rate, size), rate["device"].values, axes.figure.style
    if len(devices) <= drawing.NAMED:
        for i, name in enumerate(devices):
            axes.stairs(rate.values[:, i], edges, baseline=None, label=drawing.words(name), linewidth=1.0, **style.line(i))
    else:
        axes.stairs(rate.values.max(1), edges, baseline=rate.values.min(1), fill=True, alpha=0.3, color=LINES[0],
                    label=f"all {len(devices)}")
        axes.stairs(rate.values.mean(1), edges, baseline=None, label="mean", linewidth=1.0, color=LINES[0])
    axes.grid(alpha=0.3)
