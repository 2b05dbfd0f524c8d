# SPDX-License-Identifier: Apache-2.0
"""Traffic between devices, use of links, and final page placement, from tables written at the end of a run."""
import numpy
import pandas

from .calls import charge
from .errors import unknown

# The tables and their contents.
TABLES = {"traffic": "traffic between devices", "links": "link utilization", "page_placement": "page placement"}
# Kinds of devices, in display order.
DEVICES = ("gpu", "cpu", "nic")


def traffic(run, what):
    """From each device (rows) to each other device (columns)."""
    if what not in ("bytes", "packets"):
        raise unknown(run.path, "traffic in", what, ["bytes", "packets"])
    pairs = _table(run, "traffic", ("from", "to", what))
    names = _in_order(run, {*pairs["from"], *pairs["to"], *_devices(run)})
    _charge_square(len(names), len(names), "traffic")
    place = {name: i for i, name in enumerate(names)}
    values = numpy.zeros((len(names), len(names)), dtype="int64")
    numpy.add.at(values, (pairs["from"].map(place).to_numpy(dtype=int), pairs["to"].map(place).to_numpy(dtype=int)),
                 pairs[what].to_numpy(dtype="int64"))
    table = pandas.DataFrame(values, pandas.Index(names, name="from"), pandas.Index(names, name="to"))
    return _labelled(table, pairs, what, names)


def links(run):
    """Each direction of each link, with its busy share of the run.

    A packet adds all its time when its transmission begins. In a run that is stopped during the transmission, the sum
    can exceed the run time; the share is then 1.
    """
    columns = ["link", "from", "to", "sender", "bandwidth", "packets", "bytes", "busy_time"]
    table = _table(run, "links", columns)
    units, names = table.attrs["units"], table.attrs["long_name"]
    table = table[columns].copy()
    if "kind" in run.machine.links:
        table.insert(3, "kind", run.machine.links["kind"].reindex(table["link"]).to_numpy())
    end = run.figures(["end"]).get("end", 0)
    table["busy"] = (table["busy_time"] / end).clip(upper=1.0) if end > 0 else 0.0
    table.attrs = {"units": {**{c: units.get(c, "1") for c in table}, "busy": "1"},
                   "long_name": {**{c: names.get(c, c) for c in table}, "kind": "Kind of the link",
                                 "busy": "Utilization as a share of the run"}}
    return table


def placement(run):
    """Pages of each buffer (rows) on each device (columns) at the end."""
    table = _table(run, "page_placement", ("application", "buffer", "device", "pages"))
    rows = [c for c in ("machine", "application", "buffer") if c in table]
    devices = _in_order(run, {*table["device"], *_devices(run)})
    _charge_square(len(table[rows].drop_duplicates()), len(devices), "page placement")
    pages = table.pivot_table(index=rows, columns="device", values="pages", aggfunc="sum", fill_value=0, sort=False)
    return _labelled(pages.reindex(columns=devices, fill_value=0).astype("int64"), table, "pages", devices)


def _charge_square(rows, columns, what):
    """Charges a table with a cell for each pair of names. pandas holds up to four copies while it fills the table."""
    charge(4 * 8 * rows * columns, f"the {what} of {rows} x {columns} names")


def _in_order(run, names):
    """GPUs, CPUs and NICs, each in the order of the machine; other names follow."""
    nodes = run.machine.nodes
    place = {name: (DEVICES.index(kind) if kind in DEVICES else len(DEVICES), i)
             for i, (name, kind) in enumerate(zip(nodes["name"], nodes["kind"]))}
    return sorted(names, key=lambda name: (place.get(name, (len(DEVICES) + 1, 0)), name))


def _devices(run):
    """The GPUs and CPUs of the machine."""
    nodes = run.machine.nodes
    return nodes["name"][nodes["kind"].isin(("gpu", "cpu"))]


def _table(run, name, columns):
    """A table that is written at the end of the run. Empty if the file has it without rows."""
    if name in run.tables:
        table = run.table(name)
        if set(columns) <= set(table):
            return table
    elif run.figures(["sm_access_time"]):
        empty = pandas.DataFrame({c: [] for c in columns}).rename_axis("row")
        empty.attrs = {"units": {}, "long_name": {}}
        return empty
    raise run.lacks(TABLES[name])


def _labelled(table, source, what, names):
    unit, text = (source.attrs[key].get(what, default) for key, default in (("units", "1"), ("long_name", what)))
    table.attrs = {"units": {n: unit for n in names}, "long_name": {n: text for n in names}}
    if "description" in source.attrs:
        table.attrs["description"] = source.attrs["description"]
    return table
