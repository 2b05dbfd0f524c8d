"""Runs with one parameter off its default, at a small footprint."""
import re

from study import Run, parse_bytes

# Fewer rounds of the same, so that a page of variations takes minutes.
SHORTER = {"pagerank": {"workload.pagerank.iterations": 1}, "kmeans": {"workload.kmeans.max_rounds": 2},
           "stencil2d": {"workload.stencil2d.iterations": 2}}
PART = {"aes": 4}  # of the footprint: AES computes longest for each byte


def scaled(parameter, factor):
    """TOML text of a parameter's default times factor, or None where that leaves its range."""
    match = re.fullmatch(r"([0-9.]+)(?: (.*))?", parameter["default"])
    low, high = re.match(r"(\S+(?: [A-Za-z/]+)?) to (\S+(?: [A-Za-z/]+)?)", parameter["range"]).groups()
    value = float(match[1]) * factor
    unit = match[2]
    if unit is None:
        if value != int(value) or not float(low) <= value <= float(high):
            return None
        return str(int(value))
    if parameter["unit"] == "bytes" and not parse_bytes(low) <= parse_bytes(parameter["default"]) * factor <= parse_bytes(high):
        return None
    if f"{float(match[1]):g} {unit}" == low and factor < 1:
        return None
    return f'"{value:g} {unit}"'


def simulation(workload, design, placement, footprint, settings, base):
    """The run of one variation; those of a placement are in the folder of its name below `base`."""
    if design != "gmmu_bypass":
        settings = {k: v for k, v in settings.items() if not k.startswith("gpu.router.")}
    source = simulation(workload, "distributed", "first_touch", footprint, settings, base) if placement == "recorded" else None
    name = "_".join(f"{k}-{re.sub('[^A-Za-z0-9.]', '', str(v).rsplit('/', 1)[-1])}" for k, v in settings.items()) or "defaults"
    part = footprint // PART.get(workload, 1)
    settings = {**SHORTER.get(workload, {}), **settings}
    folder = base / placement / f"{footprint >> 10}KiB" / name
    return Run(workload, design, placement, part, folder / f"{workload}-{design}.h5", settings, source)
