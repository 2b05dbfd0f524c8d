# SPDX-License-Identifier: Apache-2.0
"""Two results side by side: the same axes, the same order and the same colours."""
import numpy
import pandas

from ..errors import ResultError
from ..units import time_text
from . import bars, drawing, hit_rates, latency, timeline


def latency_stack(pair, by):
    tables, note = _same_rows([run.latency(by) for run in pair.runs], pair.names)
    means = [bars.mean_times(run, table) for run, table in zip(pair.runs, tables)]
    size, quantity = bars.access_axis(means)
    return _stacks(pair, by, [mean / size for mean in means], quantity, "latency stacks", note, [~t["transactions"].isna() for t in tables])


def stalls(pair, by):
    tables, note = _same_rows([run.stalls(by) for run in pair.runs], pair.names)
    there = [~t[t.columns[-1]].isna() for t in tables]
    return _stacks(pair, by, [bars.shares(t) for t in tables], bars.share_axis(tables[0]), "SM time by activity", note, there)


def _same_rows(tables, names):
    """Both tables with the rows of both, in the order of the first table. A row that a table lacks is NaN."""
    if all(len(table) == 1 for table in tables):
        return tables, ""
    if not all(table.index.is_unique for table in tables):
        raise ResultError(f"{' and '.join(names)}: rows have the same name")
    order = list(dict.fromkeys([*tables[0].index, *tables[1].index]))
    tables = [table.reindex(order) for table in tables]
    if len(order) <= bars.BARS:
        return tables, ""
    together = [bars.together(table) for table in tables]
    return [table for table, _ in together], together[0][1]


def _stacks(pair, by, tables, quantity, heading, note, there):
    longest = max(table.sum(axis=1).max() for table in tables)
    if all(len(table) == 1 for table in tables):
        figure, axes = drawing.single(9, bars.height_of(2))
        bars.stack(axes, _one_table(tables, pair.names), quantity)
        axes.set_ylabel("result")
        drawing.head(axes, heading, note)
        drawing.legend(axes)
        return figure
    figure, (axes,) = drawing.panels(1, 2, width=12.0, height=bars.height_of(len(tables[0])) + 0.3, sharey=True)
    for one, table, known, name in zip(axes, tables, there, pair.names):
        bars.stack(one, table, quantity, longest)
        if len(table) <= bars.SEPARATE:
            for row in numpy.flatnonzero(~known.to_numpy()):
                one.text(0.01 * longest, row, f"not in {drawing.words(name)}", va="center", fontsize=figure.style.sizes.small, color="0.4")
    axes[0].set_ylabel(bars.ROWS[by])
    drawing.head_pair(axes, pair.names, "\n".join(t for t in (heading, note) if t))
    drawing.legend(axes[1], axes[0])
    return figure


def _one_table(tables, names):
    """Tables of one row each as one table, its rows named after the results."""
    return pandas.concat(tables).set_axis(list(names))


def latency_over_time(pair, gpu, application):
    found = [latency.accesses_of(run, gpu, application) for run in pair.runs]
    figure, (axes,) = drawing.panels(1, 2, heights=[1.6], width=12.0, sharey=True)
    size = _time_axes(axes, max(int(a["time_ps"].max(initial=0)) for a in found))
    for one, accesses in zip(axes, found):
        latency.draw_accesses(one, accesses, size)
    drawing.count_axis(axes[0], "outstanding accesses", "1")
    whose = " of ".join(["outstanding accesses", *(drawing.words(w) for w in (gpu, application) if w is not None)])
    drawing.head_pair(axes, pair.names, whose)
    drawing.legend(axes[1], axes[0])
    return figure


def both_hit_rates(pair):
    found = [hit_rates.read(run) for run in pair.runs]
    figure, (axes,) = drawing.panels(1, 2, heights=[1.6], width=12.0, sharey=True)
    size = _time_axes(axes, max(hit_rates.end_of(f) for f in found))
    for one, levels in zip(axes, found):
        hit_rates.draw(one, levels, size)
    axes[0].set_ylabel("hit rate (%)")
    drawing.head_pair(axes, pair.names, "hit rates")
    drawing.legend(axes[1], axes[0])
    return figure


def both_timelines(pair, rates, logy):
    contents = [timeline.Content(run, rates, logy) for run in pair.runs]
    figure, columns = timeline.by_column(2, contents)
    order = list(dict.fromkeys(name for content in contents for name, _ in content.lanes))
    names = list(dict.fromkeys(n for content in contents for n in content.kernel_names()))
    size = _time_axes([column[-1] for column in columns], max(content.end for content in contents))
    for column, content in zip(columns, contents):
        timeline.draw_kernels(column[0], content.lanes, order, names, size)
    columns[0][0].set_ylabel(contents[0].whose)
    for column, content in zip(columns, contents):
        for axes, rate in zip(column[1:], content.rates):
            timeline.draw_rate(axes, rate, size)
    for row, rate in enumerate(contents[0].rates, start=1):
        drawing.count_axis(columns[0][row], rate.attrs["kind_and_name"], rate.attrs["units"], logy)
    notes = [content.note for content in contents if content.note]
    drawing.head_pair([column[0] for column in columns], pair.names, "\n".join(["kernels", *notes[:1]]))
    for row in range(len(columns[0])):
        drawing.legend(columns[1][row], columns[0][row])
    return figure


def rate(pair, name, logy):
    """A rate of the whole machine, a line for each result."""
    found = [timeline.read_rate(run, name) for run in pair.runs]
    figure, ((axes,),) = drawing.panels(1, heights=[1.6])
    size = drawing.time_axis(axes, max(int(r["time_ps"].max(initial=0)) for r in found))
    for i, (run, label, of_run) in enumerate(zip(pair.runs, pair.names, found)):
        whole = of_run.sum("device")
        if logy:
            drawing.check_positive(whole.values, run.path, of_run.attrs["kind_and_name"], "logy",
                                   [f"the interval that ends at {time_text(t)}" for t in whole["time_ps"].values])
        axes.stairs(whole.values, drawing.edges(of_run, size), baseline=None, label=drawing.words(label), linewidth=1.4,
                    **figure.style.line(i))
    drawing.count_axis(axes, found[0].attrs["kind_and_name"], found[0].attrs["units"], logy)
    axes.grid(alpha=0.3)
    drawing.head(axes, f"{found[0].attrs['kind_and_name']} of the whole machine")
    drawing.legend(axes)
    return figure


def latency_histogram(pair, which, logy):
    """Bars of both results in the same bins."""
    found = [latency.histogram(run, which) for run in pair.runs]
    (_, series, bins), (_, _, others) = found
    if not numpy.array_equal(bins, others):
        raise ResultError(f"{pair.path}: the bins of {which} differ")
    whole = [counts.values.sum(axis=0) for counts, _, _ in found]
    at = latency.filled(whole[0] + whole[1])
    figure, axes = drawing.single(8, 3.6)
    for i, (name, entries) in enumerate(zip(pair.names, whole)):
        axes.bar(at + (i - 0.5) * 0.42, 100 * entries[at] / entries.sum(), 0.42, label=drawing.words(name), **figure.style.area(i))
    latency.histogram_axes(axes, series, bins, at, logy)
    drawing.head(axes, drawing.words(series.attrs["long_name"]))
    drawing.legend(axes)
    return figure


def _time_axes(axes, longest):
    return [drawing.time_axis(one, longest) for one in axes][0]
