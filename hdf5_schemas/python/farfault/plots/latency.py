# SPDX-License-Identifier: Apache-2.0
"""Latencies: outstanding accesses by stage over time, and latency distributions."""
import numpy

from ..errors import ResultError
from ..palette import STAGES
from ..stacks import latency_deltas, over_time
from ..units import TIMES, time_text
from . import drawing
from .bars import VISIBLE

# Maximum intervals. Neighbouring intervals are merged above it.
INTERVALS = 200
# Maximum bins that are drawn, and maximum bins with a label. Farfault's histograms have at most 201.
BINS, LABELLED = 512, 24


def latency_over_time(run, gpu=None, application=None):
    accesses = accesses_of(run, gpu, application)
    figure, ((axes,),) = drawing.panels(1, heights=[1.6], width=9.0)
    draw_accesses(axes, accesses, drawing.time_axis(axes, int(accesses["time_ps"].max(initial=0))))
    drawing.count_axis(axes, "outstanding accesses", "1")
    drawing.head(axes, f"{selection(gpu, application)} {drawing.title(run)}")
    drawing.legend(axes)
    return figure


def accesses_of(run, gpu, application):
    return over_time(drawing.together(latency_deltas(run, gpu, application), INTERVALS))


def selection(gpu, application):
    """Title of accesses, up to the name of the result."""
    return " ".join(["accesses of", *(f"{drawing.words(w)} in" for w in (gpu, application) if w is not None)])


def draw_accesses(axes, accesses, size):
    """Stacked areas, a stage each."""
    edges, below = drawing.edges(accesses, size), numpy.zeros(accesses.sizes["time_ps"])
    most = accesses.sum("stage").values.max(initial=0)
    for stage, name in STAGES.items():
        above = below + accesses.sel(stage=stage).values
        if (above - below).max(initial=0) > VISIBLE * most:
            axes.stairs(above, edges, baseline=below, fill=True, label=name, **axes.figure.style.part(stage))
        below = above


def latency_histogram(run, which="sm.by_gpu/load_latency", logy=False):
    """A line for each device (if there are few), and bars for all devices. On a logarithmic axis, an empty bin has no bar."""
    counts, series, bins = histogram(run, which)
    figure, axes = drawing.single(8, 3.6)
    whole = counts.values.sum(axis=0)
    at = filled(whole)
    axes.bar(at, 100 * whole[at] / whole.sum(), 0.9, color="0.85", label="all")
    if 1 < counts.sizes["device"] <= drawing.NAMED:
        for i, device in enumerate(counts["device"].values):
            of_one = counts.values[i]
            if of_one.any():
                share = 100 * of_one[at] / of_one.sum()
                axes.plot(at, numpy.where(share > 0, share, numpy.nan) if logy else share, linewidth=1.0, label=drawing.words(device),
                          **{**figure.style.line(i, marked=True), **({} if figure.style.patterns else {"marker": "."})})
    histogram_axes(axes, series, bins, at, logy)
    drawing.head(axes, f"{drawing.words(series.attrs['long_name'])}, {drawing.title(run)}")
    drawing.legend(axes)
    return figure


def filled(whole):
    """The bins from the first to the last one with entries."""
    there = numpy.flatnonzero(whole)
    return numpy.arange(there[0], there[-1] + 1)


def histogram_axes(axes, series, bins, at, logy):
    unit = series.attrs.get("bin_unit", "1")
    labelled = at[::-(-len(at) // LABELLED)]
    axes.set_xticks(labelled, [_bin(bins, b, unit) for b in labelled], rotation=45, ha="right", fontsize=axes.figure.style.sizes.small)
    axes.set_xlabel("latency" if unit in dict(TIMES) else "value")
    axes.set_ylabel("share (%)")
    if logy:
        axes.set_yscale("log")
    axes.grid(axis="y", alpha=0.3)


def histogram(run, which):
    """The entries of each device in each bin, the series, and the lower borders of the bins."""
    kind, slash, metric = which.rpartition("/")
    if not slash:
        raise ResultError(f'{run.path}: a histogram is named by kind and statistic, such as "iommu/fault_latency", not {which!r}')
    if kind == "sm.by_gpu" and "sm" in run.kinds and kind not in run.kinds:
        raise run.lacks("histogram of load latencies")
    if f"{kind}.histograms" in run.kinds:  # from schema_version 3 on
        kind = f"{kind}.histograms"
    series = run.timeseries(kind, [metric])[metric]
    if series.attrs.get("kind") != "histogram":
        raise ResultError(f"{run.path}: {which} is not a histogram")
    counts = run.deltas(kind, metric, by="device").sum("time_ps")
    if not counts.values.any():
        raise ResultError(f"{run.path}: the histogram {which} is empty")
    bins = next(series[d] for d in series.dims if d.startswith("bin")).values
    if len(bins) > BINS:
        raise ResultError(f"{run.path}: the histogram {which} has {len(bins)} bins; at most {BINS} are drawn")
    return counts, series, bins


def _bin(bins, place, unit):
    """Label of a bin: below its upper border; the last bin has none."""
    border, sign = (bins[place + 1], "<") if place + 1 < len(bins) else (bins[place], "\N{GREATER-THAN OR EQUAL TO}")
    return f"{sign} {time_text(border * dict(TIMES)[unit]) if unit in dict(TIMES) else border}"
