# SPDX-License-Identifier: Apache-2.0
"""One run: its configuration and its results, read on access."""
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
    """The result of one run. If only `<path>.partial` exists, opens that: the result of a running or stopped run.

    max_bytes: maximum bytes that one call (a table, a series, a plot) loads; above it, the call raises a ResultError.
    """
    path = checked_path(path)
    if not os.path.exists(path) and os.path.exists(path + ".partial"):
        warnings.warn(f"{path} does not exist; opening {path}.partial, from a run that is in progress or was stopped",
                      stacklevel=2)
        path += ".partial"
    return Run(path, max_bytes=max_bytes)


@whole_calls
class Run:
    """The result of a run. `with` keeps its file open; otherwise each access opens it.

    kinds, tables, scopes: valid names for `timeseries`, `table` and `summary`.
    """

    def __init__(self, path, parameters=None, max_bytes=MAX_BYTES):
        self.path, self.max_bytes = checked_path(path), checked_limit(max_bytes)
        check_readable(self.path)
        self.parameters = dict(parameters or {})  # in a sweep: values of the varied parameters
        self._file = File(self.path, max_bytes)
        with self._file.reading() as f:
            self._attributes = attributes(f)
            if self._attributes.get("kind") == "sweep":
                raise ResultError(f"{path}: it is the table of a sweep; farfault.open_sweep opens it")
            check_version(path, self._attributes.get("schema_version"))
            for name in ("end_reason", "result_digest", "farfault_version"):
                if not isinstance(self._attributes.get(name, ""), str):
                    raise ResultError(f"{path}: it is damaged: {name} is not text")
            self.kinds, self.tables, self.scopes = (f.group(g).names() if g in f else []
                                                    for g in ("timeseries", "tables", "summary"))

    def __enter__(self):
        # The file of a running simulation changes below an open handle.
        if self.finished:
            self._file.hold()
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._file.release()

    @property
    def end_reason(self):
        """`completed`, or why the run ended early; `running` if it is still running or was killed."""
        return self._attributes.get("end_reason", "running")

    @property
    def finished(self):
        """True for the file of a complete run."""
        return self.end_reason != "running" and not self.path.endswith(".partial")

    @property
    def digest(self):
        """Equal for equal results; None if the run has not ended."""
        return self._attributes.get("result_digest")

    @property
    def version(self):
        return self._attributes.get("farfault_version")

    @property
    def title(self):
        """Workloads and GPUs, in one line; None in files of earlier versions."""
        title = self._attributes.get("title")
        return title if isinstance(title, str) else None

    @property
    def config_text(self):
        return self._scalar("config/toml")

    @property
    def config(self):
        """The resolved configuration, including defaults: run.config["gpu"]["l2_tlb"]["entries"]."""
        return configuration.parsed(self.path, self.config_text)

    @property
    def command_line(self):
        return self._scalar("config/command_line")

    @property
    def seed(self):
        return self._scalar("config/seed")

    @property
    def inputs(self):
        """The input files of the run."""
        return datasets.frame(self._file, "config/inputs", "input")

    @property
    def unused(self):
        """The settings of the user that had no effect: parameter, condition under which it has an effect, parameter to set instead."""
        with self._file.reading() as f:
            if "config/unused" not in f:
                return pandas.DataFrame(columns=["key", "only_with", "instead"])
        return datasets.frame(self._file, "config/unused", "setting", ("key", "only_with", "instead"))

    @property
    def commit(self):
        """Source revision of the program; ends in "with changes" if the build had uncommitted changes."""
        return self.engine.get("commit")

    @property
    def host(self):
        return self.engine.get("host")

    @property
    def engine(self):
        """Self-profile of the simulator, by name: not part of the result."""
        with self._file.reading() as f:
            found = f.group("engine").datasets() if "engine" in f else {}
            return {n: plain(values(d)) if d.shape == () else values(d) for n, d in found.items() if not is_scale(d)}

    @property
    def machine(self):
        """The simulated machine: nodes and links; the links name the nodes at their ends."""
        nodes = datasets.frame(self._file, "topology/nodes", "node", ("name", "kind"))
        links = datasets.frame(self._file, "topology/links", "link", ("a", "b"))
        for end in ("a", "b"):
            links[end] = nodes["name"].reindex(links[end]).to_numpy()
        return Machine(nodes, links)

    def timeseries(self, kind, metrics=None):
        """Statistics of one kind of component over simulated time: [time_ps, instance(, bin)]. Read when used."""
        self._check(kind, self.kinds, "time series of kind")
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
                raise ResultError(f"{self.path}: it is damaged: {group}/{in_one_line(name)} does not have one value per sample and instance")
        return series

    def deltas(self, kind, metric, by=None):
        """Increase of a counter or histogram between samples: [time_ps, instance(, bin)]."""
        return self._by(rates.deltas(self.timeseries(kind, [metric]), metric, self.path), by)

    def rates(self, kind, metric, by=None):
        """The same per second of simulated time; a counter of picoseconds becomes a fraction of the time.

        by="device" sums over the parts of each GPU, CPU and switch: [time_ps, device].
        """
        return self._by(rates.rates(self.timeseries(kind, [metric]), metric, self.path), by)

    def mean(self, kind, metric, by=None):
        """Mean of a level over the run: [instance], or [device] with by="device", as a sum over the parts of each."""
        return self._by(rates.mean(self.timeseries(kind, [metric]), metric, self.path), by)

    def table(self, name, columns=None):
        """One row per occurrence of something (kernels, migrations, ...); the units are in `.attrs`.

        columns: read only these columns.
        """
        self._check(name, self.tables, "table")
        return self._frame(f"tables/{name}", "row", columns, f"column of {name}")

    def summary(self, scope="machine", columns=None):
        """Totals of the run: one row per machine, GPU or application, one column per figure (or per name in `columns`)."""
        self._check(scope, self.scopes, "summary of scope")
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
        """A table of the existing ones among the columns."""
        return datasets.frame(self._file, group, index, names=names)

    def figure_names(self):
        """The figures of the whole machine; none before the run has ended."""
        with self._file.reading() as f:
            return [n for n in f.group("summary/machine").names() if n != "name"] if "machine" in self.scopes else []

    def figures(self, names):
        """Figures of the whole machine by name, without missing ones."""
        return self._figures(names, lambda d: values(d, slice(1))[0])

    def figure_labels(self, names):
        """The units and long names of these figures."""
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
        """The latency stack: access time by stage, per "gpu", "application" or "kernel", or for the "machine".

        The stages add up to access_time, the time of all transactions, except for accesses outstanding at the end of a
        stopped run.
        """
        return stacks.latency(self, by)

    def latency_over_time(self, gpu=None, application=None):
        """Average number of outstanding accesses by stage in each interval: [time_ps, stage].

        For one GPU, one application, both, or all. A stage counts with its whole time in the interval in which it ends.
        """
        return stacks.over_time(stacks.latency_deltas(self, gpu, application))

    def stalls(self, by="gpu"):
        """SM time by activity, per "gpu" or for the "machine": executing, stalled, idle. Adds up to sm_time.

        Per "application" or "kernel": activity of its warps while SMs held its blocks. Adds up to resident_time."""
        return stacks.stalls(self, by)

    def traffic(self, what="bytes"):
        """Traffic from each device (rows) to each other device (columns), in "bytes" of data or "packets"."""
        return exchange.traffic(self, what)

    def links(self):
        """Each direction of each link: packets, bytes, and busy share of the run."""
        return exchange.links(self)

    def placement(self):
        """Pages of each buffer (rows) on each device (columns) at the end of the run."""
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
            raise ResultError(f'{self.path}: by must be "device" or None, not {by!r}')
        return rates.by_device(data, set(self.columns_there("topology/nodes", "node", ["name"])["name"]))

    def check_by(self, by, there, what):
        if by not in there:
            raise unknown(self.path, f"{what} by", by, there)

    def check_named(self, name, there, what):
        if name not in there:
            raise unknown(self.path, what, name, there)

    def final_summary(self, scope, what, figures):
        """The existing ones among the figures of a summary, as input of `what`. Raises an error if the run has not
        ended."""
        if scope not in self.scopes:
            raise self.lacks(what)
        return self.columns_there(f"summary/{scope}", "name", figures)

    def lacks(self, what):
        """The error for data that an earlier program did not record, or that a run writes at its end."""
        ended = "machine" in self.scopes
        why = "it was written by an earlier version of Farfault, which did not record it" if ended else "the run has not ended"
        return ResultError(f"{self.path}: it has no {what}: {why}")
