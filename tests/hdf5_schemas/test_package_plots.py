# SPDX-License-Identifier: Apache-2.0
"""The plots of the Python package show the data of the file, with labels and units.

Usage: python3 test_package_plots.py PATH/TO/test_hdf5_schemas
FARFAULT_KEEP_PLOTS: folder in which the plots are kept for inspection.
"""
import os
import sys

import xarray

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sample_runs  # noqa: E402
from package_tests import copy, ff, h5py, main, numpy, refused, run, sample, write  # noqa: E402

try:
    import matplotlib.pyplot as plt
    import pandas
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)


def prepare(folder):
    return sample_runs.bfs(folder)


def drawn(figure, name):
    """Saves the plot if requested, and closes it; returns its axes and all its texts."""
    figure.canvas.draw()
    texts = [t.get_text() for t in figure.findobj(plt.Text) if t.get_text()]
    if "FARFAULT_KEEP_PLOTS" in os.environ:
        figure.savefig(os.path.join(os.environ["FARFAULT_KEEP_PLOTS"], f"{name}.png"))
    plt.close(figure)
    return figure.axes, texts


def stairs_of(axes):
    return {p.get_label(): p.get_data() for p in axes.patches if hasattr(p, "get_data")}


def the_timeline_has_every_kernel_and_a_line_for_each_gpu(path):
    result = ff.open(path)
    kernels = result.table("kernels")
    axes, texts = drawn(result.plot.timeline(["sm/instructions", "l2_tlb/misses"]), "timeline")
    assert len(axes) == 3 and "simulated time (us)" in texts and "kernels of bfs.h5" in texts, texts
    bars = [p for p in axes[0].patches if p.get_width() > 0]
    assert [round(b.get_x() * 1e6) for b in bars] == kernels["launched"].tolist()
    assert [round((b.get_x() + b.get_width()) * 1e6) for b in bars] == kernels["finished"].tolist()
    assert set(kernels["name"]) <= set(texts) and "sm: instructions (1/s)" in texts
    for a, (kind, metric) in zip(axes[1:], (("sm", "instructions"), ("l2_tlb", "misses"))):
        lines = stairs_of(a)
        assert list(lines) == ["gpu0", "gpu1", "gpu2", "gpu3"]
        for gpu, (rate, edges, _) in lines.items():
            total = numpy.nansum(rate * numpy.diff(edges) * 1e-6)
            assert round(total) == result.summary("gpu").loc[gpu, f"{kind}_{metric}"], (gpu, metric, total)


def many_gpus(path):
    other = os.path.join(os.path.dirname(path), "many.h5")
    if not os.path.exists(other):
        run(other, "machine.topology=dgx2", "workload.name=stream", "workload.stream.bytes=1MiB", "gpu.sms=2",
            "run.sample_interval=1us")
    return other


def the_timeline_of_many_gpus_shows_their_mean_and_range(path):
    axes, texts = drawn(ff.open(many_gpus(path)).plot.timeline(["sm/instructions"]), "timeline_many")
    assert {"all 16", "mean"} <= set(texts) and len(stairs_of(axes[1])) == 2


def kernels_of_several_applications_have_lanes(path):
    other = sample_runs.two_applications(os.path.dirname(path))
    axes, texts = drawn(ff.open(other).plot.timeline(), "timeline_two")
    assert [t.get_text() for t in axes[0].get_yticklabels()] == ["left", "right"]


def hit_rates_are_those_of_the_summary(path):
    result = ff.open(path)
    axes, texts = drawn(result.plot.hit_rates(), "hit_rates")
    assert {"L1 TLB", "L2 TLB", "L1 cache", "L2 cache", "hit rate (%)", "simulated time (us)"} <= set(texts), texts
    total = result.summary().loc["machine"]
    hits = result.deltas("sm", "l1_tlb_hits").sum("instance")
    misses = result.deltas("sm", "l1_tlb_misses").sum("instance")
    share = 100 * hits / (hits + misses).where(hits + misses > 0)
    assert hits.sum() == total["sm_l1_tlb_hits"] and misses.sum() == total["sm_l1_tlb_misses"]
    assert numpy.allclose(stairs_of(axes[0])["L1 TLB"].values, share.values, equal_nan=True)


def levels_of_tlbs_have_lines_by_name(path):
    other = os.path.join(os.path.dirname(path), "levels.h5")
    run(other, "machine.topology=single-gpu", "workload.name=stream", "workload.stream.bytes=1MiB", "gpu.sms=2", "run.sample_interval=1us",
        'gpu.translation.level=[{name = "utlb", sms = 1}, {name = "gpc_tlb"}]')
    axes, texts = drawn(ff.open(other).plot.hit_rates(), "hit_rates_levels")
    assert {"L1 TLB", "utlb", "gpc_tlb"} <= set(texts) and "L2 TLB" not in texts, texts
    looks = {line.get_label(): tuple(line.get_edgecolor()) for line in axes[0].patches}
    assert len({looks[name] for name in ("L1 TLB", "utlb", "gpc_tlb")}) == 3, looks


def many_samples_are_drawn_together(path):
    from farfault.plots.drawing import together

    counts = ff.open(path).deltas("sm", "l1_tlb_hits").sum("instance")
    few = together(counts, 7)
    assert few.sizes["time_ps"] <= 7 < counts.sizes["time_ps"] and few.sum() == counts.sum()
    assert few["start_ps"].values.tolist() == [0, *few["time_ps"].values[:-1]] and few["time_ps"][-1] == counts["time_ps"][-1]


def merged_intervals_have_equal_lengths_when_samples_have_not(path):
    from farfault.plots.drawing import together

    ends = numpy.cumsum([50] * 256 + [100] * 256 + [200] * 88)
    counts = xarray.DataArray(numpy.ones(len(ends)), {"time_ps": ends, "start_ps": ("time_ps", [0, *ends[:-1]])}, ("time_ps",))
    few = together(counts, 10)
    assert few["time_ps"].values.tolist() == [5600, 11200, 16800, 22400, 28000, 33600, 39200, 44800, 50400, 56000], few["time_ps"].values
    assert few.values.sum() == 600 and few.values[0] == 112 and few.values[-1] == 28
    assert few["start_ps"].values.tolist() == [0, *few["time_ps"].values[:-1]]


def fields_of(axes):
    """The values of a heat map, NaN for empty cells."""
    return numpy.ma.filled(axes.images[0].get_array().astype(float), numpy.nan)


def names_of(axes):
    return [t.get_text() for t in axes.get_yticklabels()]


def traffic_is_a_map_from_each_device_to_each_other(path):
    result = ff.open(path)
    axes, texts = drawn(result.plot.traffic(), "traffic")
    table = result.traffic()
    assert numpy.array_equal(numpy.nan_to_num(fields_of(axes[0])), table.to_numpy()) and (table.to_numpy() == 0).sum() == 9
    assert numpy.isnan(fields_of(axes[0])).sum() == 9 and names_of(axes[0]) == ["gpu0", "gpu1", "gpu2", "gpu3", "cpu0"]
    written = f"{table.loc['gpu0', 'gpu1'] / 1000:.1f} k"
    assert {"from", "to", "bytes", written, "bytes between devices, bfs.h5"} <= set(texts), texts
    axes, texts = drawn(result.plot.traffic("packets"), "packets")
    assert fields_of(axes[0])[0, 1] == result.traffic("packets").loc["gpu0", "gpu1"] and "packets" in texts


def a_map_of_more_devices_than_pixels_omits_none(path):
    from farfault.plots.heat import heat_map

    names = [f"gpu{g}" for g in range(1000)]
    table = pandas.DataFrame(numpy.zeros((1000, 1000), dtype="int64"), names, names)
    table.loc["gpu7", "gpu5"], table.loc["gpu999", "gpu0"] = 300, 5
    figure = heat_map(table, "from", "bytes", "to", "traffic")
    axes, texts = drawn(figure, "map_of_many")
    shown = fields_of(axes[0])
    assert shown.shape == (250, 250) and numpy.nansum(shown) == 305 and shown[1, 1] == 300 and shown[249, 0] == 5
    assert "traffic\neach cell: 4 x 4 entries, named after the first" in texts and names_of(axes[0])[1] == "gpu32", texts
    pixels = numpy.asarray(figure.canvas.buffer_rgba())[..., :3].reshape(-1, 3)
    for amount in (5, 300):
        colour = numpy.round(255 * numpy.array(axes[0].images[0].to_rgba(amount)[:3]))
        assert (numpy.abs(pixels - colour).max(axis=1) <= 1).any(), amount


def placement_is_a_map_of_buffers_and_devices(path):
    result = ff.open(path)
    axes, texts = drawn(result.plot.placement(), "placement")
    assert names_of(axes[0]) == ["levels", "row_offsets", "columns", "flag"] and {"buffer", "device", "pages"} <= set(texts)
    assert numpy.array_equal(numpy.nan_to_num(fields_of(axes[0])), result.placement().to_numpy())
    cluster = ff.open(sample_runs.cluster(os.path.dirname(path)))
    axes, texts = drawn(cluster.plot.placement(), "placement_cluster")
    assert names_of(axes[0])[0] == "m0 left array" and len(names_of(axes[0])) == len(cluster.placement())


def links_have_a_bar_for_each_direction_the_busiest_first(path):
    links = ff.open(path).links()
    axes, texts = drawn(ff.open(path).plot.links(), "links")
    there, back = ([p.get_width() for p in bars.patches] for bars in axes[0].containers)
    assert len(there) == len(back) == 7 and "utilization (%)" in texts
    assert numpy.allclose(sorted([*there, *back]), sorted(100 * links["busy"]))
    most = [max(pair) for pair in zip(there, back)]
    assert most == sorted(most, reverse=True) and numpy.isclose(most[0], 100 * links["busy"].max())
    for name, to, fro in zip(names_of(axes[0]), there, back):
        a, b = name.split(" \N{LEFT RIGHT ARROW} ")
        for (start, end), width in (((a, b), to), ((b, a), fro)):
            row = links[(links["from"] == start) & (links["to"] == end)]
            assert numpy.isclose(100 * row["busy"].iloc[0], width), name


def only_the_busiest_of_many_links_are_drawn(path):
    result = ff.open(many_gpus(path))
    axes, texts = drawn(result.plot.links(), "links_many")
    number = result.links()["link"].nunique()
    assert len(names_of(axes[0])) == 30 < number and f"the 30 busiest of {number} links of many.h5" in texts, texts


def the_latency_stack_adds_up_to_the_mean_time_of_an_access(path):
    result = ff.open(path)
    for by in ("gpu", "application", "kernel", "machine"):
        table = result.latency(by)
        axes, texts = drawn(result.plot.latency_stack(by), f"latency_stack_{by}")
        assert "average access time (ns)" in texts and "latency stack of bfs.h5" in texts, texts
        ends = [p.get_x() + p.get_width() for p in axes[0].containers[-1].patches]
        assert numpy.allclose(ends, table["access_time"] / table["transactions"] / 1000), (by, ends)
        assert names_of(axes[0]) == table.index.tolist()
        assert {"interconnect links", "page walks"} <= set(texts) and "page faults" not in texts, texts
        assert table["walk_queue"].any() and "page-walk queue" not in texts, "too short to be visible"


def unfinished_accesses_are_a_part_of_the_stack(path):
    stopped = ff.open(sample_runs.stopped(os.path.dirname(path)))
    table = stopped.latency("machine")
    axes, texts = drawn(stopped.plot.latency_stack("machine"), "latency_stopped")
    assert "outstanding accesses" in texts
    last = axes[0].containers[-1].patches[0]
    assert numpy.isclose(last.get_x() + last.get_width(), (table["access_time"] / table["transactions"]).iloc[0] / 1000)


def many_bars_are_one_area(path):
    other = copy(path, "bars.h5")
    names = [f"gpu{g}" for g in range(300)]
    with h5py.File(other, "r+") as f:
        figures = [n for n in f["summary/gpu"] if n != "name"]
        del f["summary/gpu"]
        summary = f.create_group("summary/gpu")
        write(summary, "name", names, "name")
        for figure in figures:
            write(summary, figure, numpy.zeros(300, "u8"), "name", "ps")
        summary["sm_time_in_walk"][:] = numpy.arange(300, dtype="u8") * 10_000_000
        summary["sm_time_in_dram"][:] = 2_000_000_000
        summary["sm_access_time"][:] = 2_000_000_000 + summary["sm_time_in_walk"][:]
        summary["sm_transactions"][:] = 1000
    axes, texts = drawn(ff.open(other).plot.latency_stack(), "latency_many")
    assert not axes[0].patches and axes[0].dataLim.x1 == 2 + 2.99, axes[0].dataLim
    assert "average access time (us)" in texts and {"page walks", "DRAM"} <= set(texts)
    assert names_of(axes[0])[0] == "gpu0" and len(names_of(axes[0])) < 50


def with_kernels(path, name, count, applications=None):
    """A copy with `count` kernels of 900 us each."""
    other = copy(path, name)
    with h5py.File(other, "r+") as f:
        kernels = f["tables/kernels"]
        columns = {n: kernels[n].dtype.kind for n in kernels}
        del f["tables/kernels"]
        kernels = f.create_group("tables/kernels")
        numbers = numpy.arange(count, dtype="u8")
        for column, kind in columns.items():
            write(kernels, column, numpy.full(count, "k", "U8") if kind == "S" else numbers + 1, units="ps")
        kernels["launched"][:], kernels["finished"][:] = numbers * 10**9, numbers * 10**9 + 900_000_000
        if applications:
            write(kernels, "application", [f"a{n % applications}" for n in range(count)])
    return ff.open(other)


def many_consecutive_kernels_are_one_bar(path):
    result = with_kernels(path, "kernels.h5", 12_000)
    axes, texts = drawn(result.plot.timeline([]), "kernels_many")
    bars = [p for p in axes[0].patches if p.get_width() > 0]
    assert len(bars) == 4000 and "kernels of kernels.h5\neach bar: up to 3 kernels, named after the first" in texts, (len(bars), texts)
    assert numpy.allclose([bars[0].get_x(), bars[0].get_width(), bars[-1].get_x() + bars[-1].get_width()], [0, 0.0029, 11.9999])
    axes, texts = drawn(result.plot.latency_stack("kernel"), "latency_many_kernels")
    assert "latency stack of kernels.h5\neach bar: 6 consecutive rows, named after the first" in texts and not axes[0].patches, texts
    assert axes[0].dataLim.y1 == 1999


def too_much_for_a_plot_is_refused(path):
    refused(lambda: with_kernels(path, "lanes.h5", 1001, 1001).plot.timeline([]), "1001 combinations of application, stream and machine; at most 1000")
    lanes = with_kernels(path, "lanes.h5", 1000, 1000).plot.timeline([])
    assert lanes.get_size_inches()[1] < 60 and len(drawn(lanes, "lanes")[0][0].get_yticks()) == 100
    other = copy(path, "bins.h5")
    with h5py.File(other, "r+") as f:
        series = f["timeseries/l2_tlb"]
        write(series, "bin_513", numpy.arange(513), "bin_513")
        d = write(series, "wide", numpy.ones((len(series["time_ps"]), len(series["instance"]), 513), "u8"), kind="histogram")
        for dim, scale in zip(d.dims, ("time_ps", "instance", "bin_513")):
            dim.attach_scale(series[scale])
    refused(lambda: ff.open(other).plot.latency_histogram("l2_tlb/wide"), "has 513 bins; at most 512")

    class Sweep:
        path, figures, parameters, settings, mean_over = "sweep", ["end"], ["x", "y"], [], None

        def is_ratio(self, _):
            return False

        def dimensions(self, _):
            return self.parameters

        def table(self, _):
            table = pandas.DataFrame({"x": [1] * 1001, "y": range(1001), "state": "done", "end": 1.0})
            table.attrs = {"units": {"end": "1"}, "long_name": {"end": "end"}}
            return table

    from farfault.plots.sweep import figure_over_parameters
    refused(lambda: figure_over_parameters(Sweep(), "end"), "end over x has 1001 lines; at most 1000")
    axes, _ = drawn(figure_over_parameters(Sweep(), "end", "y"), "many_places")
    assert len(axes[0].get_xticks()) < 100


def names_are_plain_text_in_a_plot(path):
    other = copy(path, "names.h5")
    with h5py.File(other, "r+") as f:
        kernels = f["tables/kernels"]
        count = len(kernels["name"])
        del kernels["name"]
        write(kernels, "name", ["$\\frac{" + "x" * 5000 + "$\n"] * count, "row")
    axes, texts = drawn(ff.open(other).plot.timeline(), "names")
    assert any(t.startswith("\\$\\frac{xxx") and len(t) < 70 for t in texts), texts


def sm_activity_is_in_shares_of_sm_time(path):
    result = ff.open(path)
    table = result.stalls()
    axes, texts = drawn(result.plot.stalls(), "stalls")
    assert {"share of SM time (%)", "executing", "memory stall", "idle"} <= set(texts), texts
    assert numpy.allclose([p.get_width() for p in axes[0].containers[0].patches], 100 * table["active"] / table["sm_time"])
    assert numpy.allclose([p.get_x() + p.get_width() for p in axes[0].containers[-1].patches], 100)


def accesses_over_time_are_stacked_by_stage(path):
    result = ff.open(path)
    axes, texts = drawn(result.plot.latency_over_time("gpu1"), "latency_over_time")
    assert {"outstanding accesses", "accesses of gpu1 in bfs.h5", "interconnect links"} <= set(texts), texts
    tops = [p.get_data() for p in axes[0].patches if hasattr(p, "get_data")]
    spent = numpy.nansum((tops[-1].values) * numpy.diff(tops[-1].edges)) * 1e6  # edges are in us
    assert numpy.isclose(spent, result.latency().loc["gpu1", "access_time"], rtol=1e-6), spent


def latencies_are_a_histogram_of_each_gpu_and_of_all(path):
    result = ff.open(path)
    axes, texts = drawn(result.plot.latency_histogram(), "latency_histogram")
    loads = result.timeseries("sm.by_gpu.histograms", ["load_latency"])["load_latency"].isel(time_ps=-1).values
    whole = [p.get_height() for p in axes[0].patches]
    filled = numpy.flatnonzero(loads.sum(axis=0))
    assert numpy.allclose(whole, 100 * loads.sum(axis=0)[filled[0]:filled[-1] + 1] / loads.sum())
    assert numpy.isclose(sum(whole), 100)
    bins = result.timeseries("sm.by_gpu.histograms", ["load_latency"])["bin"].values
    label = f"< {ff.units.time_text(bins[filled[0] + 1] * 1)}"
    assert {"all", "gpu0", "gpu3", "share (%)", label} <= set(texts) and len(axes[0].lines) == 4, texts
    assert len(axes[0].get_xticklabels()) <= 24 < len(whole), (len(axes[0].get_xticklabels()), len(whole))
    assert numpy.allclose([sum(line.get_ydata()) for line in axes[0].lines], 100)
    axes, texts = drawn(result.plot.latency_histogram("gmmu/walk_latency"), "walk_histogram")
    assert numpy.isclose(sum(p.get_height() for p in axes[0].patches), 100)
    faults = ff.open(sample_runs.faults(os.path.dirname(path)))
    axes, texts = drawn(faults.plot.latency_histogram("iommu/fault_latency"), "fault_histogram")
    assert "Time from a page fault to the driver's response, faults.h5" in texts, texts
    refused(lambda: result.plot.latency_histogram("iommu/fault_latency"), "the histogram iommu/fault_latency is empty")
    refused(lambda: result.plot.latency_histogram("load_latency"), '"iommu/fault_latency"', "'load_latency'")
    refused(lambda: result.plot.latency_histogram("sm/instructions"), "sm/instructions is not a histogram")


def a_result_without_the_data_is_refused_in_one_sentence(path):
    earlier = ff.open(sample_runs.without_new_data(path)).plot
    for plot in (earlier.latency_stack, earlier.stalls, earlier.traffic, earlier.links, earlier.placement,
                 earlier.latency_histogram, earlier.latency_over_time):
        refused(plot, "earlier.h5: it has no", "written by an earlier version")
    bare = copy(path, "bare.h5")
    with h5py.File(bare, "r+") as f:
        for name in ("timeseries", "tables"):
            del f[name]
        f["summary/gpu/sm_transactions"][:] = 0
    plots = ff.open(bare).plot
    for plot, what in ((plots.hit_rates, "no time series"), (plots.timeline, "'sm'"), (plots.latency_stack, "no SM accessed memory"),
                       (plots.traffic, "no traffic between devices"), (plots.links, "no links"), (plots.placement, "no device has pages")):
        refused(plot, "bare.h5", what)
    refused(lambda: ff.open(path).plot.timeline(["instructions"]), '"sm/instructions"', "'instructions'")


def a_run_that_has_just_begun_draws_empty_axes(path):
    folder = os.path.dirname(path)
    sample(folder)
    cut_off = ff.open(os.path.join(folder, "cut_off.h5.partial"))
    axes, texts = drawn(cut_off.plot.timeline(["driver/batches"]), "cut_off")
    assert any("incomplete run" in t for t in texts), texts


TESTS = (the_timeline_has_every_kernel_and_a_line_for_each_gpu, the_timeline_of_many_gpus_shows_their_mean_and_range,
         kernels_of_several_applications_have_lanes, hit_rates_are_those_of_the_summary, levels_of_tlbs_have_lines_by_name, many_samples_are_drawn_together,
         merged_intervals_have_equal_lengths_when_samples_have_not,
         traffic_is_a_map_from_each_device_to_each_other, a_map_of_more_devices_than_pixels_omits_none,
         placement_is_a_map_of_buffers_and_devices,
         links_have_a_bar_for_each_direction_the_busiest_first, only_the_busiest_of_many_links_are_drawn,
         the_latency_stack_adds_up_to_the_mean_time_of_an_access, unfinished_accesses_are_a_part_of_the_stack,
         many_bars_are_one_area, many_consecutive_kernels_are_one_bar, too_much_for_a_plot_is_refused, names_are_plain_text_in_a_plot, sm_activity_is_in_shares_of_sm_time, accesses_over_time_are_stacked_by_stage,
         latencies_are_a_histogram_of_each_gpu_and_of_all, a_result_without_the_data_is_refused_in_one_sentence,
         a_run_that_has_just_begun_draws_empty_axes)

if __name__ == "__main__":
    sys.exit(main(TESTS, prepare))
