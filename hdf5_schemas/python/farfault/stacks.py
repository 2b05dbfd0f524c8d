# SPDX-License-Identifier: Apache-2.0
"""Time stacks: access time by stage, SM time by activity. Each adds up to a total."""
import numpy
import pandas
import xarray

from . import rates
from .palette import ACTIVITIES, STAGES, SWAPPED_OUT

# Activities of the warps of a kernel or an application on the SMs that hold its blocks. outside: no block is in the
# SM's slots.
RESIDENT = {**{what: word for what, word in ACTIVITIES.items() if what != "idle"}, **SWAPPED_OUT}
STACK = {**{stage: f"time_in_{stage}" for stage in STAGES}, "outstanding": "time_outstanding", "access_time": "access_time",
         "transactions": "transactions"}
NAMED_BY = ("machine", "application", "stream")  # columns of kernels that identify their owner
IF_FETCHED = "fetch_stall"  # counted only if SMs fetch instructions
SUMS = ("access_time", "transactions")  # columns of a latency stack that are not stages


def latency(run, by):
    """A column per stage, one for outstanding accesses, and the total time and number of the accesses."""
    run.check_by(by, ("machine", "gpu", "application", "kernel"), "latency stack")
    if by == "kernel":
        table = _of_kernels(run, {name: column for name, column in STACK.items() if name != "outstanding"}, "latency stack")
        table.insert(len(STAGES), "outstanding", 0)  # a kernel ends after all its accesses
        table.attrs["units"]["outstanding"], table.attrs["long_name"]["outstanding"] = "ps", "Time of outstanding accesses; 0 for completed kernels"
        return table
    if by == "application":
        return _of_applications(run, STACK, "latency stack")
    return _of_summary(run, by, _in_summary(STACK), "latency stack")


def stalls(run, by):
    """A column per activity, and the total: time of the SMs, or time in which they held blocks of an application or
    kernel."""
    run.check_by(by, ("machine", "gpu", "application", "kernel"), "SM times")
    if by in ("application", "kernel"):
        columns = {**{what: f"resident_{what}_time" for what in RESIDENT}, "resident_time": "resident_time"}
        return _of_kernels(run, columns, "SM times") if by == "kernel" else _of_applications(run, columns, "SM times")
    columns = {**{what: f"sm_{what}_time" for what in ACTIVITIES}, "sm_time": "sm_time"}
    return _of_summary(run, by, columns, "SM times")


def latency_deltas(run, gpu, application):
    """Increase of each stage in each interval: [time_ps, stage]."""
    kind = "sm.by_gpu"
    if application is not None:
        if "sm.by_gpu.by_application" in run.kinds:
            kind = "sm.by_gpu.by_application"
        else:
            run.check_named(application, _applications(run), "application")
    if kind not in run.kinds:
        raise run.lacks("latency stack over time")
    series = run.timeseries(kind, [STACK[stage] for stage in STAGES])
    instances = _instances(run, series, gpu, application if "application" in series.coords else None)
    grown = [rates.deltas(series.isel(instance=instances), STACK[stage], run.path).sum("instance") for stage in STAGES]
    together = xarray.concat([g.drop_vars("application", errors="ignore") for g in grown],
                             xarray.DataArray(list(STAGES), dims="stage", name="stage")).transpose("time_ps", "stage")
    together = together[(together["time_ps"] > together["start_ps"]).values]
    return together.rename("time_in_stages").assign_attrs(
        units="ps", long_name="Access time by stage; each stage is counted when it ends")


def over_time(grown):
    """Time that accesses spent in an interval, divided by its length: average number of outstanding accesses."""
    return (grown / (grown["time_ps"] - grown["start_ps"])).rename("accesses").assign_attrs(
        units="1", long_name="Average outstanding accesses by stage; each stage is counted when it ends")


def _instances(run, series, gpu, application):
    """The indices of the instances of a GPU, an application, or both; all instances if neither is given."""
    names = series["instance"].values
    of = numpy.array([n.split("/")[0] for n in names])
    chosen = numpy.ones(len(names), dtype=bool)
    if gpu is not None:
        run.check_named(gpu, list(dict.fromkeys(of)), "GPU")
        chosen &= of == gpu
    if application is not None:
        whose = series["application"].values
        run.check_named(application, list(dict.fromkeys(whose)), "application")
        chosen &= whose == application
    return numpy.flatnonzero(chosen)


def _applications(run):
    return list(run.summary("application").index) if "application" in run.scopes else []


def _in_summary(columns):
    return {name: f"sm_{column}" for name, column in columns.items()}


def _of_summary(run, scope, columns, what):
    return _chosen(run, run.final_summary(scope, what, columns.values()), columns, what)


def _of_applications(run, columns, what):
    columns = _in_summary(columns)
    table = run.final_summary("application", what, columns.values())
    if not {c for name, c in columns.items() if name != IF_FETCHED} <= set(table) and len(table) == 1:
        whole = run.final_summary("machine", what, columns.values())  # a single application owns all of it
        whole.index = table.index
        table = whole
    return _chosen(run, table, columns, what)


def _of_kernels(run, columns, what):
    if "kernels" not in run.tables:
        raise run.lacks(what)
    kernels = run.columns_there("tables/kernels", "row", ["name", *NAMED_BY, "launch", *columns.values()])
    table = _chosen(run, kernels, columns, what)
    table.index = pandas.Index(_names(kernels), name="name")
    return table


def _names(kernels):
    """`bfs_level0`; with several applications or machines `m0/bfs/bfs_level0`; repeated names get their launch number."""
    parts = [kernels[c].astype(str) for c in NAMED_BY if c in kernels]
    names = ["/".join(of_one) for of_one in zip(*parts, kernels["name"])]
    if "launch" in kernels and len(set(names)) < len(names):
        names = [f"{n}#{launch}" for n, launch in zip(names, kernels["launch"])]
    return names


def _chosen(run, table, columns, what):
    """These columns of a table, under these names."""
    columns = {name: column for name, column in columns.items() if name != IF_FETCHED or column in table}
    if not set(columns.values()) <= set(table):
        raise run.lacks(what)
    chosen = table[list(columns.values())].set_axis(list(columns), axis=1)
    chosen.attrs = {key: {new: table.attrs[key][old] for new, old in columns.items()} for key in ("units", "long_name")}
    return chosen
