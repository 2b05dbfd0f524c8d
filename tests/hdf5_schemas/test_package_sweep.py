# SPDX-License-Identifier: Apache-2.0
"""The Python package opens a sweep of 15 runs, and files without a sweep, as one table and as a grid.

Usage: python3 test_package_sweep.py PATH/TO/test_hdf5_schemas
"""
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from package_tests import copy, ff, h5py, main, numpy, refused, run  # noqa: E402
from sweep_sample import ROUTERS, SIZES, grid, results, table  # noqa: E402

try:
    import matplotlib.pyplot as plt

    import farfault.plots  # noqa: F401
except ModuleNotFoundError:
    plt = None

PARAMETERS = {"workload.stream.bytes": [s for s, _ in grid()], "gpu.router.policy": [r for _, r in grid()]}


def prepare(folder):
    paths = results(folder)
    table(folder, paths, PARAMETERS)
    return folder


def variant(folder, name, paths, parameters, states=None, spread=None):
    """A different table with the same results."""
    other = os.path.join(folder, name)
    os.makedirs(other)
    shutil.copytree(os.path.join(folder, "runs"), os.path.join(other, "runs"), copy_function=os.link)
    table(other, paths, parameters, states, spread)
    return other


def files(folder):
    return [os.path.join(folder, "runs", f"{n}.h5") for n in range(15)]


def end_of(path):
    with h5py.File(path) as f:
        return int(f["summary/machine/end"][0])


def a_sweep_is_a_table_with_a_row_for_each_run(folder):
    sweep = ff.open_sweep(folder)
    assert sweep.parameters == list(PARAMETERS) and "end" in sweep.figures and "run" not in sweep.figures
    runs = sweep.runs
    assert runs.index.name == "run" and runs.index.tolist() == list(range(15)) and set(runs["state"]) == {"done"}
    assert runs["workload.stream.bytes"].tolist() == PARAMETERS["workload.stream.bytes"]
    assert runs["end"].tolist() == [end_of(p) for p in files(folder)] and runs["end"].dtype == numpy.int64
    assert runs.attrs["units"]["end"] == "ps" and runs.attrs["units"]["state"] == "1" and "last event" in runs.attrs["long_name"]["end"]
    # A statistic of one router only.
    assert runs["gpu.router_undecided_requests"].isna().tolist() == [r != "gmmu_bypass" for _, r in grid()]
    assert "15 runs (15 done)" in repr(sweep) and "64 KiB, 128 KiB" in repr(sweep), repr(sweep)
    assert ff.open_sweep(os.path.join(folder, "sweep.h5")).runs.equals(runs)


def a_whole_grid_is_a_dataset_over_what_varied(folder):
    data = ff.open_sweep(folder).dataset(["end", "l2_tlb_misses"])
    assert dict(data.sizes) == {"workload.stream.bytes": 5, "gpu.router.policy": 3}
    assert data["workload.stream.bytes"].values.tolist() == list(SIZES) and data["end"].attrs["units"] == "ps"
    for path, (size, router) in zip(files(folder), grid()):
        assert data["end"].sel({"workload.stream.bytes": size, "gpu.router.policy": router}) == end_of(path)
    assert len(ff.open_sweep(folder).dataset()) > 100


def numbers_are_in_order_and_seeds_a_dimension(folder):
    paths = files(folder)[:6]
    other = variant(folder, "seeds", paths, {"run.seed": [1, 2, 1, 2, 1, 2], "gpu.l2_tlb.entries": [512, 512, 64, 64, 8, 8]},
                    spread={"end_mean": numpy.array([3, 2, 1], "u8")})
    assert ff.open_sweep(other).spread["end_mean"].tolist() == [3, 2, 1] and ff.open_sweep(other).spread.index.name == "point"
    refused(lambda: ff.open_sweep(folder).spread, "no spread")
    data = ff.open_sweep(other).dataset("end")
    assert data["gpu.l2_tlb.entries"].values.tolist() == [8, 64, 512]
    assert data["end"].mean("run.seed").sel({"gpu.l2_tlb.entries": 512}) == (end_of(paths[0]) + end_of(paths[1])) / 2


def keys_of_a_list_without_names_share_a_dimension(folder):
    paths = files(folder)
    # Three points, each with a size and a file of its own, and two policies.
    names, sizes, inputs = (["bfs", "bfs", "spmv", "spmv", "bh", "bh"], ["small", "small", "small", "small", "medium", "medium"],
                            ["a.mtx", "a.mtx", "b.mtx", "b.mtx", "", ""])
    policies = ["distributed", "bypass"] * 3
    other = variant(folder, "unnamed", paths[:6], {"workload.name": names, "workload.size": sizes, "workload.file": inputs,
                                                   "gpu.router.policy": policies})
    data = ff.open_sweep(other).dataset("end")
    assert dict(data.sizes) == {"workload.name": 3, "gpu.router.policy": 2}, data
    assert data["workload.size"].dims == ("workload.name",) and data["workload.size"].values.tolist() == ["small", "small", "medium"]
    assert data["end"].sel({"workload.name": "spmv", "gpu.router.policy": "bypass"}) == end_of(paths[3])
    # No key alone identifies a point: 4 points instead of 2 x 3.
    names, sizes = ["bfs", "bfs", "spmv", "spmv"], ["small", "medium", "medium", "paper"]
    other = variant(folder, "pairs", paths[:8], {"workload.name": [n for n in names for _ in "ab"],
                                                 "workload.size": [s for s in sizes for _ in "ab"],
                                                 "gpu.router.policy": ["distributed", "bypass"] * 4})
    data = ff.open_sweep(other).dataset("end")
    assert dict(data.sizes) == {"point": 4, "gpu.router.policy": 2} and data["workload.size"].values.tolist() == sizes
    assert data["end"].sel({"point": 2, "gpu.router.policy": "distributed"}) == end_of(paths[4])


def what_is_no_grid_is_refused_but_is_a_table(folder):
    all_runs, (sizes, routers) = files(folder), PARAMETERS.values()
    for name, paths, sizes_then, routers_then, points in (
            ("fewer", all_runs[:14], sizes[:14], routers[:14], 14),
            ("another", all_runs, sizes, [routers[1], *routers[1:]], 14),
            ("again", [*all_runs, all_runs[0]], [*sizes, sizes[0]], [*routers, routers[0]], 15)):
        parameters = {"workload.stream.bytes": sizes_then, "gpu.router.policy": routers_then}
        sweep = ff.open_sweep(variant(folder, name, paths, parameters))
        refused(sweep.dataset, f"{len(paths)} runs at {points} points", "5 of workload.stream.bytes", "instead of 15")
        assert len(sweep.runs) == len(paths)


def failed_and_missing_runs_mark_their_rows(folder):
    sweep = ff.open_sweep(variant(folder, "failed", files(folder), PARAMETERS,
                                  {3: ("failed", "deadlock at 1 us"), 4: ("missing", "")}))
    assert sweep.runs["state"].tolist()[2:5] == ["done", "failed", "missing"] and numpy.isnan(sweep.runs.loc[3, "end"])
    refused(lambda: sweep.open(3), "run 3 has no result", "failed: deadlock at 1 us")
    refused(lambda: sweep.open(4), "run 4 has no result: it is missing")
    assert len(list(sweep)) == 13 and int(numpy.isnan(sweep.dataset("end")["end"]).sum()) == 2
    assert "13 done, 1 failed, 1 missing" in repr(sweep)


def a_run_of_a_sweep_knows_its_parameters(folder):
    sweep = ff.open_sweep(folder)
    run5 = sweep.open(5)
    assert run5.parameters == {"workload.stream.bytes": "128 KiB", "gpu.router.policy": "gmmu_bypass"}
    assert run5.config["gpu"]["router"]["policy"] == "gmmu_bypass"
    assert [r.parameters["gpu.router.policy"] for r in sweep] == PARAMETERS["gpu.router.policy"]
    refused(lambda: sweep.open(15), "no run 15", "0 to 14")


def a_rewritten_result_is_refused(folder):
    paths = files(folder)
    other = variant(folder, "anew", [paths[1], paths[0]], {"run.seed": [1, 2]})
    shutil.rmtree(os.path.join(other, "runs"))
    os.makedirs(os.path.join(other, "runs"))
    shutil.copy(paths[0], os.path.join(other, "runs", "1.h5"))
    sweep = ff.open_sweep(other)
    refused(lambda: sweep.open(0), "differs from the result in the table of the sweep")
    refused(lambda: sweep.open(1), "runs/0.h5", "no such file")


def files_without_a_sweep_are_one(folder):
    sweep = ff.open_many(files(folder))
    assert sweep.parameters == ["gpu.router.policy", "workload.stream.bytes"]
    made, own = ff.open_sweep(folder).runs, sweep.runs
    assert set(made) - set(own) == {"error"} and set(own) <= set(made)
    for name in own:
        assert name == "result" or made[name].equals(own[name]), (name, made[name], own[name])
    assert own.attrs["units"]["end"] == "ps" and sweep.open(14).parameters["workload.stream.bytes"] == "320 KiB"
    data = sweep.dataset("end")
    assert data["workload.stream.bytes"].values.tolist() == list(SIZES) and set(data["gpu.router.policy"].values) == set(ROUTERS)


def files_without_a_sweep_have_a_baseline_on_request(folder):
    paths = files(folder)
    first = ROUTERS[0]
    sweep = ff.open_many(paths, baseline={"gpu.router.policy": first}, mean_over="workload.stream.bytes")
    assert sweep.baseline == f"gpu.router.policy = {first}" and sweep.mean_over == "workload.stream.bytes" and sweep.figures[0] == "speedup"
    ends = {point: end_of(path) for path, point in zip(paths, grid())}
    assert sweep.table("speedup")["speedup"].tolist() == [ends[size, first] / ends[size, router] for size, router in grid()]
    means = sweep.geometric_mean().set_index("gpu.router.policy")["speedup"]
    for router in ROUTERS:
        product = numpy.prod([ends[size, first] / ends[size, router] for size in SIZES])
        assert numpy.isclose(means[router], product ** (1 / len(SIZES)), rtol=1e-12), router
    partner = paths[list(grid()).index((SIZES[1], first))]
    fewer = ff.open_many([p for p in paths if p != partner], baseline={"gpu.router.policy": first})
    table = fewer.table("speedup")
    gaps = table["workload.stream.bytes"] == SIZES[1]
    assert table["speedup"].isna().equals(gaps) and all(f"no run with gpu.router.policy = {first} has the other values" in e
                                                        for e in table["speedup_error"][gaps])
    kib = {"workload.stream.bytes": "0.0625 MiB"}  # 64 KiB
    assert ff.open_many(paths, baseline=kib).table("speedup")["speedup"].tolist() == [ends[SIZES[0], r] / ends[s, r] for s, r in grid()]
    refused(lambda: ff.open_many(paths, baseline={"gpu.sms": 4}), "'gpu.sms'", "gpu.router.policy")
    refused(lambda: ff.open_many(paths, baseline={"gpu.router.policy": "none"}), "no run has gpu.router.policy = none", first)
    refused(lambda: ff.open_many(paths, baseline={"gpu.router.policy": first}, mean_over="gpu.router.policy"), "outside of the baseline")
    refused(lambda: ff.open_many(paths).plot.speedup(), "it has no baseline", "farfault.open_many")


def quantities_have_their_places_on_a_logarithmic_axis(folder):
    if plt is None:
        return print("skipped: a plot: this Python has no matplotlib")
    figure = ff.open_sweep(folder).plot("end", x="workload.stream.bytes", logx=True, logy=True)
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert list(axes.containers[0][0].get_xdata()) == [ff.quantity(size) for size in SIZES]
    assert [t.get_text() for t in axes.get_xticklabels()] == list(SIZES)
    kept(figure, "sweep_log")
    refused(lambda: ff.open_sweep(folder).plot("end", x="gpu.router.policy", logx=True), "gpu.router.policy are not numbers or quantities")


def numbers_that_vary_between_files_are_numbers(folder):
    paths = [run(os.path.join(folder, f"{ways}.h5"), "workload.name=stream", "workload.stream.bytes=64KiB",
                 f"gpu.l2_tlb.entries={ways}", "--threads", "1") for ways in (1024, 64)]
    sweep = ff.open_many(paths)
    assert sweep.runs["gpu.l2_tlb.entries"].tolist() == [1024, 64]
    assert sweep.dataset("end")["gpu.l2_tlb.entries"].values.tolist() == [64, 1024]
    refused(lambda: ff.open_many(paths[0]), "a list of files")
    refused(lambda: ff.open_many([]), "is empty")


def a_table_reads_no_run_and_a_rate_one_file(folder):
    opened, names = ff.file.File._open, []
    ff.file.File._open = lambda file: names.append(os.path.basename(file.path)) or opened(file)
    try:
        ff.open_sweep(folder).dataset(["end"])
        assert set(names) == {"sweep.h5"}, names
        names.clear()
        ff.open_sweep(folder).open(7).rates("l2_tlb", "hits")
        assert set(names) == {"sweep.h5", "7.h5"}, names
    finally:
        ff.file.File._open = opened


def other_folders_and_files_are_refused(folder):
    empty = os.path.join(folder, "nothing")
    os.makedirs(empty)
    refused(lambda: ff.open_sweep(empty), "no sweep.h5")
    refused(lambda: ff.open_sweep(files(folder)[0]), "not the table of a sweep")
    refused(lambda: ff.open(os.path.join(folder, "sweep.h5")), "open_sweep")
    refused(lambda: ff.open_sweep(os.path.join(folder, "none")), "no such file")
    refused(lambda: ff.open_sweep(folder).dataset(["ends"]), "'ends'")
    newer = copy(os.path.join(folder, "sweep.h5"), "newer.h5")
    with h5py.File(newer, "r+") as f:
        f.attrs.modify("schema_version", max(ff.file.SCHEMA_VERSIONS) + 1)
    refused(lambda: ff.open_sweep(newer), "a newer version")


def a_plot_has_a_line_for_each_combination(folder):
    if plt is None:
        return print("skipped: a plot: this Python has no matplotlib")
    other = variant(folder, "plot", files(folder), PARAMETERS, {3: ("failed", "deadlock"), 14: ("missing", "")})
    sweep = ff.open_sweep(other)
    axes = kept(sweep.plot("end"), "sweep").axes[0]
    ends = [end_of(p) / 1e6 for p in files(folder)]
    for i, router in enumerate(ROUTERS):
        line = next(c for c in axes.containers if c.get_label() == router)[0]
        at = [n for n in range(5) if 3 * n + i not in (3, 14)]
        assert list(line.get_xdata()) == at and list(line.get_ydata()) == [ends[3 * n + i] for n in at], router
    assert [t.get_text() for t in axes.get_xticklabels()] == list(SIZES) and axes.get_xlabel() == "workload.stream.bytes"
    assert axes.get_ylabel() == "end: Simulated time of the last event (us)", axes.get_ylabel()
    for words, named in ((("ends",), "'ends'"), (("end", "gpu"), "'gpu'")):
        refused(lambda: sweep.plot(*words), named)


def seeds_are_one_point_with_their_range(folder):
    if plt is None:
        return print("skipped: a plot: this Python has no matplotlib")
    paths = files(folder)[:6]
    other = variant(folder, "spread", paths, {"run.seed": [1, 2, 1, 2, 1, 2], "gpu.l2_tlb.entries": [512, 512, 64, 64, 8, 8]})
    axes = kept(ff.open_sweep(other).plot("end"), "seeds").axes[0]
    (container,) = axes.containers
    ends = [end_of(p) / 1e6 for p in paths]
    pairs = [ends[4:6], ends[2:4], ends[0:2]]
    assert list(container[0].get_xdata()) == [8, 64, 512]
    assert numpy.allclose([float(y) for y in container[0].get_ydata()], [sum(p) / 2 for p in pairs])
    bars = container[2][0].get_segments()
    assert numpy.allclose([[b[0][1], b[1][1]] for b in bars], [sorted(p) for p in pairs]), bars


def kept(figure, name):
    figure.canvas.draw()
    if "FARFAULT_KEEP_PLOTS" in os.environ:
        figure.savefig(os.path.join(os.environ["FARFAULT_KEEP_PLOTS"], f"{name}.png"))
    plt.close(figure)
    return figure


def two_figures_of_all_runs_are_drawn(folder):
    """Prints the time without the imports."""
    if plt is None:
        return print("skipped: two figures: this Python has no matplotlib")
    wall, processor = time.perf_counter(), time.process_time()
    sweep = ff.open_sweep(folder)
    sweep.plot("end", x="workload.stream.bytes").savefig(os.path.join(folder, "end.png"))
    figure, axes = plt.subplots()
    for result in sweep:
        rate = result.rates("l2_tlb", "misses").sum("instance")
        axes.plot(rate["time_ps"] / 1e6, rate, label=" ".join(result.parameters.values()))
    axes.set_xlabel("simulated time (us)")
    axes.set_ylabel("L2 TLB misses (1/s)")
    axes.legend(fontsize=6)
    figure.savefig(os.path.join(folder, "misses.png"))
    print(f"two figures of 15 runs: {time.perf_counter() - wall:.2f} s beyond the imports, "
          f"{time.process_time() - processor:.2f} s of processor time")
    assert os.path.getsize(os.path.join(folder, "end.png")) > 5_000 and len(axes.lines) == 15


TESTS = (a_sweep_is_a_table_with_a_row_for_each_run, a_whole_grid_is_a_dataset_over_what_varied,
         numbers_are_in_order_and_seeds_a_dimension, keys_of_a_list_without_names_share_a_dimension, what_is_no_grid_is_refused_but_is_a_table,
         failed_and_missing_runs_mark_their_rows, a_run_of_a_sweep_knows_its_parameters,
         a_rewritten_result_is_refused, files_without_a_sweep_are_one, files_without_a_sweep_have_a_baseline_on_request,
         quantities_have_their_places_on_a_logarithmic_axis,
         numbers_that_vary_between_files_are_numbers, a_table_reads_no_run_and_a_rate_one_file,
         other_folders_and_files_are_refused, a_plot_has_a_line_for_each_combination, seeds_are_one_point_with_their_range,
         two_figures_of_all_runs_are_drawn)

if __name__ == "__main__":
    sys.exit(main(TESTS, prepare))
