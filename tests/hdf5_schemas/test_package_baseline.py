# SPDX-License-Identifier: Apache-2.0
"""The Python package divides the figures of a sweep by those of its baseline, and names of points are one dimension.

The tables are written by hand, with figures whose ratios are exact.

Usage: python3 test_package_baseline.py PATH/TO/test_hdf5_schemas
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from package_tests import ff, h5py, main, numpy, refused, write  # noqa: E402

try:
    import matplotlib.pyplot as plt

    import farfault.plots  # noqa: F401
except ModuleNotFoundError:
    plt = None

MISSING = 2**64 - 1
WORKLOADS, POLICIES = ("bfs", "stream", "spmv"), ("distributed", "bypass")
# Ends of the runs: workload by workload, distributed first, in ps. Speedups of bypass: 2, 4, 8.
ENDS = [8000, 4000, 4000, 1000, 16000, 2000]
WALKS = [10, 5, 0, 3, 4, 0]


def sweep_of(folder, name, ends=ENDS, partners=(0, 0, 2, 2, 4, 4), states=None, seeds=None, over="name", walks=WALKS):
    """A sweep of a named list of workloads and a grid of policies, with the distributed policy as the baseline."""
    path = os.path.join(folder, name)
    os.makedirs(path)
    states = states or {}
    count = len(ends)
    per_point = len(seeds) if seeds else 1
    rows = [(w, p) for w in WORKLOADS for p in POLICIES for _ in range(per_point)][:count]
    with h5py.File(os.path.join(path, "sweep.h5"), "w") as f:
        for key, value in (("kind", "sweep"), ("farfault_version", "0.1.0"), ("Conventions", "CF-1.10"),
                           ("baseline", "gpu.router.policy = distributed"), ("mean_over", over)):
            f.attrs[key] = numpy.bytes_(value)
        f.attrs["schema_version"] = 2
        runs = f.create_group("runs")
        write(runs, "run", numpy.arange(count, dtype="u8"), "run")
        write(runs, "name", [w for w, _ in rows], "run")
        write(runs, "state", [states.get(n, "done") for n in range(count)], "run")
        for fact in ("error", "result", "result_digest"):
            write(runs, fact, [""] * count, "run")
        write(runs, "gpu.router.policy", [p for _, p in rows], "run", role="parameter")
        write(runs, "workload.name", [w for w, _ in rows], "run", role="parameter", varies_with="name")
        write(runs, "workload.bfs.scale", ["12" if w == "bfs" else "" for w, _ in rows], "run", role="parameter", varies_with="name")
        if seeds:
            write(runs, "run.seed", numpy.array([*seeds] * (count // per_point), "u8"), "run", role="parameter")
        fill = numpy.uint64(MISSING)
        write(runs, "baseline", numpy.array([MISSING if p is None else p for p in partners], "u8"), "run", _FillValue=fill)
        for figure, values, units in (("end", ends, "ps"), ("walks", walks, "1")):
            column = numpy.array([MISSING if n in states else v for n, v in enumerate(values)], "u8")
            write(runs, figure, column, "run", units, f"text of {figure}", role="figure", _FillValue=fill)
    return ff.open_sweep(path)


def names_of_points_are_one_dimension(folder):
    sweep = sweep_of(folder, "names")
    assert sweep.parameters == ["name", "gpu.router.policy"], sweep.parameters
    assert sweep.settings == ["workload.name", "workload.bfs.scale"] or sweep.settings == ["workload.bfs.scale", "workload.name"]
    data = sweep.dataset(["end", "speedup"])
    assert dict(data.sizes) == {"name": 3, "gpu.router.policy": 2}
    assert float(data["speedup"].sel({"name": "spmv", "gpu.router.policy": "bypass"})) == 8
    columns = list(sweep.runs)
    assert columns[:2] == ["name", "gpu.router.policy"] and columns.index("end") < columns.index("workload.name")
    assert sweep.points.loc["bfs"].to_dict() == {"workload.name": "bfs", "workload.bfs.scale": "12"}
    assert "bfs, stream, spmv" in repr(sweep) and "workload.bfs.scale" not in repr(sweep), repr(sweep)
    assert "gpu.router.policy = distributed" in repr(sweep)


def a_file_without_marks_of_settings_has_them_by_their_values(folder):
    sweep = sweep_of(folder, "unmarked")
    with h5py.File(os.path.join(sweep.path, "sweep.h5"), "r+") as f:
        for name in ("workload.name", "workload.bfs.scale"):
            del f["runs"][name].attrs["varies_with"]
    assert ff.open_sweep(sweep.path).parameters == ["name", "gpu.router.policy"]


def ratios_are_exact(folder):
    sweep = sweep_of(folder, "ratios")
    assert sweep.baseline == "gpu.router.policy = distributed" and sweep.mean_over == "name"
    table = sweep.table(["speedup", "walks_ratio"])
    assert table["speedup"].tolist() == [1, 2, 1, 4, 1, 8] and set(table["speedup_error"]) == {""}
    assert table["walks_ratio"].tolist()[:2] == [1, 0.5] and table["walks_ratio"].isna().tolist() == [False, False, True, True, False, True]
    assert table["walks_ratio_error"].tolist()[2:] == ["walks of run 2 (stream, distributed) is 0", "walks of run 2 (stream, distributed), the baseline of run 3 (stream, bypass), is 0", "",
                                                      "walks of run 5 (spmv, bypass) is 0"], table["walks_ratio_error"].tolist()
    assert table.attrs["units"]["speedup"] == "1" and "text of walks" in table.attrs["long_name"]["walks_ratio"]
    assert sweep.figures[0] == "speedup" and "speedup" in sweep.runs


def an_empty_ratio_has_a_reason(folder):
    sweep = sweep_of(folder, "empty", partners=(0, 0, 2, 2, None, None), states={1: "failed", 2: "missing"})
    table = sweep.table("speedup")
    assert table["speedup"].isna().tolist() == [False, True, True, True, True, True]
    assert table["speedup_error"].tolist()[1:] == [
        "run 1 (bfs, bypass) failed", "run 2 (stream, distributed) is missing", "run 2 (stream, distributed), the baseline of run 3 (stream, bypass), is missing",
        "no run with gpu.router.policy = distributed has the other values of run 4 (spmv, distributed)",
        "no run with gpu.router.policy = distributed has the other values of run 5 (spmv, bypass)"]


def a_geometric_mean_is_over_all_values_or_empty(folder):
    means = sweep_of(folder, "means").geometric_mean()
    assert means["gpu.router.policy"].tolist() == ["distributed", "bypass"] and set(means["error"]) == {""}
    assert numpy.allclose(means["speedup"], [1, 4]) and numpy.allclose(means["smallest"], means["largest"])
    means = sweep_of(folder, "failed_mean", states={3: "failed"}).geometric_mean()
    assert means["speedup"].tolist()[0] == 1 and numpy.isnan(means["speedup"][1]) and means["error"].tolist() == ["", "run 3 (stream, bypass) failed"]
    means = sweep_of(folder, "hole", ends=ENDS[:5], partners=(0, 0, 2, 2, 4), walks=WALKS[:5]).geometric_mean("name")
    assert means["error"].tolist() == ["", "no run has name = spmv"], means
    sweep = sweep_of(folder, "errors")
    refused(lambda: sweep.geometric_mean("nothing"), "'nothing'")
    refused(lambda: sweep.geometric_mean("name", "end"), "end is not a ratio")


def a_mean_over_seeds_is_geometric_and_of_the_same_seed(folder):
    ends = [8000, 4000, 4000, 1000, 2000, 2000, 8000, 1000, 4000, 4000, 1000, 1000]
    partners = (0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9)
    sweep = sweep_of(folder, "seeds", ends, partners, seeds=(1, 2), walks=[1] * 12)
    assert sweep.parameters == ["name", "gpu.router.policy", "run.seed"]
    assert sweep.table("speedup")["speedup"].tolist() == [1, 1, 2, 4, 1, 1, 0.25, 2, 1, 1, 4, 4]
    means = sweep.geometric_mean()  # per seed: (2 * 0.25 * 4)^(1/3), (4 * 2 * 4)^(1/3)
    assert numpy.allclose(means["smallest"], [1, 2 ** (1 / 3)]) and numpy.allclose(means["largest"], [1, 32 ** (1 / 3)])
    assert numpy.allclose(means["speedup"], [1, 64 ** (1 / 6)])


def a_setting_replaces_the_names(folder):
    sweep = sweep_of(folder, "by_setting", over="workload.name")
    means = sweep.geometric_mean()
    assert list(means)[0] == "gpu.router.policy" and numpy.allclose(means["speedup"], [1, 4]), means
    assert sweep.dimensions("workload.name") == [*sweep.settings, "gpu.router.policy"]


def a_sweep_without_baseline_has_no_ratios(folder):
    sweep = sweep_of(folder, "none")
    with h5py.File(os.path.join(sweep.path, "sweep.h5"), "r+") as f:
        del f.attrs["baseline"]
    sweep = ff.open_sweep(sweep.path)
    assert sweep.baseline is None and "speedup" not in sweep.figures
    refused(lambda: sweep.table(["speedup"]), "'speedup'")
    refused(lambda: sweep.table(["walks_ratio"]), "'walks_ratio'")
    with h5py.File(os.path.join(sweep.path, "sweep.h5"), "r+") as f:
        f.attrs["baseline"] = numpy.bytes_("x = 1")
        f["runs/baseline"][:] = numpy.array([99, 0, 2, 2, 4, 4], "u8")
    assert ff.open_sweep(sweep.path).table("speedup")["speedup_error"][0] == "no run with x = 1 has the other values of run 0 (bfs, distributed)"


def a_plot_has_a_line_for_each_policy_and_the_mean(folder):
    if plt is None:
        return print("skipped: a plot: this Python has no matplotlib")
    sweep = sweep_of(folder, "plot", states={3: "failed"})
    axes = drawn(sweep.plot("speedup"), "speedup")
    assert [t.get_text() for t in axes.get_xticklabels()] == ["bfs", "stream", "spmv", "geometric mean"]
    assert axes.get_ylabel() == "speedup vs. gpu.router.policy = distributed" and axes.get_xlabel() == "name"
    lines = {c.get_label(): c[0] for c in axes.containers}
    assert list(lines["distributed"].get_ydata()) == [1, 1, 1]
    bypass = lines["bypass"].get_ydata()
    assert bypass[0] == 2 and numpy.isnan(bypass[1]) and bypass[2] == 8, bypass
    means = [c[0] for c in axes.containers[2:]]
    assert means[0].get_xdata()[0] == 3 and means[0].get_ydata()[0] == 1 and numpy.isnan(means[1].get_ydata()[0])
    axes = drawn(sweep.plot("end", x="gpu.router.policy"), "names")
    assert [c.get_label() for c in axes.containers] == list(WORKLOADS)
    axes = drawn(sweep.plot("end", x="workload.name"), "settings")
    assert [c.get_label() for c in axes.containers] == list(POLICIES)
    nothing = sweep_of(folder, "plot_nothing", states={n: "failed" for n in range(6)})
    refused(lambda: nothing.plot("speedup"), "no run has a speedup: run 0 (bfs, distributed) failed")


def heights(container):
    return [p.get_height() for p in container.patches]


def bars_show_speedups_their_mean_and_the_spread_over_seeds(folder):
    if plt is None:
        return print("skipped: a plot: this Python has no matplotlib")
    ends = [8000, 4000, 4000, 1000, 2000, 2000, 8000, 1000, 4000, 4000, 1000, 1000]
    sweep = sweep_of(folder, "bars", ends, (0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9), seeds=(1, 2), walks=[1] * 12)
    axes = drawn(sweep.plot.speedup(), "speedup_bars")
    assert [t.get_text() for t in axes.get_xticklabels()] == ["bfs", "stream", "spmv", "geometric\nmean"]
    assert axes.get_xlabel() == "name" and axes.get_ylabel() == "speedup vs. gpu.router.policy = distributed"
    (bypass,) = [c for c in axes.containers if c.get_label() == "bypass"]  # the baseline is the line at 1
    assert len(axes.containers) == 2 and numpy.allclose(heights(bypass), [8 ** 0.5, 0.5 ** 0.5, 4, 64 ** (1 / 6)])
    assert any(list(line.get_ydata()) == [1, 1] for line in axes.lines)
    segments = axes.collections[0].get_segments()  # of the error bars; both seeds of spmv have the speedup 4
    assert numpy.allclose([s[:, 1] for s in segments], [[2, 4], [0.25, 2], [2 ** (1 / 3), 32 ** (1 / 3)]])
    assert numpy.allclose([s[0, 0] for s in segments], [0, 1, 3]) and not axes.texts
    axes = drawn(sweep.plot.speedup(logy=True), "speedup_log")
    (bypass,) = [c for c in axes.containers if c.get_label() == "bypass"]
    assert axes.get_yscale() == "log" and {p.get_y() for p in bypass.patches} == {1}
    assert numpy.allclose([p.get_y() + p.get_height() for p in bypass.patches], [8 ** 0.5, 0.5 ** 0.5, 4, 2])


def a_bar_without_a_value_is_a_gap_with_its_reason(folder):
    if plt is None:
        return print("skipped: a plot: this Python has no matplotlib")
    sweep = sweep_of(folder, "gap_bars", partners=(0, 0, 2, 2, None, None), states={3: "failed"})
    figure = sweep.plot.speedup()
    axes = drawn(figure, "speedup_gaps")
    assert numpy.array_equal(heights(axes.containers[-1]), [2, numpy.nan, numpy.nan, numpy.nan], equal_nan=True)
    notes = " ".join(figure._supxlabel.get_text().split())
    reasons = dict(re.findall(r"(\[\d\]) (.*?)(?= \[|$)", notes))
    gaps = {(round(t.get_position()[0]), reasons[t.get_text()]) for t in axes.texts}
    lone = "no run with gpu.router.policy = distributed has the other values of run "
    assert gaps == {(1, "run 3 failed"), (2, lone + "4"), (2, lone + "5"), (3, "run 3 failed"), (3, lone + "4")}, gaps
    line = sweep.plot("speedup")
    drawn(line, "speedup_line_gaps")
    assert "no value: run 3 failed" in line._supxlabel.get_text()
    figures = sweep.plot("end")
    drawn(figures, "end_gaps")
    assert figures._supxlabel.get_text() == "no value: run 3 failed"
    hole = sweep_of(folder, "hole_bars", ends=ENDS[:5], partners=(0, 0, 2, 2, 4), walks=WALKS[:5]).plot.speedup()
    axes = drawn(hole, "speedup_hole")
    assert numpy.isnan(heights(axes.containers[-1])[2]) and hole._supxlabel.get_text() == "[1] no run has name = spmv"


def other_ratios_and_parameters_have_bars(folder):
    if plt is None:
        return print("skipped: a plot: this Python has no matplotlib")
    sweep = sweep_of(folder, "ratio_bars", walks=[10, 5, 4, 3, 4, 8])
    axes = drawn(sweep.plot.speedup(figure="walks_ratio"), "walks_bars")
    assert numpy.allclose(heights(axes.containers[-1]), [0.5, 0.75, 2, 0.75 ** (1 / 3)])
    axes = drawn(sweep.plot.speedup("gpu.router.policy"), "policy_bars")
    assert [c.get_label() for c in axes.containers] == list(WORKLOADS)
    assert numpy.allclose([heights(c) for c in axes.containers], [[1, 2, 2 ** 0.5], [1, 4, 2], [1, 8, 8 ** 0.5]])
    refused(lambda: sweep.plot.speedup(figure="end"), "end is not a ratio")
    refused(lambda: sweep.plot.speedup("nothing"), "'nothing'")
    nothing = sweep_of(folder, "nothing_bars", states={n: "failed" for n in range(6)})
    refused(lambda: nothing.plot.speedup(), "no run has a speedup: run 0 failed")


def logarithmic_axes_need_positive_values(folder):
    if plt is None:
        return print("skipped: a plot: this Python has no matplotlib")
    sweep = sweep_of(folder, "log_axes")
    axes = drawn(sweep.plot("end", logy=True), "end_log")
    assert axes.get_yscale() == "log" and list(axes.containers[0][0].get_ydata()) == [8, 4, 16] and axes.get_ylabel().endswith("(ns)")
    refused(lambda: sweep.plot("walks", logy=True), "walks of run 2 is 0; a logarithmic axis needs values above 0, so logy must be False")
    refused(lambda: sweep.plot("end", logx=True), "the values of name are not numbers or quantities with a unit")


def drawn(figure, name):
    figure.canvas.draw()
    if "FARFAULT_KEEP_PLOTS" in os.environ:
        figure.savefig(os.path.join(os.environ["FARFAULT_KEEP_PLOTS"], f"{name}.png"))
    plt.close(figure)
    return figure.axes[0]


TESTS = (names_of_points_are_one_dimension, a_file_without_marks_of_settings_has_them_by_their_values, ratios_are_exact,
         an_empty_ratio_has_a_reason, a_geometric_mean_is_over_all_values_or_empty,
         a_mean_over_seeds_is_geometric_and_of_the_same_seed, a_setting_replaces_the_names,
         a_sweep_without_baseline_has_no_ratios, a_plot_has_a_line_for_each_policy_and_the_mean,
         bars_show_speedups_their_mean_and_the_spread_over_seeds, a_bar_without_a_value_is_a_gap_with_its_reason,
         other_ratios_and_parameters_have_bars, logarithmic_axes_need_positive_values)

if __name__ == "__main__":
    sys.exit(main(TESTS, lambda folder: folder))
