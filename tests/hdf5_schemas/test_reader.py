"""Opens a sample result with h5py, xarray and the Python reader.

Usage: python3 test_reader.py PATH/TO/test_hdf5_schemas
"""
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import h5py
import numpy
import xarray

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "hdf5_schemas"))
import farfault_results as ff  # noqa: E402


def every_dataset_has_units_and_a_long_name(path):
    bare = []

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            bare.extend(f"{name}: {a}" for a in ("units", "long_name") if not item.attrs.get(a))

    with h5py.File(path) as f:
        f.visititems(visit)
        assert len(f) == 6, list(f)
        assert f.attrs["Conventions"] == b"CF-1.10"
    assert bare == [], bare


def no_text_has_a_variable_length(path):
    found = []

    def check(name, dtype):
        text = h5py.check_string_dtype(dtype)
        if text is not None and text.length is None:
            found.append(name)

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            check(name, item.dtype)
        for attribute in item.attrs:
            check(f"{name}: {attribute}", item.attrs.get_id(attribute).dtype)

    with h5py.File(path) as f:
        f.visititems(visit)
        visit("/", f)
    assert found == [], found


def xarray_opens_every_group(path):
    with h5py.File(path) as f:
        groups = []
        f.visititems(lambda name, item: groups.append(name) if isinstance(item, h5py.Group) else None)
        sizes = {name: sum(isinstance(x, h5py.Dataset) for x in f[name].values()) for name in groups}
    for name in groups:
        with xarray.open_dataset(path, group=name, engine="h5netcdf") as data:
            assert len(data.variables) == sizes[name], name


def series_by_application_have_its_name_as_a_coordinate(path):
    with xarray.open_dataset(path, group="timeseries/driver.by_application", engine="h5netcdf") as data:
        assert data["application"].dims == ("instance",)
        assert data["batches"].coords["application"].values.tolist() == ["fir", "bfs"]
        last = data["batches"].isel(time_ps=-1)
        assert last.groupby("application").sum().sel(application="bfs") == last.values[1]
    with xarray.open_dataset(path, group="timeseries/driver", engine="h5netcdf") as data:
        assert "application" not in data.variables


def series_have_named_dimensions(path):
    with xarray.open_dataset(path, group="timeseries/l2_tlb", engine="h5netcdf") as data:
        assert data["hits"].dims == ("time_ps", "instance")
        assert data["latency"].dims == ("time_ps", "instance", "bin")
        assert data["bin"].values.tolist() == [0, 1, 2, 4]
        assert data["instance"].values.tolist() == ["gpu0.l2_tlb", "gpu1.l2_tlb"]
        assert data["hits"].attrs["kind"] == "counter" and data["occupancy"].attrs["kind"] == "level"
        assert data["latency"].attrs["bin_unit"] == "ps" and data["latency"].attrs["units"] == "1"
        samples = data.sizes["time_ps"]
        assert samples == 2500
        expected = numpy.arange(samples, dtype="uint64")[:, None] * 100
        assert (data["hits"].values == expected + numpy.array([0, 1], dtype="uint64")).all()
        assert (data["occupancy"].values == expected + numpy.array([2, 3], dtype="uint64")).all()
        bins = numpy.arange(4, 12, dtype="uint64").reshape(2, 4)
        assert (data["latency"].values == expected[:, :, None] + bins).all()
        assert float(data["hits"].sel(time_ps=7000, instance="gpu1.l2_tlb")) == 701


def the_reader_gives_series_tables_and_summary(path):
    run = ff.open_result(path)
    assert run.kinds == ["driver", "driver.by_application", "l2_tlb"] and run.tables == ["fault_batches", "kernels"]
    assert run.end_reason == "completed" and len(run.digest) == 32
    hits = run.series("l2_tlb")
    assert (ff.deltas(hits, "hits") == 100).all() and hits["hits"].attrs["units"] == "1"
    try:
        ff.deltas(hits, "occupancy")
        raise AssertionError("a level has no deltas")
    except ValueError:
        pass
    kernels = run.table("kernels")
    assert kernels["name"].values[:2].tolist() == ["kernel 0", "kernel 3"]
    assert kernels["balance"].values[:3].tolist() == [1, -2, -5]
    assert kernels.to_dataframe().shape == (834, 3)
    assert run.table("fault_batches")["faults"].values.tolist() == list(range(0, 5000, 2))
    gpu = run.summary("gpu")
    assert gpu["instructions"].sel(name="gpu1") == 12
    assert gpu["faults"].sel(name="gpu0") == 3 and numpy.isnan(gpu["faults"].sel(name="gpu1"))
    assert int(run.summary()["instructions"][0]) == 42
    assert run.engine()["partition_load"].values.tolist() == [0.25, 0.75] and run.engine()["host"] == "node7"
    nodes, links = run.topology()
    assert nodes["name"].values[links["b"].values].tolist() == ["cpu0", "cpu0"]
    assert run.config["gpu"]["l2_tlb"]["entries"] == 512


def the_file_of_a_cut_off_run_reads_the_same_way(path):
    run = ff.open_result(os.path.join(os.path.dirname(path), "cut_off.h5.partial"))
    assert run.digest is None and run.end_reason == "running" and run.scopes == []
    assert run.series("driver")["batches"].values[:, 0].tolist() == [12, 112, 212, 312, 412]


def another_file_is_refused(path):
    for name, make in (("foreign.h5", lambda p: h5py.File(p, "w").close()), ("text.h5", lambda p: open(p, "w").close())):
        other = os.path.join(os.path.dirname(path), name)
        make(other)
        try:
            ff.open_result(other)
            raise AssertionError("accepted")
        except ff.NotAResult:
            pass


def a_result_of_another_version_is_refused_with_its_version(path):
    other = os.path.join(os.path.dirname(path), "older.h5")
    shutil.copy(path, other)
    for version, age in ((1, "an older"), (3, "a newer")):
        with h5py.File(other, "r+") as f:
            f.attrs.modify("schema_version", version)
        try:
            ff.open_result(other)
            raise AssertionError("accepted")
        except ff.NotAResult as problem:
            assert f"written by {age} version of Farfault (schema_version {version})" in str(problem), problem


def ncdump_style_dimensions_are_complete(path):
    with h5py.File(path) as f:
        hits = f["timeseries/l2_tlb/hits"]
        assert [hits.file[r] for r, in hits.attrs["DIMENSION_LIST"]] == [hits.dims[0][0], hits.dims[1][0]]
        assert [f[r] for r, axis in f["timeseries/l2_tlb/instance"].attrs["REFERENCE_LIST"] if axis == 1][0] == hits
        assert hits.dims[0].keys() == ["time_ps"] and hits.dims[1].keys() == ["instance"]
        assert hits.compression == "gzip" and hits.shuffle and hits.chunks[0] > 1
        assert f["timeseries/l2_tlb/time_ps"].attrs["CLASS"] == b"DIMENSION_SCALE"


TESTS = (every_dataset_has_units_and_a_long_name, no_text_has_a_variable_length, xarray_opens_every_group, series_have_named_dimensions,
         series_by_application_have_its_name_as_a_coordinate,
         the_reader_gives_series_tables_and_summary, the_file_of_a_cut_off_run_reads_the_same_way,
         another_file_is_refused, a_result_of_another_version_is_refused_with_its_version,
         ncdump_style_dimensions_are_complete)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "-tc=a sample result is left*"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "FARFAULT_SAMPLE_DIR": folder})
        for test in TESTS:
            try:
                test(os.path.join(folder, "finished.h5"))
                passed += 1
            except Exception:
                failed += 1
                print(f"FAILED: {test.__name__}")
                traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
