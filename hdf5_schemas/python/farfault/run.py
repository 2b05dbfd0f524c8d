# SPDX-License-Identifier: Apache-2.0
"""One run: what it was, what came out, read when asked for."""
import os
import warnings
from typing import NamedTuple

import pandas

from . import configuration, datasets, exchange, rates, stacks
from .calls import MAX_BYTES, checked_limit, checked_path, names_of, whole_calls
from .errors import ResultError, in_one_line, unknown
from .file import File, attributes, check_readable, check_version, is_scale, plain, values


class Machine(NamedTuple):
    nodes: pandas.DataFrame
    links: pandas.DataFrame


def open_run(path, *, max_bytes=MAX_BYTES):
    """The result of one run. If only `<path>.partial` exists, that: the result of a run that goes on or was stopped.

    max_bytes: maximum bytes that one call (a table, a series, a plot) loads; above it, the call raises a ResultError.
    """
    path = checked_path(path)
    if not os.path.exists(path) and os.path.exists(path + ".partial"):
        warnings.warn(f"{path} is not there, so {path}.partial is opened: of a run that goes on, or was stopped",
                      stacklevel=2)
        path += ".partial"
    return Run(path, max_bytes=max_bytes)


@whole_calls
class Run:
    """A run's result. `with` keeps its file open; without, each access opens it.

    kinds, tables, scopes: what `timeseries`, `table` and `summary` know.
    """

    def __init__(self, path, parameters=None, max_bytes=MAX_BYTES):
        self.path, self.max_bytes = checked_path(path), checked_limit(max_bytes)
        check_readable(self.path)
        self.parameters = dict(parameters or {})  # of a sweep: what varied, and its value here
        self._file = File(self.path, max_bytes)
        with self._file.reading() as f:
            self._attributes = attributes(f)
            if self._attributes.get("kind") == "sweep":
                raise ResultError(f"{path}: it is the table of a sweep; farfault.open_sweep opens it")
            check_version(path, self._attributes.get("schema_version"))
            for name in ("end_reason", "result_digest", "farfault_version"):
                if not isinstance(self._attributes.get(name, ""), str):
                    raise ResultError(f"{path}: it is damaged: {name} is no text")
            self.kinds, self.tables, self.scopes = (f.group(g).names() if g in f else []
                                                    for g in ("timeseries", "tables", "summary"))

    def __enter__(self):
        # The file of a run that goes on changes below an open handle.
        if self.finished:
            self._file.hold()
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._file.release()

    @property
    def end_reason(self):
        """`completed`, or why the run ended before its end; `running` where it goes on or was killed."""
        return self._attributes.get("end_reason", "running")

    @property
    def finished(self):
        """Whether this is the file of a whole run."""
        return self.end_reason != "running" and not self.path.endswith(".partial")

    @property
    def digest(self):
        """Equal for equal results; None where the run has not ended."""
        return self._attributes.get("result_digest")

    @property
    def version(self):
        return self._attributes.get("farfault_version")

    @property
    def config_text(self):
        return self._scalar("config/toml")

    @property
    def config(self):
        """The resolved configuration, defaults included: run.config["gpu"]["l2_tlb"]["entries"]."""
        return configuration.parsed(self.path, self.config_text)

    @property
    def command_line(self):
        return self._scalar("config/command_line")

    @property
    def seed(self):
        return self._scalar("config/seed")

    @property
    def inputs(self):
        """The files that the run read."""
        return datasets.frame(self._file, "config/inputs", "input")

    @property
    def commit(self):
        """Of the program that made the result; "with changes" where it was built from more than that."""
        return self.engine.get("commit")

    @property
    def host(self):
        return self.engine.get("host")

    @property
    def engine(self):
        """How the simulator itself did, and where, by name: not part of the result."""
        with self._file.reading() as f:
            found = f.group("engine").datasets() if "engine" in f else {}
            return {n: plain(values(d)) if d.shape == () else values(d) for n, d in found.items() if not is_scale(d)}

    @property
    def machine(self):
        """The machine as simulated: nodes and links; the links name the nodes at their ends."""
        nodes = datasets.frame(self._file, "topology/nodes", "node", ("name", "kind"))
        links = datasets.frame(self._file, "topology/links", "link", ("a", "b"))
        for end in ("a", "b"):
            links[end] = nodes["name"].reindex(links[end]).to_numpy()
        return Machine(nodes, links)

    def timeseries(self, kind, metrics=None):
        """Statistics of one kind of component over simulated time: [time_ps, instance(, bin)]. Read when used."""
        self._check(kind, self.kinds, "time series of the kind")
        group = f"timeseries/{kind}"
        if metrics is not None:
            metrics = names_of(metrics, "metrics")
            with self._file.reading() as f:
                there = [n for n in f.group(group).names() if n not in ("time_ps", "instance")]
            for metric in metrics:
                self._check(metric, there, f"statistic of {kind}")
        series = datasets.dataset(self._file, group, metrics, lazy=self.finished)
        for name, data in series.items():
            if data.dims[:2] != ("time_ps", "instance"):
                raise ResultError(f"{self.path}: it is damaged: {group}/{in_one_line(name)} has no value for each sample and instance")
        return series

    def deltas(self, kind, metric, by=None):
        """What a counter or histogram grew by between samples: [time_ps, instance(, bin)]."""
        return self._by(rates.deltas(self.timeseries(kind, [metric]), metric, self.path), by)

    def rates(self, kind, metric, by=None):
        """The same per second of simulated time; a counter of picoseconds becomes a share of the time.

        by="device" sums over the parts of each GPU, CPU and switch: [time_ps, device].
        """
        return self._by(rates.rates(self.timeseries(kind, [metric]), metric, self.path), by)

    def table(self, name, columns=None):
        """One row for each occurrence of something (kernels, migrations, ...); the units are in `.attrs`.

        With columns, only these are read.
        """
        self._check(name, self.tables, "table")
        return self._frame(f"tables/{name}", "row", columns, f"column of {name}")

    def summary(self, scope="machine", columns=None):
        """Totals of the run: one row for each machine, GPU or application, one column for each figure, or for these."""
        self._check(scope, self.scopes, "summary of the scope")
        return self._frame(f"summary/{scope}", "name", columns, "figure")

    def _frame(self, group, index, columns, what):
        if columns is not None:
            columns = names_of(columns, "columns")
            with self._file.reading() as f:
                there = [n for n in f.group(group).names() if n != index]
            for column in columns:
                self._check(column, there, what)
        return datasets.frame(self._file, group, index, names=columns)

    def columns_there(self, group, index, names):
        """A table of those of the columns that the file has."""
        return datasets.frame(self._file, group, index, names=names)

    def figure_names(self):
        """The figures of the whole machine; none before the run has ended."""
        with self._file.reading() as f:
            return [n for n in f.group("summary/machine").names() if n != "name"] if "machine" in self.scopes else []

    def figures(self, names):
        """Of the whole machine, by name; without those that the run does not have."""
        return self._figures(names, lambda d: values(d, slice(1))[0])

    def figure_labels(self, names):
        """The units and long names of the same."""
        return self._figures(names, attributes)

    def _figures(self, names, read):
        with self._file.reading() as f:
            if "summary/machine" not in f:
                return {}
            group = f.group("summary/machine")
            return {n: read(group.dataset(n)) for n in names if n in group}

    def group(self, name):
        """Any group of the file as an xarray.Dataset."""
        with self._file.reading() as f:
            if not isinstance(name, str) or name not in f:
                raise ResultError(f"{self.path}: it has no group {name!r}")
        return datasets.dataset(self._file, name, lazy=self.finished)

    def latency(self, by="gpu"):
        """The latency stack: the time of accesses by stage, of each "gpu", "application" or "kernel", or the "machine".

        The stages add up to access_time, the time of all transactions; but for accesses that a stopped run left under way.
        """
        return stacks.latency(self, by)

    def latency_over_time(self, gpu=None, application=None):
        """How many accesses were under way in each stage, on average, in each interval: [time_ps, stage].

        Of one GPU, one application, both, or all. An access counts with all its time in the interval in which it ends.
        """
        return stacks.over_time(stacks.latency_deltas(self, gpu, application))

    def stalls(self, by="gpu"):
        """What SMs did, by time, of each "gpu" or the "machine": executing, waiting, without a warp. Adds up to sm_time.

        Of each "application" or "kernel": while an SM held blocks of it, what the warps of these did. Adds up to resident_time."""
        return stacks.stalls(self, by)

    def traffic(self, what="bytes"):
        """What went from each device (rows) to each other (columns), in "bytes" of data or "packets"."""
        return exchange.traffic(self, what)

    def links(self):
        """Each direction of each link: packets, bytes, and for which share of the run it was busy."""
        return exchange.links(self)

    def placement(self):
        """How many pages of each buffer (rows) are on each device (columns) at the end of the run."""
        return exchange.placement(self)

    @property
    def plot(self):
        """Plots of this run (farfault.plots.RunPlots): timeline(), latency_stack(), traffic(), ... Needs matplotlib."""
        from .plots import RunPlots

        return RunPlots(self)

    def __repr__(self):
        from .describe import describe

        return describe(self)

    def _scalar(self, name):
        with self._file.reading() as f:
            return plain(values(f.dataset(name)))

    def _check(self, name, there, what):
        if name not in there:
            raise unknown(self.path, what, name, there, so_far=not self.finished)

    def _by(self, data, by):
        if by is None:
            return data
        if by != "device":
            raise ResultError(f'{self.path}: statistics are summed by "device" or not at all, not by {by!r}')
        return rates.by_device(data, set(self.columns_there("topology/nodes", "node", ["name"])["name"]))

    def check_by(self, by, there, what):
        if by not in there:
            raise unknown(self.path, f"{what} by", by, there)

    def check_named(self, name, there, what):
        if name not in there:
            raise unknown(self.path, what, name, there)

    def final_summary(self, scope, what, figures):
        """Of a summary those of the figures that it has, which `what` is read from; a run that has not ended has none."""
        if scope not in self.scopes:
            raise self.lacks(what)
        return self.columns_there(f"summary/{scope}", "name", figures)

    def lacks(self, what):
        """The error for what an earlier program did not record, or what comes with the end of the run."""
        ended = "machine" in self.scopes
        why = "it was written by an earlier program, which did not record it" if ended else "the run has not ended"
        return ResultError(f"{self.path}: it holds no {what}: {why}")
