# SPDX-License-Identifier: Apache-2.0
"""Opens the table of a sweep with h5py and xarray, and compares it with its CSV and the results of its runs.

Usage: python3 test_sweep_table.py BUILD_FOLDER/anything
"""
import csv
import os
import subprocess
import sys
import tempfile
import traceback

import h5py
import numpy
import xarray

farfault = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "farfault")
# One of three sizes does not fit the machine.
STUDY = """
base = "paper-gmmu-bypass"
[config]
gpu.sms = 2
workload.name = "random_access"
workload.random_access.threads = 1024
[sweep]
output = "out"
seeds = [5, 2]
[sweep.grid]
workload.random_access.size = ["1 MiB", "512 GiB", "512 KiB"]
gpu.l2_tlb.entries = [64]
"""


def runs_of(folder):
    return xarray.open_dataset(os.path.join(folder, "sweep.h5"), group="runs", engine="h5netcdf")


def the_table_describes_itself(folder):
    with h5py.File(os.path.join(folder, "sweep.h5")) as f:
        assert set(f) == {"runs", "spread"}, list(f)
        assert f.attrs["kind"] == b"sweep" and f.attrs["Conventions"] == b"CF-1.10"
        assert f.attrs["farfault_version"] and f.attrs["schema_version"] == 3


def columns_have_one_dimension_and_a_role(folder):
    with runs_of(folder) as runs:
        assert dict(runs.sizes) == {"run": 6}
        roles = {name: runs[name].attrs.get("role") for name in runs}
        parameters = sorted(n for n, r in roles.items() if r == "parameter")
        assert parameters == ["gpu.l2_tlb.entries", "run.seed", "workload.random_access.size"], parameters
        assert sorted(n for n, r in roles.items() if r is None) == ["error", "result", "result_digest", "state"]
        assert sum(r == "figure" for r in roles.values()) > 50
        assert runs["run"].values.tolist() == list(range(6))
        assert runs["end"].attrs["units"] == "ps"
        assert all(runs[name].attrs["long_name"] for name in runs)


def numbers_are_numbers_and_quantities_are_text(folder):
    with h5py.File(os.path.join(folder, "sweep.h5")) as f:
        assert f["runs/gpu.l2_tlb.entries"].dtype == numpy.uint64
        assert f["runs/run.seed"][:].tolist() == [5, 2] * 3
        assert f["runs/workload.random_access.size"][:].tolist() == [b"1 MiB"] * 2 + [b"512 GiB"] * 2 + [b"512 KiB"] * 2


def figures_are_those_of_the_results(folder):
    with runs_of(folder) as runs:
        for row in (0, 1, 4, 5):
            path = os.path.join(folder, str(runs["result"].values[row]))
            with xarray.open_dataset(path, group="summary/machine", engine="h5netcdf") as of_run, h5py.File(path) as f:
                for name in of_run:
                    if of_run[name].dtype.kind in "uif":
                        assert of_run[name].values[0] == runs[name].values[row], name
                assert f.attrs["result_digest"].decode() == str(runs["result_digest"].values[row])


def a_failed_run_has_a_reason_and_no_figures(folder):
    with runs_of(folder) as runs:
        assert runs["state"].values.tolist() == ["done", "done", "failed", "failed", "done", "done"]
        assert "more than the machine's memory" in str(runs["error"].values[2])
        assert str(runs["result"].values[2]) == ""
        assert numpy.isnan(runs["end"].values[2]) and not numpy.isnan(runs["end"].values[0])


def the_csv_has_the_same(folder):
    with open(os.path.join(folder, "sweep.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    with runs_of(folder) as runs:
        assert set(rows[0]) == set(runs.variables)
        for row, line in enumerate(rows):
            assert line["run"] == str(row)
            for name in ("state", "error", "workload.random_access.size"):
                assert line[name] == str(runs[name].values[row]), name
            assert line["end"] == ("" if line["state"] == "failed" else str(int(runs["end"].values[row])))


def the_spread_is_over_the_seeds(folder):
    with xarray.open_dataset(os.path.join(folder, "sweep.h5"), group="spread", engine="h5netcdf") as spread, \
            runs_of(folder) as runs:
        assert dict(spread.sizes) == {"point": 3} and "run.seed" not in spread
        assert spread["seeds"].values.tolist() == [2, 0, 2]
        ends = runs["end"].values.reshape(3, 2)
        assert ends[0, 0] < ends[0, 1] or ends[2, 0] < ends[2, 1], "results depend on the seed, and the last one is not the only minimum"
        for name, of in (("end_mean", numpy.mean), ("end_smallest", numpy.min), ("end_largest", numpy.max)):
            expected = of(ends, axis=1)
            assert numpy.array_equal(spread[name].values, expected, equal_nan=True), (name, spread[name].values)


TESTS = (the_table_describes_itself, columns_have_one_dimension_and_a_role, numbers_are_numbers_and_quantities_are_text,
         figures_are_those_of_the_results, a_failed_run_has_a_reason_and_no_figures, the_csv_has_the_same,
         the_spread_is_over_the_seeds)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        study = os.path.join(folder, "study.toml")
        with open(study, "w") as file:
            file.write(STUDY)
        done = subprocess.run([farfault, "sweep", study, "--progress", "off"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        assert done.returncode == 1, done.returncode  # two runs have failed
        for test in TESTS:
            try:
                test(os.path.join(folder, "out"))
                passed += 1
            except Exception:
                failed += 1
                print(f"FAILED: {test.__name__}")
                traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
