# SPDX-License-Identifier: Apache-2.0
"""Values of a parameter, from its unit, range and text in `farfault params --json`."""
import re

# Units of values, the smallest first.
UNITS = {"bytes": {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40},
         "time": {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
         "bytes/s": {"B/s": 1, "KB/s": 10**3, "MB/s": 10**6, "GB/s": 10**9, "TB/s": 10**12},
         "Hz": {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}}
FROM_ZERO = {"bytes": 4096, "time": 50_000, "bytes/s": 10**9, "Hz": 10**9}


def _number(text, unit):
    value, word = re.fullmatch(r"([0-9.e+-]+) ?(\S+)", text).groups()
    return int(float(value) * UNITS[unit][word])


def values(parameter, now):
    """Values to try instead of `now`, the likeliest to act first."""
    key, unit, limits = parameter["key"], parameter["unit"], parameter["range"]
    if unit == "name":
        return [v for v in limits.removeprefix("one of: ").split(", ") if v != now]
    if unit == "true or false":
        return ["false" if now == "true" else "true"]
    if unit in UNITS:
        low, high = (_number(text, unit) for text in limits.split(" to "))
        at = _number(now, unit)
        tried = [at * 4, at // 4, at * 2, at // 2, low] if at else [FROM_ZERO[unit], FROM_ZERO[unit] * 16]
        return [f"{v} {next(iter(UNITS[unit]))}" for v in dict.fromkeys(tried) if low <= v <= high and v != at]
    if unit == "number":
        low, high, at = *(float(text) for text in limits.split(" to ")), float(now)
        return [f"{v:.6g}" for v in ((low + at) / 2, (at + high) / 2, low, high) if v != at]
    if unit == "count":
        low, high, at = *(int(text) for text in limits.split(" to ")), int(now)
        step = int(m[1]) if (m := re.search(r"multiple of (\d+)", parameter["text"])) else 1
        least = max(low, 1)
        if key.startswith("workload."):
            tried = [at * 2, at // 2, at + step, at * 4, low, at + 1, at - 1]
        elif re.search(r"latency|cycles|epoch|period|depth|time", key):
            tried = [at * 4 + 3, at // 4, at * 100, least]
        else:
            tried = [least, at // 4, at * 4, at // 2, at * 2, at + 1, least + 1, low]
        return [str(v) for v in dict.fromkeys(tried) if low <= v <= high and v != at]
    return []
