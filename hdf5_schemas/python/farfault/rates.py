"""What counters grew by between samples, and how fast; ratios that say nothing where nothing happened.

Samples lie ever further apart in a long run, so what is compared over time are rates, not differences.
"""
import numpy
import xarray

from .errors import ResultError


def deltas(series, metric, path=""):
    """What a counter or histogram grew by, with the times from which (`start_ps`) and until which (`time_ps`) it did.

    The first interval begins at time 0. Of samples at the same time, the last one counts.
    """
    counter = series[metric]
    if counter.attrs.get("kind") == "level":
        raise ResultError(f"{path}: {metric} is a level: its samples are amounts, which have no rate")
    times = series["time_ps"].values
    last = numpy.append(times[1:] != times[:-1], True)[:len(times)]
    times, counts = times[last], counter.values[last]
    grown = numpy.diff(counts, axis=0, prepend=numpy.zeros_like(counts[:1]))
    starts = numpy.concatenate(([0], times[:-1]))[:len(times)]
    return xarray.DataArray(grown, dims=counter.dims, name=metric, attrs=counter.attrs,
                            coords={**{n: c for n, c in counter.coords.items() if "time_ps" not in c.dims},
                                    "time_ps": ("time_ps", times, series["time_ps"].attrs),
                                    "start_ps": ("time_ps", starts, {"units": "ps", "long_name": "start of the interval"})})


def rates(series, metric, path=""):
    """The same per second; what is counted in picoseconds becomes a share of the time."""
    grown = deltas(series, metric, path)
    span = grown["time_ps"] - grown["start_ps"]
    grown, span = grown[span.values > 0], span[span.values > 0]
    unit = grown.attrs.get("units", "1")
    per_second = grown / span if unit == "ps" else grown / (span * 1e-12)
    per_second.attrs = {**grown.attrs, "units": "1" if unit == "ps" else "s-1" if unit == "1" else f"{unit} s-1"}
    return per_second.rename(metric)


def by_device(data, devices):
    """Summed over the instances that belong to a device: `gpu0.sm3` is a part of the device `gpu0`."""
    of = [device_of(i, devices) for i in data["instance"].values]
    names = list(dict.fromkeys(of))
    axis = data.get_axis_num("instance")
    whose = numpy.array([names.index(n) for n in of], dtype=int)
    sums = numpy.stack([data.values.take(numpy.flatnonzero(whose == i), axis).sum(axis) for i in range(len(names))], axis)
    dims = tuple("device" if d == "instance" else d for d in data.dims)
    kept = {n: c for n, c in data.coords.items() if "instance" not in c.dims}
    return xarray.DataArray(sums, {**kept, "device": names}, dims, data.name, data.attrs)


def device_of(instance, devices):
    """The node of the machine that a component belongs to: the longest whose name its path starts with."""
    path = instance.split("/")[0]
    while path not in devices and "." in path:
        path = path.rpartition(".")[0]
    return path


def ratio(numerator, denominator):
    """numerator / denominator, NaN where the denominator is zero: where nothing happened."""
    return numerator / denominator.where(denominator != 0)
