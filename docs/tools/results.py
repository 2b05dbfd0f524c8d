# SPDX-License-Identifier: Apache-2.0
"""The page of a result's layout: groups, datasets and attributes of the file of a small run, with their own descriptions."""
import os
import re
import tempfile

import h5py
import markdown as md
from words import Name, anchor_of, target

PAGE = "reference/results"
RUN = ("paper-gmmu-bypass", "--set", "workload.name=transpose", "--set", "workload.transpose.width=64", "--set",
       "workload.transpose.height=64", "--set", "gpu.sms=1", "--set", "memory.remote_touch=migrate")
# Totals of statistics, which the page of statistics describes.
TOTAL = re.compile(r"\(\w+, total\)$")
# Attributes that tie datasets to their dimension scales.
SCALES = ("CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Encoding")


def plain(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def kind_of(dataset):
    return "text" if dataset.dtype.kind == "S" else str(dataset.dtype)


def shape_of(dataset):
    scales = [scale[0].name.rpartition("/")[2] for scale in dataset.dims if len(scale)]
    return "[" + ", ".join(scales) + "]" if scales else "scalar" if dataset.shape == () else "[" + dataset.name.rpartition("/")[2] + "]"


def layout(file):
    """{group: [(name, shape, type, unit, text)]} without time series and tables."""
    found = {}

    def add(path, item):
        if not isinstance(item, h5py.Dataset) or path.startswith(("timeseries/", "tables/")):
            return
        text = plain(item.attrs.get("long_name", ""))
        if not TOTAL.search(text):
            group, _, name = path.rpartition("/")
            found.setdefault("/" + group, []).append((name, shape_of(item), kind_of(item), plain(item.attrs.get("units", "1")), text))

    file.visititems(add)
    return found


def example(program):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.h5")
        program.said("run", *RUN, "--output", path, "--progress", "off", "--threads", "1")
        with h5py.File(path) as file:
            series = next(d for d in file["timeseries/sm"].values() if len(d.dims) == 2)
            own = [[f"`{name}`", md.code_in_table(plain(series.attrs[name])) or " "] for name in sorted(series.attrs) if name not in SCALES]
            return layout(file), sorted(file.attrs), own


def pages(program):
    groups, root, series = example(program)
    lines = ["# Layout of a result", "", "A result is one HDF5 file. These are the groups, datasets and attributes of the result of a small run, with the "
             "`long_name` and `units` that the file contains. [Statistics](statistics.md) and [tables](tables.md) have pages of their own: "
             "`/timeseries/KIND/NAME` and `/tables/NAME/COLUMN`.", "",
             target("result attributes"), "## Root attributes", "", ", ".join(f"`{name}`" for name in root) + ".", "",
             "## Attributes of a time series", "", md.table(["Attribute", "Example"], series), ""]
    names = []
    for group, members in groups.items():
        lines += [target(group), f"## `{group}`", ""]
        if group.startswith("/summary/"):
            lines += ["One row per machine, GPU or application. `KIND_NAME` is the total of `/timeseries/KIND/NAME`; other columns:", ""]
        rows = [[f"`{name}`", md.text(shape), kind, md.text(unit), md.text(text)] for name, shape, kind, unit, text in members]
        lines += [md.table(["Dataset", "Shape", "Type", "Unit", "Description"], rows), ""]
        names.append(Name(group, PAGE, anchor_of(group), "result"))
    return {PAGE + ".md": "\n".join(lines)}, names
