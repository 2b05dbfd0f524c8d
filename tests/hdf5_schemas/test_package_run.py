# SPDX-License-Identifier: Apache-2.0
"""The Python package opens the result of one run: series, tables, summary, rates; and refuses other files.

Usage: python3 test_package_run.py PATH/TO/test_hdf5_schemas
"""
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from package_tests import copy, ff, h5py, main, numpy, refused, sample, write  # noqa: E402


def it_describes_the_run(path):
    run = ff.open(path)
    assert run.kinds == ["driver", "driver.by_application", "l2_tlb"] and run.tables == ["fault_batches", "kernels"]
    assert run.scopes == ["gpu", "machine"] and run.seed == 7
    assert run.end_reason == "completed" and run.finished and len(run.digest) == 32
    assert run.config["gpu"]["l2_tlb"]["entries"] == 512 and run.command_line == "farfault run a.toml"
    assert run.host == "node7" and run.engine["partition_load"].tolist() == [0.25, 0.75]
    assert run.inputs["parameter"].tolist() == ["workload.bfs.graph"] and run.inputs["bytes"].tolist() == [1234]
    assert run.unused["key"].tolist() == ["links.nvlink_bandwidth", "links.pcie_latency"]
    assert run.unused["only_with"].tolist() == ["a machine with NVLinks", "a PCIe link without a stated latency"]
    assert run.unused["instead"].tolist() == ["", "links.scale.pcie.latency"]
    said = repr(run)
    assert run.digest in said and "l2_tlb" in said and "kernels" in said and "1 cpu, 2 gpu" in said, said


def a_file_of_an_earlier_version_has_no_title(path):
    assert ff.open(path).title == "Farfault run"
    other = copy(path, "untitled.h5")
    with h5py.File(other, "r+") as f:
        del f.attrs["title"], f.attrs["comment"]
    run = ff.open(other)
    assert run.title is None and run.digest == ff.open(path).digest and len(run.table("kernels")) == len(ff.open(path).table("kernels"))


def a_run_without_unused_settings_has_an_empty_table_of_them(path):
    other = copy(path, "no_unused.h5")
    with h5py.File(other, "r+") as f:
        del f["config/unused"]
    assert ff.open(other).unused.empty and list(ff.open(other).unused) == ["key", "only_with", "instead"]


def links_name_the_nodes_at_their_ends(path):
    nodes, links = ff.open(path).machine
    assert nodes["name"].tolist() == ["gpu0", "gpu1", "cpu0"]
    assert links["a"].tolist() == ["gpu0", "gpu1"] and links["b"].tolist() == ["cpu0", "cpu0"]
    assert links.attrs["units"]["latency_ps"] == "ps" and links["latency_ps"].tolist() == [500_000, 500_000]


def series_have_units_and_are_read_when_used(path):
    run = ff.open(path)
    data = run.timeseries("l2_tlb")
    assert data["hits"].dims == ("time_ps", "instance") and data["latency"].dims == ("time_ps", "instance", "bin")
    assert data["bin"].values.tolist() == [0, 1, 2, 3] and data["instance"].values.tolist() == ["gpu0.l2_tlb", "gpu1.l2_tlb"]
    assert data["hits"].attrs == {"units": "1", "long_name": "Lookups that hit.", "kind": "counter"}, data["hits"].attrs
    assert data["hits"].dtype == numpy.int64 and not data["hits"].variable._in_memory
    assert int(data["hits"].sel(time_ps=7000, instance="gpu1.l2_tlb")) == 701
    assert data["latency"][::-500, 1, [0, 2]].values.tolist() == [[(t * 100 + 8), (t * 100 + 10)] for t in (2499, 1999, 1499, 999, 499)]
    assert list(run.timeseries("l2_tlb", ["occupancy"])) == ["occupancy"]
    by_application = run.timeseries("driver.by_application")
    assert by_application["batches"].coords["application"].values.tolist() == ["fir", "bfs"]
    assert by_application["batches"].groupby("application").sum().sel(application="bfs")[-1] == 249_914


def tables_and_summaries_are_pandas_tables_with_units(path):
    run = ff.open(path)
    kernels = run.table("kernels")
    assert kernels.shape == (834, 3) and kernels["name"].tolist()[:2] == ["kernel 0", "kernel 3"]
    assert kernels["balance"].tolist()[:3] == [1, -2, -5] and kernels["start_ps"].dtype == numpy.int64
    assert kernels.attrs["units"]["start_ps"] == "ps" and kernels.attrs["long_name"]["name"] == "Name of the kernel."
    assert kernels.attrs["description"] == "One row for each kernel."
    assert run.table("fault_batches")["faults"].tolist() == list(range(0, 5000, 2))
    gpu = run.summary("gpu")
    assert gpu.loc["gpu1", "instructions"] == 12 and gpu["instructions"].dtype == numpy.int64
    assert gpu.loc["gpu0", "faults"] == 3 and numpy.isnan(gpu.loc["gpu1", "faults"])
    assert run.summary().loc["machine", "instructions"] == 42


def only_requested_columns_are_read(path):
    run = ff.open(path)
    read, whole = [], ff.datasets.filled
    ff.datasets.filled = lambda d, *rows: read.append(d.name) or whole(d, *rows)
    try:
        kernels = run.table("kernels", ["balance"])
        assert list(kernels) == ["balance"] and kernels.attrs["units"] == {"balance": "1"}, kernels
        assert kernels.equals(run.table("kernels")[["balance"]])
        del read[:]
        assert run.table("kernels", ["balance"]).index.name == "row" and sorted(read) == ["/tables/kernels/balance", "/tables/kernels/row"], read
        del read[:]
        gpus = run.summary("gpu", ["faults"])
        assert list(gpus) == ["faults"] and gpus.index.tolist() == ["gpu0", "gpu1"] and len(read) == 2, read
    finally:
        ff.datasets.filled = whole
    refused(lambda: run.table("kernels", ["balances"]), "'balances'", "balance")
    refused(lambda: run.summary("gpu", ["walks"]), "'walks'", "faults")


def rates_are_differences_over_time(path):
    run = ff.open(path)
    grown = run.deltas("l2_tlb", "hits")
    assert grown.shape == (2500, 2) and grown.values[0].tolist() == [0, 1] and (grown.values[1:] == 100).all()
    assert grown["time_ps"].values[:2].tolist() == [0, 1000] and grown["start_ps"].values[:3].tolist() == [0, 0, 1000]
    rate = run.rates("l2_tlb", "hits")
    assert rate.attrs["units"] == "s-1" and rate.sizes["time_ps"] == 2499 and numpy.allclose(rate.values, 100 / 1e-9)
    by_device = run.rates("l2_tlb", "latency", by="device")
    assert by_device.dims == ("time_ps", "device", "bin") and by_device["device"].values.tolist() == ["gpu0", "gpu1"]
    assert (run.deltas("driver.by_application", "batches", by="device").values[1:, 0] == 200).all()
    refused(lambda: run.rates("l2_tlb", "occupancy"), "occupancy is a level")


def a_mean_over_time_weighs_each_sample_by_its_interval(path):
    run = ff.open(path)
    mean = run.mean("l2_tlb", "occupancy")
    # Sample n has 100 n + 2 and 100 n + 3, from 1 ns to 2,499 ns.
    assert mean.dims == ("instance",) and numpy.allclose(mean.values, [125_002, 125_003]) and mean.attrs["units"] == "1"
    assert run.mean("l2_tlb", "occupancy", by="device")["device"].values.tolist() == ["gpu0", "gpu1"]
    refused(lambda: run.mean("l2_tlb", "hits"), "hits is a counter; only levels have a mean over time")
    other = copy(path, "growing.h5")
    with h5py.File(other, "r+") as f:
        f["timeseries/l2_tlb/time_ps"][-1] = 2_498_000 + 2_498_000  # the last sample lasts as long as all others
    before = numpy.average(100.0 * numpy.arange(1, 2499) + 2)
    assert numpy.isclose(ff.open(other).mean("l2_tlb", "occupancy").values[0], (before + 249_902) / 2)


def samples_at_one_time_are_one_interval_and_picoseconds_become_a_share(path):
    other = copy(path, "busy.h5")
    with h5py.File(other, "r+") as f:
        f["timeseries/l2_tlb/time_ps"][-1] = f["timeseries/l2_tlb/time_ps"][-2]
        f["timeseries/l2_tlb/hits"].attrs["units"] = numpy.bytes_("ps")
    rate = ff.open(other).rates("l2_tlb", "hits")
    assert rate.attrs["units"] == "1" and rate.sizes["time_ps"] == 2498
    assert numpy.allclose(rate.values[:-1], 0.1) and numpy.allclose(rate.values[-1], 0.2)


def bytes_are_counted_per_second_and_large_counts_stay_what_they_are(path):
    other = copy(path, "bytes.h5")
    with h5py.File(other, "r+") as f:
        f["timeseries/l2_tlb/hits"].attrs["units"] = numpy.bytes_("byte")
        f["summary/machine/instructions"][...] = 2**63 + 5
    run = ff.open(other)
    rate = run.rates("l2_tlb", "hits")
    assert rate.attrs["units"] == "byte s-1" and numpy.allclose(rate.values, 100 / 1e-9)
    assert run.figures(["instructions"])["instructions"] == 2**63 + 5


def a_ratio_without_events_is_nan(path):
    hits = ff.open(path).deltas("l2_tlb", "hits")
    assert numpy.isnan(ff.ratio(hits + 1, hits)[0, 0]) and ff.ratio(hits, hits)[1, 0] == 1


def a_component_belongs_to_the_device_that_its_path_starts_with(path):
    devices = {"gpu1", "gpu10", "m0", "m0.switch1"}
    for instance, device in (("gpu10.sm3", "gpu10"), ("gpu1.l2_tlb/bfs", "gpu1"), ("m0.switch1.port0", "m0.switch1"),
                             ("m0.driver", "m0"), ("m0.switch10.port0", "m0"), ("gpu11.sm0", "gpu11"), ("gpu1", "gpu1")):
        assert ff.rates.device_of(instance, devices) == device, (instance, ff.rates.device_of(instance, devices))


def quantities_are_numbers_of_the_smallest_unit(path):
    for text, number in (("64 KiB", 65536), ("10 ns", 10_000), ("1.5 us", 1_500_000), ("16 GB/s", 16e9), ("1 GHz", 1e9)):
        assert ff.quantity(text) == number, text
    for text in ("fast", "64", "64 KiX", "1.2.3 ns"):
        try:
            raise AssertionError(f"{text} is {ff.quantity(text)}")
        except ValueError as problem:
            assert repr(text) in str(problem), problem
    assert ff.units.in_order(["1 MiB", "64 KiB", "2 KiB"]) == ["2 KiB", "64 KiB", "1 MiB"]
    assert ff.units.in_order(["1 us", "64 KiB"]) == ["1 us", "64 KiB"] and ff.units.in_order(["b", "a", "b"]) == ["b", "a"]


def an_unfinished_run_opens_and_is_marked(path):
    folder = os.path.dirname(path)
    run = ff.open(os.path.join(folder, "cut_off.h5.partial"))
    assert run.digest is None and run.end_reason == "running" and not run.finished and run.scopes == []
    assert run.timeseries("driver")["batches"].values[:, 0].tolist() == [12, 112, 212, 312, 412]
    assert "is in progress or was killed" in repr(run), repr(run)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert ff.open(os.path.join(folder, "cut_off.h5")).path.endswith(".partial")
    assert len(said) == 1 and "cut_off.h5 does not exist; opening " in str(said[0].message), said
    stopped = copy(path, "stopped.h5.partial")
    with h5py.File(stopped, "r+") as f:
        f.attrs["end_reason"] = numpy.bytes_("deadlock")
    assert "stopped early (deadlock)" in repr(ff.open(stopped)) and not ff.open(stopped).finished


def rows_that_some_datasets_lack_are_left_out(path):
    other = copy(path, "short.h5")
    with h5py.File(other, "r+") as f:
        for name, rows in (("timeseries/l2_tlb/hits", 90), ("tables/kernels/name", 70)):
            short = f[name][:rows]
            attributes = {k: v for k, v in f[name].attrs.items() if k in ("units", "long_name", "kind")}
            scales = [d[0].name for d in f[name].dims]
            del f[name]
            d = f.create_dataset(name, data=short)
            d.attrs.update(attributes)
            for dim, scale in zip(d.dims, scales):
                dim.attach_scale(f[scale])
    run = ff.open(other)
    data = run.timeseries("l2_tlb")
    assert data.sizes["time_ps"] == 90 and data["latency"].values.shape == (90, 2, 4) and len(run.table("kernels")) == 70


def a_file_is_open_only_while_it_is_read_or_within_with(path):
    def handles():
        return sum(os.path.realpath(f"/proc/self/fd/{n}") == os.path.realpath(path) for n in os.listdir("/proc/self/fd"))
    run = ff.open(path)
    data = run.timeseries("l2_tlb")
    data["hits"].load()
    assert handles() == 0
    with ff.open(path) as held:
        assert held.table("kernels").shape == (834, 3) and handles() == 1
    assert handles() == 0 and held.seed == 7
    gone = ff.open(copy(path, "gone.h5"))
    os.remove(gone.path)
    refused(gone.__enter__, "gone.h5: no such file")


def a_missing_name_is_refused_with_the_existing_ones(path):
    run = ff.open(path)
    refused(lambda: run.timeseries("l3_tlb"), "'l3_tlb'", "driver, driver.by_application, l2_tlb")
    refused(lambda: run.timeseries("l2_tlb", ["hit"]), "'hit'", "hits")
    refused(lambda: run.table("copies"), "'copies'", "fault_batches, kernels")
    refused(lambda: run.summary("node"), "'node'", "gpu, machine")
    refused(lambda: run.group("nothing"), "'nothing'")
    cut_off = ff.open(os.path.join(os.path.dirname(path), "cut_off.h5.partial"))
    refused(cut_off.summary, "'machine'", "available so far: none")


def another_file_is_refused_in_one_sentence(path):
    folder = os.path.dirname(path)
    for name, content in (("text.h5", b"not HDF5"), ("empty.h5", b"")):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)
    h5py.File(os.path.join(folder, "foreign.h5"), "w").close()
    with open(path, "rb") as f, open(os.path.join(folder, "half.h5"), "wb") as half:
        half.write(f.read()[:20_000])
    for name, why in (("text.h5", "not an HDF5 file"), ("empty.h5", "it is empty"), ("foreign.h5", "no schema_version"),
                      ("half.h5", "damaged"), ("missing.h5", "no such file"), (".", "open_sweep")):
        refused(lambda: ff.open(os.path.join(folder, name)), os.path.join(folder, name), why)


def damage_within_a_file_is_refused_in_one_sentence(path):
    other = copy(path, "damaged.h5")
    with h5py.File(other, "r+") as f:
        chunk = f["timeseries/l2_tlb/latency"].id.get_chunk_info(0)
        del f["topology/nodes/name"], f["config/toml"]
        write(f["config"], "toml", "entries = = 1")
    with open(other, "r+b") as f:
        f.seek(chunk.byte_offset)
        f.write(b"\xff" * 64)
    run = ff.open(other)
    refused(lambda: run.timeseries("l2_tlb")["latency"].values, other, "damaged")
    refused(lambda: run.machine, other, "damaged")
    refused(lambda: run.config, other, "configuration is damaged")


def data_of_another_type_or_shape_is_damage(path):
    def changed(change):
        other = copy(path, "changed.h5")
        with h5py.File(other, "r+") as f:
            change(f)
        return other

    def replaced(name, data):
        def replace(f):
            del f[name]
            f.create_dataset(name, data=data)
        return changed(replace)

    def grouped(name):
        def replace(f):
            del f[name]
            f.create_group(name)
        return changed(replace)

    other = replaced("summary/machine/instructions", 7)
    refused(lambda: ff.open(other).figures(["instructions"]), other, "damaged")
    other = grouped("summary/machine/instructions")
    refused(lambda: ff.open(other).figures(["instructions"]), other, "damaged")
    other = replaced("timeseries/l2_tlb/instance", "one text")
    refused(lambda: ff.open(other).timeseries("l2_tlb"), other, "damaged")
    other = replaced("timeseries/l2_tlb/hits", 1)
    refused(lambda: ff.open(other).rates("l2_tlb", "hits"), other, "l2_tlb/hits does not have one value per sample and instance")
    other = changed(lambda f: f.attrs.create("end_reason", 3))
    refused(lambda: ff.open(other), other, "end_reason is not text")
    other = changed(lambda f: f["config"].move("toml", "t\nm"))
    refused(lambda: ff.open(other).config_text, other, "damaged")


def a_result_of_another_version_is_refused_with_its_version(path):
    other = copy(path, "older.h5")
    for version, age in ((min(ff.file.SCHEMA_VERSIONS) - 1, "an older"), (max(ff.file.SCHEMA_VERSIONS) + 1, "a newer")):
        with h5py.File(other, "r+") as f:
            f.attrs.modify("schema_version", version)
        refused(lambda: ff.open(other), f"written by {age} version of Farfault (schema_version {version})")
    for version in ff.file.SCHEMA_VERSIONS:
        with h5py.File(other, "r+") as f:
            f.attrs.modify("schema_version", version)
        assert ff.open(other).seed == 7


def a_table_and_statistics_of_schema_version_2_have_the_names_of_today(path):
    other = copy(path, "renamed.h5")
    with h5py.File(other, "r+") as f:
        f.attrs.modify("schema_version", 2)
        f.move("tables/fault_batches", "tables/under_way")
        f.move("timeseries/l2_tlb/hits", "timeseries/l2_tlb/time_under_way")
        f.move("summary/machine/instructions", "summary/machine/sm_blocks_given_way")
    before, run = ff.open(path), ff.open(other)
    assert run.tables == ["kernels", "outstanding"]
    assert run.table("outstanding").equals(before.table("fault_batches"))
    series = run.timeseries("l2_tlb")
    assert "time_outstanding" in series and "time_under_way" not in series
    assert series["time_outstanding"].dims == ("time_ps", "instance")
    assert (series["time_outstanding"].values == before.timeseries("l2_tlb")["hits"].values).all()
    assert run.deltas("l2_tlb", "time_outstanding").sizes == before.deltas("l2_tlb", "hits").sizes
    assert run.figure_names() == ["sm_blocks_swapped_out"] and run.figures(["sm_blocks_swapped_out"]) == {"sm_blocks_swapped_out": 42}
    assert run.summary()["sm_blocks_swapped_out"].tolist() == [42]


TESTS = (it_describes_the_run, a_file_of_an_earlier_version_has_no_title, a_run_without_unused_settings_has_an_empty_table_of_them,
         links_name_the_nodes_at_their_ends, series_have_units_and_are_read_when_used,
         tables_and_summaries_are_pandas_tables_with_units, only_requested_columns_are_read, rates_are_differences_over_time,
         a_mean_over_time_weighs_each_sample_by_its_interval,
         samples_at_one_time_are_one_interval_and_picoseconds_become_a_share,
         bytes_are_counted_per_second_and_large_counts_stay_what_they_are, a_ratio_without_events_is_nan,
         a_component_belongs_to_the_device_that_its_path_starts_with, quantities_are_numbers_of_the_smallest_unit,
         an_unfinished_run_opens_and_is_marked, rows_that_some_datasets_lack_are_left_out,
         a_file_is_open_only_while_it_is_read_or_within_with, a_missing_name_is_refused_with_the_existing_ones,
         another_file_is_refused_in_one_sentence,
         damage_within_a_file_is_refused_in_one_sentence, data_of_another_type_or_shape_is_damage,
         a_table_and_statistics_of_schema_version_2_have_the_names_of_today,
         a_result_of_another_version_is_refused_with_its_version)

if __name__ == "__main__":
    sys.exit(main(TESTS, sample))
