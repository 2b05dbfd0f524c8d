# SPDX-License-Identifier: Apache-2.0
"""Plots of two results side by side have shared axes, one order, one set of colours, and the names of both results.

Usage: python3 test_package_pairs.py PATH/TO/test_hdf5_schemas
FARFAULT_KEEP_PLOTS: folder in which the plots are kept for inspection.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sample_runs  # noqa: E402
from package_tests import copy, ff, h5py, main, numpy, refused, run  # noqa: E402

try:
    import matplotlib.pyplot as plt
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)


class Results:
    """Two searches with different page placement, and two applications on one machine and on a cluster of two."""

    def __init__(self, folder):
        self.a = sample_runs.bfs(folder)
        self.b = run(os.path.join(folder, "near.h5"), *sample_runs.BFS, "memory.placement=contiguous")
        self.two, self.cluster = sample_runs.two_applications(folder), sample_runs.cluster(folder)

    def pair(self, names=("interleaved", "contiguous")):
        return ff.pair(self.a, self.b, names)


def drawn(figure, name):
    figure.canvas.draw()
    if "FARFAULT_KEEP_PLOTS" in os.environ:
        figure.savefig(os.path.join(os.environ["FARFAULT_KEEP_PLOTS"], f"{name}.png"))
    plt.close(figure)
    return figure.axes


def rows_of(axes):
    return [t.get_text() for t in axes.get_yticklabels()]


def ends_of(axes):
    return [p.get_x() + p.get_width() for p in axes.containers[-1].patches]


def mean_ns(result, by):
    table = result.latency(by)
    return (table["access_time"] / table["transactions"] / 1000).tolist()


def one_machine_has_a_bar_for_each_result(results):
    pair = results.pair()
    (axes,) = drawn(pair.plot.latency_stack(), "pair_stack")
    assert rows_of(axes) == ["interleaved", "contiguous"] and axes.get_ylabel() == "result"
    assert numpy.allclose(ends_of(axes), [mean_ns(r, "machine")[0] for r in pair.runs])
    assert axes.get_xlabel() == "average access time (ns)"
    (axes,) = drawn(pair.plot.stalls(), "pair_stalls")
    assert numpy.allclose(ends_of(axes), 100) and axes.get_xlabel() == "share of SM time (%)"


def panels_share_rows_and_scale(results):
    pair = results.pair()
    a, b = drawn(pair.plot.latency_stack("gpu"), "pair_stack_gpu")
    assert (a.get_title(), b.get_title()) == ("interleaved", "contiguous") and rows_of(a) == ["gpu0", "gpu1", "gpu2", "gpu3"]
    assert a.get_xlim() == b.get_xlim() and a.get_ylim() == b.get_ylim() and a.get_xlabel() == b.get_xlabel()
    assert numpy.isclose(a.get_xlim()[1], 1.02 * max(*mean_ns(pair.runs[0], "gpu"), *mean_ns(pair.runs[1], "gpu")))
    for axes, one in zip((a, b), pair.runs):
        assert numpy.allclose(ends_of(axes), mean_ns(one, "gpu"))


def a_row_that_one_result_lacks_is_named_there(results):
    pair = ff.pair(results.cluster, results.two)
    a, b = drawn(pair.plot.latency_stack("kernel"), "pair_kernels")
    own = [r.latency("kernel").index.tolist() for r in pair.runs]
    assert rows_of(a) == [*own[0], *(n for n in own[1] if n not in own[0])], rows_of(a)
    for axes, name, there in zip((a, b), pair.names, own):
        missing = [i for i, row in enumerate(rows_of(a)) if row not in there]
        marks = [(t.get_text(), t.get_position()[1]) for t in axes.texts]
        assert marks == [(f"not in {name}", i) for i in missing] and missing, marks
    a, b = drawn(pair.plot.stalls("application"), "pair_applications")
    assert rows_of(a) == ["left", "right"] and a.get_ylabel() == "application" and not [*a.texts, *b.texts]
    assert a.get_xlabel() == "share of resident time (%)"


def timelines_share_time_lanes_and_colours(results):
    pair = results.pair()
    axes = drawn(pair.plot.timeline(["sm/instructions"]), "pair_timeline")
    (a, b), (rate_a, rate_b) = axes[:2], axes[2:]
    kernels = [r.table("kernels") for r in pair.runs]
    unit = 10**6 if rate_a.get_xlabel() == "simulated time (us)" else 10**9
    assert rate_a.get_xlabel() == rate_b.get_xlabel() and a.get_xlim() == b.get_xlim() == rate_a.get_xlim() == rate_b.get_xlim()
    colours = []
    for panel, table in zip((a, b), kernels):
        bars = [p for p in panel.patches if p.get_width() > 0]
        assert numpy.allclose([bar.get_x() * unit for bar in bars], table["launched"])
        assert numpy.allclose([(bar.get_x() + bar.get_width()) * unit for bar in bars], table["finished"])
        colours.append(dict(zip(table["name"], (bar.get_facecolor() for bar in bars))))
    assert colours[0] == colours[1] and len(colours[0]) > 2
    assert rate_a.get_ylim() == rate_b.get_ylim() and rate_a.get_ylabel() == "sm: instructions (1/s)"
    for panel, one in zip((rate_a, rate_b), pair.runs):
        of_gpus = [p.get_data() for p in panel.patches if hasattr(p, "get_data")]
        totals = [round(numpy.nansum(d.values * numpy.diff(d.edges) * unit * 1e-12)) for d in of_gpus]
        assert totals == one.summary("gpu")["sm_instructions"].tolist()


def clusters_and_applications_have_the_lanes_of_both(results):
    axes = drawn(ff.pair(results.cluster, results.two).plot.timeline([]), "pair_lanes")
    assert rows_of(axes[0]) == ["m0 left", "m1 left", "m0 right", "m1 right", "left", "right"], rows_of(axes[0])
    assert axes[0].get_ylabel() == "machine, application" and axes[0].get_ylim() == axes[1].get_ylim()
    lanes = [{round(p.get_y() + p.get_height() / 2) for p in a.patches if p.get_width() > 0} for a in axes[:2]]
    assert lanes == [{0, 1, 2, 3}, {4, 5}], lanes


def series_share_their_axes(results):
    pair = results.pair()
    for figure, unit in ((pair.plot.hit_rates(), "hit rate (%)"), (pair.plot.latency_over_time("gpu1"), "outstanding accesses")):
        a, b = drawn(figure, "pair_" + unit.split()[0])
        assert a.get_xlim() == b.get_xlim() and a.get_ylim() == b.get_ylim() and a.get_ylabel() == unit and "simulated time (" in b.get_xlabel()
        assert (a.get_title(), b.get_title()) == pair.names
    (axes,) = drawn(pair.plot.rate("sm/instructions"), "pair_rate")
    lines = {p.get_label(): p.get_data() for p in axes.patches}
    assert list(lines) == list(pair.names)
    size = 1e-6 if "(us)" in axes.get_xlabel() else 1e-3
    for (rate, edges, _), one in zip(lines.values(), pair.runs):
        assert round(numpy.nansum(rate * numpy.diff(edges)) * size) == one.summary()["sm_instructions"].iloc[0]


def distributions_have_the_same_bins(results):
    pair = results.pair()
    (axes,) = drawn(pair.plot.latency_histogram(logy=True), "pair_histogram")
    assert axes.get_yscale() == "log" and [c.get_label() for c in axes.containers] == list(pair.names)
    for bars, one in zip(axes.containers, pair.runs):
        entries = one.timeseries("sm.by_gpu.histograms", ["load_latency"])["load_latency"].isel(time_ps=-1).values.sum(axis=0)
        shares = [p.get_height() for p in bars]
        assert numpy.isclose(sum(shares), 100) and numpy.allclose([s for s in shares if s], 100 * entries[entries > 0] / entries.sum())


def names_are_those_of_the_files_or_of_the_user(results):
    assert ff.pair(results.a, results.b).names == ("bfs.h5", "near.h5")
    folder = os.path.dirname(results.a)
    for name in ("x", "y"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        copy(results.a, os.path.join(name, "run.h5"))
    pair = ff.pair(os.path.join(folder, "x", "run.h5"), ff.open(os.path.join(folder, "y", "run.h5")))
    assert pair.names == (os.path.join("x", "run.h5"), os.path.join("y", "run.h5")) and "x" in repr(pair)
    assert ff.pair(results.a, results.a).names == ("bfs.h5", "bfs.h5 (again)")
    refused(lambda: results.pair(("same", "same")), "two different texts")
    refused(lambda: results.pair(("one",)), "two different texts")


def a_logarithmic_axis_refuses_values_of_zero(results):
    one = ff.open(results.a)
    refused(lambda: one.plot.timeline(["l2_tlb/misses"], logy=True), "bfs.h5: l2_tlb: misses of gpu", "is 0; a logarithmic axis needs values above 0, so logy must be False")
    axes = drawn(one.plot.links(logx=True), "links_log")[0] if (one.links()["busy"] > 0).all() else None
    assert axes is not None and axes.get_xscale() == "log"
    other = copy(results.a, "idle.h5")
    with h5py.File(other, "r+") as f:
        f["tables/links/busy_time"][0] = 0
    refused(lambda: ff.open(other).plot.links(logx=True), "the utilization ", "is 0; a logarithmic axis", "logx must be False")
    axes = drawn(one.plot.latency_histogram(logy=True), "histogram_log")[0]
    assert axes.get_yscale() == "log" and numpy.isclose(sum(p.get_height() for p in axes.patches), 100)


TESTS = (one_machine_has_a_bar_for_each_result, panels_share_rows_and_scale, a_row_that_one_result_lacks_is_named_there,
         timelines_share_time_lanes_and_colours, clusters_and_applications_have_the_lanes_of_both, series_share_their_axes,
         distributions_have_the_same_bins, names_are_those_of_the_files_or_of_the_user, a_logarithmic_axis_refuses_values_of_zero)

if __name__ == "__main__":
    sys.exit(main(TESTS, lambda folder: Results(folder)))
