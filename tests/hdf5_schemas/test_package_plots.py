"""The plots of the Python package draw what the file holds, with labels and units.

Usage: python3 test_package_plots.py PATH/TO/test_hdf5_schemas
FARFAULT_KEEP_PLOTS names a folder in which the pictures are kept, to be looked at.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from package_tests import copy, ff, h5py, main, numpy, refused, run, sample, write  # noqa: E402

try:
    import matplotlib.pyplot as plt
except ModuleNotFoundError:
    print("skipped: matplotlib: this Python does not have it")
    sys.exit(77)

STAGES = ("l1_tlb", "l2_tlb", "walk", "iommu", "link", "l2_slice", "dram", "fault", "other")
REASONS = ("memory", "translation", "fault", "barrier", "idle")


def prepare(folder):
    path = run(os.path.join(folder, "run.h5"), "workload.name=bfs", "workload.bfs.rmat.scale=10",
               "memory.placement=interleave", "run.sample_interval=4us", "--threads", "2")
    with h5py.File(path, "r+") as f:
        add_what_happened(f)
    return path


def add_what_happened(f):
    """A latency stack, stall reasons and traffic, with sums that are easy to check."""
    gpus = [f"gpu{g}" for g in range(4)]
    names = ["machine", *gpus, *[f"{g}/bfs" for g in gpus], "bfs"]
    scopes = ["machine"] + ["gpu"] * 8 + ["application"]
    latency = f.create_group("summary/latency")
    write(latency, "name", names, "name", long_name="whose")
    write(latency, "scope", scopes, "name", long_name="what it is")
    for i, stage in enumerate(STAGES):
        write(latency, stage, numpy.arange(1, 11, dtype="u8") * (i + 1) * 10_000_000, "name", "ps", f"time in {stage}")
    write(latency, "transactions", numpy.arange(1, 11, dtype="u8") * 1000, "name", long_name="memory transactions")
    stalls = f.create_group("summary/stalls")
    write(stalls, "name", gpus, "name", long_name="whose")
    for i, reason in enumerate(REASONS):
        write(stalls, reason, numpy.full(4, (i + 1) * 1000, "u8"), "name", "ps", f"time stalled: {reason}")
    devices = [*gpus, "cpu0"]
    pairs = [(a, b) for a in devices for b in devices if a != b and "cpu0" != a]
    traffic = f.create_group("summary/traffic")
    write(traffic, "pair", numpy.arange(len(pairs), dtype="u8"), "pair", long_name="number of the pair")
    write(traffic, "from", [a for a, _ in pairs], "pair", long_name="sender")
    write(traffic, "to", [b for _, b in pairs], "pair", long_name="receiver")
    write(traffic, "bytes", numpy.arange(1, len(pairs) + 1, dtype="u8") ** 3 * 1000, "pair", "byte", "bytes sent")
    write(traffic, "packets", numpy.arange(1, len(pairs) + 1, dtype="u8"), "pair", long_name="packets sent")


def drawn(figure, name):
    """Keeps the picture where it is wanted, and closes it; returns its axes and every text on it."""
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
    assert len(axes) == 3 and "simulated time (us)" in texts and "kernels of run.h5" in texts, texts
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


def the_timeline_of_many_gpus_shows_their_mean_and_range(path):
    other = os.path.join(os.path.dirname(path), "many.h5")
    run(other, "machine.topology=dgx2", "workload.name=stream", "workload.stream.bytes=1MiB", "gpu.sms=2",
        "run.sample_interval=1us")
    axes, texts = drawn(ff.open(other).plot.timeline(["sm/instructions"]), "timeline_many")
    assert {"all 16", "mean"} <= set(texts) and len(stairs_of(axes[1])) == 2


def kernels_of_several_applications_have_lanes(path):
    config = os.path.join(os.path.dirname(path), "two.toml")
    with open(config, "w") as f:
        f.write('include = ["paper-gmmu-bypass"]\n')
        for name, size in (("left", "64 KiB"), ("right", "128 KiB")):
            f.write(f'[[application]]\nname = "{name}"\nworkload = "stream"\nstream.bytes = "{size}"\nsms = 4\n')
    other = run(os.path.join(os.path.dirname(path), "two.h5"), config=config)
    axes, texts = drawn(ff.open(other).plot.timeline(), "timeline_two")
    assert [t.get_text() for t in axes[0].get_yticklabels()] == ["left", "right"]


def hit_rates_are_those_of_the_summary(path):
    result = ff.open(path)
    axes, texts = drawn(result.plot.hit_rates(), "hit_rates")
    assert {"L1 TLB", "L2 TLB", "L1 cache", "L2 cache", "hits (%)", "simulated time (us)"} <= set(texts), texts
    total = result.summary().loc["machine"]
    hits = result.deltas("sm", "l1_tlb_hits").sum("instance")
    misses = result.deltas("sm", "l1_tlb_misses").sum("instance")
    share = 100 * hits / (hits + misses).where(hits + misses > 0)
    assert hits.sum() == total["sm_l1_tlb_hits"] and misses.sum() == total["sm_l1_tlb_misses"]
    assert numpy.allclose(stairs_of(axes[0])["L1 TLB"].values, share.values, equal_nan=True)


def many_samples_are_drawn_together(path):
    from farfault.plots.drawing import together

    counts = ff.open(path).deltas("sm", "l1_tlb_hits").sum("instance")
    few = together(counts, 7)
    assert few.sizes["time_ps"] <= 7 < counts.sizes["time_ps"] and few.sum() == counts.sum()
    assert few["start_ps"].values.tolist() == [0, *few["time_ps"].values[:-1]] and few["time_ps"][-1] == counts["time_ps"][-1]


def traffic_is_a_map_from_each_device_to_each_other(path):
    axes, texts = drawn(ff.open(path).plot.traffic(), "traffic")
    shown = axes[0].images[0].get_array()
    assert shown.shape == (5, 5) and numpy.ma.count_masked(numpy.ma.masked_invalid(shown)) == 9
    assert [t.get_text() for t in axes[0].get_yticklabels()] == ["cpu0", "gpu0", "gpu1", "gpu2", "gpu3"]
    assert shown[1, 2] == 1000 and shown[4, 0] == 16**3 * 1000 and {"from", "to", "bytes", "1.0 k", "4.1 M"} <= set(texts), texts
    axes, texts = drawn(ff.open(path).plot.traffic("packets"), "packets")
    assert axes[0].images[0].get_array()[4, 0] == 16 and "packets" in texts
    refused(lambda: ff.open(path).plot.traffic("hops"), "'hops'", "bytes, packets")


def the_latency_stack_adds_up_to_the_mean_time_of_an_access(path):
    axes, texts = drawn(ff.open(path).plot.latency_stack(), "latency_stack")
    assert "time of an access, on average (ns)" in texts and set(STAGES) <= set(texts), texts
    order = axes[0].get_legend_handles_labels()[1]
    assert order[-1] == "other" and order[0] == "fault"
    ends = [p.get_x() + p.get_width() for p in axes[0].containers[-1].patches]
    assert len(ends) == 8 and numpy.allclose(ends, 450), ends
    axes, texts = drawn(ff.open(path).plot.latency_stack("application"), "latency_application")
    assert [t.get_text() for t in axes[0].get_yticklabels()] == ["bfs"]


def many_bars_are_one_area(path):
    other = copy(path, "bars.h5")
    names = [f"gpu{g}" for g in range(300)]
    with h5py.File(other, "r+") as f:
        del f["summary/latency"]
        latency = f.create_group("summary/latency")
        write(latency, "name", names, "name")
        write(latency, "scope", ["gpu"] * 300, "name")
        write(latency, "walk", numpy.arange(300, dtype="u8") * 10_000_000, "name", "ps", "time in page walks")
        write(latency, "dram", numpy.full(300, 2_000_000_000, "u8"), "name", "ps", "time in DRAM")
        write(latency, "transactions", numpy.full(300, 1000, "u8"), "name")
    axes, texts = drawn(ff.open(other).plot.latency_stack(), "latency_many")
    assert len(axes[0].collections) == 2 and not axes[0].patches
    assert axes[0].dataLim.x1 == 2 + 2.99 and "time of an access, on average (us)" in texts, axes[0].dataLim
    shown = [t.get_text() for t in axes[0].get_yticklabels()]
    assert shown[0] == "gpu0" and len(shown) < 50


def stall_reasons_are_shares(path):
    axes, texts = drawn(ff.open(path).plot.stalls(), "stalls")
    assert "share of all stalls (%)" in texts and set(REASONS) <= set(texts)
    assert numpy.allclose([p.get_width() for p in axes[0].containers[0].patches], 100 * 5 / 15)


def a_result_without_the_data_is_refused_in_one_sentence(path):
    bare = copy(path, "bare.h5")
    with h5py.File(bare, "r+") as f:
        for name in ("summary/latency", "summary/stalls", "summary/traffic", "timeseries", "tables"):
            del f[name]
    plots = ff.open(bare).plot
    for plot, what in ((plots.latency_stack, "no latency stack"), (plots.stalls, "no stall reasons"),
                       (plots.traffic, "no traffic"), (plots.hit_rates, "no time series"), (plots.timeline, "'sm'")):
        refused(plot, "bare.h5", what)
    refused(lambda: ff.open(path).plot.timeline(["instructions"]), '"sm/instructions"', "'instructions'")


def a_run_that_has_just_begun_draws_empty_axes(path):
    folder = os.path.dirname(path)
    sample(folder)
    cut_off = ff.open(os.path.join(folder, "cut_off.h5.partial"))
    axes, texts = drawn(cut_off.plot.timeline(["driver/batches"]), "cut_off")
    assert any("not a whole run" in t for t in texts), texts


TESTS = (the_timeline_has_every_kernel_and_a_line_for_each_gpu, the_timeline_of_many_gpus_shows_their_mean_and_range,
         kernels_of_several_applications_have_lanes, hit_rates_are_those_of_the_summary, many_samples_are_drawn_together,
         traffic_is_a_map_from_each_device_to_each_other, the_latency_stack_adds_up_to_the_mean_time_of_an_access,
         many_bars_are_one_area, stall_reasons_are_shares, a_result_without_the_data_is_refused_in_one_sentence,
         a_run_that_has_just_begun_draws_empty_axes)

if __name__ == "__main__":
    sys.exit(main(TESTS, prepare))
