"""Results of Farfault in Python: one HDF5 file per run, as xarray datasets.

    import farfault_results as ff
    run = ff.open_result("run.h5")
    run.series("l2_tlb")["hits"].sel(instance="gpu0.l2_tlb").diff("time_ps")
    run.table("kernels").to_dataframe()
    run.summary("gpu")["instructions"]
    run.config["gpu"]["l2_tlb"]["entries"]       # Python 3.11 or later

Needs h5py, h5netcdf and xarray. Without this file the same data is one line away:
    xarray.open_dataset("run.h5", group="timeseries/l2_tlb", engine="h5netcdf")
The layout is described in README.md beside this file.
"""
import os

import h5py
import xarray

SCHEMA_VERSION = 2


class NotAResult(ValueError):
    """The file is not a result that this reader knows."""


class Result:
    """One run. Data is loaded when asked for; the file is not kept open."""

    def __init__(self, path):
        self.path = os.fspath(path)
        try:
            with h5py.File(self.path, "r") as f:
                self.attributes = {name: _plain(value) for name, value in f.attrs.items()}
                self.kinds = sorted(f["timeseries"]) if "timeseries" in f else []
                self.tables = sorted(f["tables"]) if "tables" in f else []
                self.scopes = sorted(f["summary"]) if "summary" in f else []
        except OSError as problem:
            raise NotAResult(f"{self.path}: {problem}") from None
        version = self.attributes.get("schema_version")
        if version is None:
            raise NotAResult(f"{self.path}: it has no schema_version, so it is no result of Farfault")
        if version != SCHEMA_VERSION:
            age = "an older" if version < SCHEMA_VERSION else "a newer"
            raise NotAResult(f"{self.path}: it was written by {age} version of Farfault (schema_version {version}); "
                             f"this reader reads schema_version {SCHEMA_VERSION}")

    @property
    def digest(self):
        """Equal for equal results; None for the file of a run that did not finish."""
        return self.attributes.get("result_digest")

    @property
    def end_reason(self):
        return self.attributes["end_reason"]

    @property
    def config_text(self):
        with h5py.File(self.path, "r") as f:
            return f["config/toml"].asstr()[()]

    @property
    def config(self):
        import tomllib

        return tomllib.loads(self.config_text)

    def group(self, name):
        """Any group as an xarray.Dataset; plots take their labels from its `long_name` and `units`."""
        with xarray.open_dataset(self.path, group=name, engine="h5netcdf", decode_times=False) as data:
            return data.load()

    def series(self, kind):
        """Statistics of one kind of component over simulated time: [time_ps, instance(, bin)]."""
        return self.group(f"timeseries/{kind}")

    def table(self, name):
        """One row for each occurrence of something; `.to_dataframe()` gives it to pandas."""
        return self.group(f"tables/{name}")

    def summary(self, scope="machine"):
        """Totals of the run by name: scope "machine", "gpu" or "application"."""
        return self.group(f"summary/{scope}")

    def engine(self):
        """How the simulator itself did, and where: not part of the result."""
        return self.group("engine")

    def topology(self):
        """The machine as simulated: (nodes, links)."""
        return self.group("topology/nodes"), self.group("topology/links")


def open_result(path):
    return Result(path)


def deltas(series, metric):
    """What a counter or histogram grew by between samples; in long runs these lie ever further apart."""
    if series[metric].attrs.get("kind") == "level":
        raise ValueError(f"{metric} is a level: its samples are amounts, not sums")
    return series[metric].astype("int64").diff("time_ps")


def ratio(numerator, denominator):
    """numerator / denominator, NaN where nothing happened."""
    return numerator / denominator.where(denominator != 0)


def _plain(value):
    value = value.item() if hasattr(value, "item") else value
    return value.decode() if isinstance(value, bytes) else value
