# SPDX-License-Identifier: Apache-2.0
"""Opens a sample result with h5py and xarray, like a program without knowledge of Farfault.

Usage: python3 test_layout.py PATH/TO/test_hdf5_schemas
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from package_tests import h5py, main, numpy, sample  # noqa: E402

import xarray  # noqa: E402


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
        assert data["bin"].values.tolist() == [0, 1, 2, 3]
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


def ncdump_style_dimensions_are_complete(path):
    with h5py.File(path) as f:
        hits = f["timeseries/l2_tlb/hits"]
        assert [hits.file[r] for r, in hits.attrs["DIMENSION_LIST"]] == [hits.dims[0][0], hits.dims[1][0]]
        assert [f[r] for r, axis in f["timeseries/l2_tlb/instance"].attrs["REFERENCE_LIST"] if axis == 1][0] == hits
        assert hits.dims[0].keys() == ["time_ps"] and hits.dims[1].keys() == ["instance"]
        assert hits.compression == "gzip" and hits.shuffle and hits.chunks[0] > 1
        assert f["timeseries/l2_tlb/time_ps"].attrs["CLASS"] == b"DIMENSION_SCALE"


TESTS = (every_dataset_has_units_and_a_long_name, no_text_has_a_variable_length, xarray_opens_every_group, series_have_named_dimensions,
         series_by_application_have_its_name_as_a_coordinate, ncdump_style_dimensions_are_complete)

if __name__ == "__main__":
    sys.exit(main(TESTS, sample))
