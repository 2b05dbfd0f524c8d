# SPDX-License-Identifier: Apache-2.0
"""Kernels over time, and rates of the GPUs."""
import numpy
import pandas

from ..calls import names_of
from ..errors import ResultError
from . import drawing

RATES = ("sm/instructions", "sm/transactions")
WHOSE = ("machine", "application", "stream")  # columns of kernels
# Above BARS kernels, neighbours are drawn as one bar. Above LANES lanes, the plot is refused.
BARS, LANES = 5000, 1000


def timeline(run, rates=None):
    chosen = [_read(run, r) for r in (RATES if rates is None else names_of(rates, "rates"))]
    kernels = _kernels(run)
    if len(kernels) == 0 and not chosen:
        raise ResultError(f"{run.path}: it has no kernels")
    lanes = _lanes(run, kernels)
    figure, axes = drawing.panels(1 + len(chosen), [min(20.0, max(0.4, 0.25 * len(lanes))), *[0.8] * len(chosen)])
    ends = [*kernels["finished"].nlargest(1), *(t for r in chosen for t in r["time_ps"].values[-1:])]
    size = drawing.time_axis(axes[-1], max(ends, default=0))
    together = -(-len(kernels) // BARS)
    _draw_kernels(axes[0], [(name, _grouped(rows, together)) for name, rows in lanes], size)
    for a, rate in zip(axes[1:], chosen):
        _draw_rate(a, rate, size)
    note = f"\neach bar: up to {together} kernels, named after the first" if together > 1 else ""
    axes[0].set_title(f"kernels of {drawing.title(run)}{note}", fontsize=10)
    return figure


def _read(run, name):
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


def _draw_kernels(axes, lanes, size):
    names = list(dict.fromkeys(n for _, rows in lanes for n in rows["name"]))
    colour = {n: f"C{i % 10}" for i, n in enumerate(names)}
    for at, (_, rows) in enumerate(lanes):
        starts, ends = rows["launched"] / size, rows["finished"] / size
        axes.barh(numpy.full(len(rows), at), ends - starts, left=starts, height=0.8, linewidth=0.4, edgecolor="white",
                  color=[colour[n] for n in rows["name"]])
    if len(names) <= drawing.NAMED:
        for n in names:
            axes.barh(0, 0, color=colour[n], label=drawing.words(n))
        drawing.legend(axes)
    step = max(1, len(lanes) // 100)
    axes.set_yticks(range(0, len(lanes), step), [drawing.words(name) for name, _ in lanes[::step]])
    axes.set_ylim(max(len(lanes), 1) - 0.5, -0.5)


def _draw_rate(axes, rate, size):
    edges, devices = drawing.edges(rate, size), rate["device"].values
    if len(devices) <= drawing.NAMED:
        for i, name in enumerate(devices):
            axes.stairs(rate.values[:, i], edges, baseline=None, label=drawing.words(name), linewidth=1.0)
    else:
        axes.stairs(rate.values.max(1), edges, baseline=rate.values.min(1), fill=True, alpha=0.3,
                    label=f"all {len(devices)}")
        axes.stairs(rate.values.mean(1), edges, baseline=None, label="mean", linewidth=1.0)
    drawing.count_axis(axes, rate.attrs["kind_and_name"], rate.attrs["units"])
    axes.grid(alpha=0.3)
    drawing.legend(axes)
