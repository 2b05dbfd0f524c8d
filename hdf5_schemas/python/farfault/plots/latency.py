# SPDX-License-Identifier: Apache-2.0
"""Latencies: outstanding accesses by stage over time, and latency distributions."""
import numpy

from ..errors import ResultError
from ..stacks import STAGES, latency_deltas, over_time
from ..units import TIMES, time_text
from . import drawing
from .bars import COLOURS, VISIBLE

# Maximum intervals. Neighbouring intervals are merged above it.
INTERVALS = 200
# Maximum bins that are drawn, and maximum bins with a label. Farfault's histograms have at most 201.
BINS, LABELLED = 512, 24


def latency_over_time(run, gpu=None, application=None):
    accesses = over_time(drawing.together(latency_deltas(run, gpu, application), INTERVALS))
    figure, (axes,) = drawing.panels(1, [1.6], width=9.0)
    size = drawing.time_axis(axes, int(accesses["time_ps"].max(initial=0)))
    edges, below = drawing.edges(accesses, size), numpy.zeros(accesses.sizes["time_ps"])
    most = accesses.sum("stage").values.max(initial=0)
    for stage, name in STAGES.items():
        above = below + accesses.sel(stage=stage).values
        if (above - below).max(initial=0) > VISIBLE * most:
            axes.stairs(above, edges, baseline=below, fill=True, color=COLOURS[stage], label=name)
        below = above
    drawing.count_axis(axes, "outstanding accesses", "1")
    whose = [w for w in (gpu, application) if w is not None]
    axes.set_title(" ".join(["accesses of", *(f"{drawing.words(w)} in" for w in whose), drawing.title(run)]), fontsize=10)
    drawing.legend(axes)
    return figure


def latency_histogram(run, which="sm.by_gpu/load_latency"):
    """A line for each device (if there are few), and one for all devices."""
    kind, slash, metric = which.rpartition("/")
    if not slash:
        raise ResultError(f'{run.path}: a histogram is named by kind and statistic, such as "iommu/fault_latency", not {which!r}')
    if kind == "sm.by_gpu" and "sm" in run.kinds and kind not in run.kinds:
        raise run.lacks("histogram of load latencies")
    series = run.timeseries(kind, [metric])[metric]
    if series.attrs.get("kind") != "histogram":
        raise ResultError(f"{run.path}: {which} is not a histogram")
    counts = run.deltas(kind, metric, by="device").sum("time_ps")
    if not counts.values.any():
        raise ResultError(f"{run.path}: the histogram {which} is empty")
    figure, axes = drawing.plt.subplots(figsize=(8, 3.6), constrained_layout=True)
    bins = next(series[d] for d in series.dims if d.startswith("bin")).values
    if len(bins) > BINS:
        raise ResultError(f"{run.path}: the histogram {which} has {len(bins)} bins; at most {BINS} are drawn")
    whole = counts.values.sum(axis=0)
    filled = numpy.flatnonzero(whole)
    at = numpy.arange(filled[0], filled[-1] + 1)
    axes.bar(at, 100 * whole[at] / whole.sum(), 0.9, color="0.85", label="all")
    step = -(-len(at) // LABELLED)
    if 1 < counts.sizes["device"] <= drawing.NAMED:
        for i, device in enumerate(counts["device"].values):
            of_one = counts.values[i]
            if of_one.any():
                axes.plot(at, 100 * of_one[at] / of_one.sum(), marker=".", linewidth=1.0, color=f"C{i}", label=drawing.words(device))
    unit = series.attrs.get("bin_unit", "1")
    axes.set_xticks(at[::step], [_bin(bins, b, unit) for b in at[::step]], rotation=45, ha="right", fontsize=8)
    axes.set_ylabel("share (%)")
    axes.set_title(f"{drawing.words(series.attrs['long_name'])}, {drawing.title(run)}", fontsize=10)
    axes.grid(axis="y", alpha=0.3)
    drawing.legend(axes)
    return figure


def _bin(bins, place, unit):
    """Label of a bin: below its upper border; the last bin has none."""
    border, sign = (bins[place + 1], "<") if place + 1 < len(bins) else (bins[place], "\N{GREATER-THAN OR EQUAL TO}")
    return f"{sign} {time_text(border * dict(TIMES)[unit]) if unit in dict(TIMES) else border}"
