# SPDX-License-Identifier: Apache-2.0
"""Increases and rates of counters between samples, means of levels, and ratios without division by zero.

The sampling interval grows during a run, so comparisons over time use rates, not differences, and a mean weighs each
sample by its interval.
"""
import numpy
import xarray

from .errors import ResultError


def deltas(series, metric, path=""):
    """Increase of a counter or histogram, with the ends of its interval (`start_ps`, `time_ps`).

    The first interval begins at time 0. If several samples have the same time, the last one counts.
    """
    counter, times, starts, grown = _grown(series, metric, path)
    return _over_time(counter, times, starts, grown, counter.attrs)


def rates(series, metric, path=""):
    """The same per second; a counter of picoseconds becomes a fraction of the time."""
    counter, times, starts, grown = _grown(series, metric, path)
    lasted = times > starts
    times, starts, grown = times[lasted], starts[lasted], grown[lasted]
    unit = counter.attrs.get("units", "1")
    span = (times - starts) * (1.0 if unit == "ps" else 1e-12)
    per_second = grown / span.reshape(-1, *[1] * (grown.ndim - 1))
    named = "1" if unit == "ps" else "s-1" if unit == "1" else f"{unit} s-1"
    return _over_time(counter, times, starts, per_second, {**counter.attrs, "units": named})


def mean(series, metric, path=""):
    """Mean of a level over time: each sample counts for the interval that ends at it."""
    level = series[metric]
    if level.attrs.get("kind") != "level":
        raise ResultError(f"{path}: {metric} is a {level.attrs.get('kind')}; only levels have a mean over time")
    times, values = _of_each_time(series, level)
    lasted = numpy.diff(times, prepend=0)
    if lasted.sum() == 0:
        raise ResultError(f"{path}: {metric} has no sample after time 0")
    kept = {n: c.variable for n, c in level.coords.items() if "time_ps" not in c.dims}
    return xarray.DataArray(numpy.average(values, axis=0, weights=lasted), kept, level.dims[1:], level.name, level.attrs)


def _of_each_time(series, data):
    """The times, each once, and the values of the last sample of each."""
    times, values = series["time_ps"].values, data.variable.values
    last = numpy.append(times[1:] != times[:-1], True)[:len(times)]
    return (times, values) if last.all() else (times[last], values[last])


def _grown(series, metric, path):
    counter = series[metric].variable
    if counter.attrs.get("kind") == "level":
        raise ResultError(f"{path}: {metric} is a level; only counters and histograms have rates")
    times, counts = _of_each_time(series, series[metric])
    grown = numpy.diff(counts, axis=0, prepend=numpy.zeros_like(counts[:1]))
    return series[metric], times, numpy.append(0, times[:-1])[:len(times)], grown


def _over_time(counter, times, starts, data, attributes):
    kept = {n: c.variable for n, c in counter.coords.items() if "time_ps" not in c.dims}
    of_time = counter["time_ps"].attrs
    return xarray.DataArray(data, {**kept, "time_ps": ("time_ps", times, of_time),
                                   "start_ps": ("time_ps", starts, {**of_time, "long_name": "Start of the interval"})},
                            counter.dims, counter.name, attributes)


def by_device(data, devices):
    """Sums over the instances that belong to a device: `gpu0.sm3` is part of the device `gpu0`."""
    of = [device_of(i, devices) for i in data["instance"].values]
    places = {name: i for i, name in enumerate(dict.fromkeys(of))}
    axis, whose = data.get_axis_num("instance"), numpy.array([places[n] for n in of], dtype=int)
    sums = numpy.stack([data.values.take(numpy.flatnonzero(whose == i), axis).sum(axis) for i in places.values()], axis)
    dims = tuple("device" if d == "instance" else d for d in data.dims)
    kept = {n: c for n, c in data.coords.items() if "instance" not in c.dims}
    return xarray.DataArray(sums, {**kept, "device": list(places)}, dims, data.name, data.attrs)


def device_of(instance, devices):
    """The node of the machine that contains a component: the longest node name that begins its path."""
    path = instance.split("/")[0]
    while path not in devices and "." in path:
        path = path.rpartition(".")[0]
    return path


def ratio(numerator, denominator):
    """numerator / denominator, NaN if the denominator is zero."""
    return numerator / denominator.where(denominator != 0)
