# SPDX-License-Identifier: Apache-2.0
"""Display units of times, axis labels, and quantities as in a configuration."""
import re

TIMES = (("ps", 1), ("ns", 10**3), ("us", 10**6), ("ms", 10**9), ("s", 10**12))


def time_unit(longest_ps):
    """The largest unit that is not longer than the time: its name and its picoseconds."""
    fitting = [t for t in TIMES if longest_ps >= t[1]]
    return fitting[-1] if fitting else TIMES[0]


def time_text(ps):
    name, size = time_unit(ps)
    return f"{ps / size:.4g} {name}"


def label(name, unit):
    """Label of an axis: "bytes sent (byte)". Counts have no unit."""
    shown = {"1": "", "s-1": "1/s", "byte s-1": "byte/s"}.get(unit, unit)
    return f"{name} ({shown})" if shown else name


# {unit of a configuration: (quantity, size in the smallest unit)}.
QUANTITIES = {**{name: ("time", size) for name, size in TIMES},
              **{f"{p}B{per}": ("bytes" + per, size) for per in ("", "/s")
                 for p, size in (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12),
                                 ("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("Ti", 2**40))},
              **{name: ("frequency", size) for name, size in (("Hz", 1), ("kHz", 10**3), ("MHz", 10**6), ("GHz", 10**9))}}


def quantity(text):
    """A quantity of a configuration, "64 KiB", "10 ns", "16 GB/s" or "1 GHz", in bytes, ps, bytes per second or Hz."""
    size = measured(text)
    if size is None:
        raise ValueError(f"{text!r} is not a time, size, bandwidth or frequency with a unit")
    return size[1]


def in_order(values):
    """Each value once: numbers and quantities by size, other texts in the order of their first occurrence."""
    found = list(dict.fromkeys(values))
    if not any(isinstance(v, str) for v in found):
        return sorted(found)
    sizes = [measured(v) for v in found]
    if None in sizes or len({what for what, _ in sizes}) > 1:
        return found
    return sorted(found, key=quantity)


def measured(text):
    """("bytes", 65536.0) for "64 KiB"; None for other texts."""
    parts = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z/]+)\s*", text)
    if parts is None or parts[2] not in QUANTITIES:
        return None
    what, size = QUANTITIES[parts[2]]
    return what, float(parts[1]) * size
