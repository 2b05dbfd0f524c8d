# SPDX-License-Identifier: Apache-2.0
"""Runs with varied parameters, at smaller footprints than the paper's."""
import json
import re

from study import MIB, ROOT, WORKLOADS, Run, parse_bytes, show_bytes

# MiB of each workload in the readings, for runs of a second or two; the sensitivity uses a fraction of it. A kernel launch
# takes about 6 us, so workloads with little time per byte get more bytes.
FOOTPRINTS = {"relu": 8, "fir": 8, "maxpool": 4, "aes": 2, "pagerank": 4, "transpose": 8, "fft": 16, "kmeans": 4, "stencil2d": 8}
# Fewer rounds, to shorten the runs.
SHORTER = {"pagerank": {"workload.pagerank.iterations": 1}, "kmeans": {"workload.kmeans.max_rounds": 2},
           "stencil2d": {"workload.stencil2d.iterations": 2}}
PRESET_TLB, PAPER_MIB = 256, 64


def scaled(parameter, factor):
    """TOML text of a parameter's default times factor, or None if it is out of range."""
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


def footprint(workload, scale=1):
    return int(FOOTPRINTS[workload] * MIB * scale)


def sizes_said(scale):
    """Sentence: footprint of each workload, and workloads with fewer rounds."""
    by_size = {}
    for w in FOOTPRINTS:
        by_size.setdefault(footprint(w, scale), []).append(WORKLOADS[w])
    shorter = [f"{WORKLOADS[w]} with {k.rpartition('.')[2]} = {v}" for w in SHORTER for k, v in SHORTER[w].items()]
    return ("Footprints: " + "; ".join(f"{', '.join(names)} {show_bytes(n)}" for n, names in sorted(by_size.items(), reverse=True)) +
            ". Fewer rounds: " + ", ".join(shorter) + ".")


def scaled_tlb(workload, scale):
    """L2 TLB scaled to the footprint, in the paper's proportion to 64 MiB."""
    entries = max(4, PRESET_TLB * footprint(workload, scale) // (PAPER_MIB * MIB))
    entries = 1 << (entries.bit_length() - 1)
    return {"gpu.l2_tlb.entries": entries, "gpu.l2_tlb.ways": min(32, entries)}


def machine(path, gpus=4, factor=1.0, switches=True, chained=False, bandwidth=16):
    """Writes a variant of the preset's machine; returns its setting. gpus: number of GPUs, two per switch; factor: of all latencies;
    switches: False attaches all GPUs to the root switch; chained: each switch below the previous one; bandwidth: of links, GB/s."""
    text = (ROOT / "topologies/machines/paper-gmmu-bypass.toml").read_text()
    inner, outer = (float(ns) for ns in (re.search(r'b = "switch0"\nkind = "pcie"\nlatency = "([0-9.]+)ns"', text)[1],
                                         re.search(r'b = "gpu0"\nkind = "pcie"\nlatency = "([0-9.]+)ns"', text)[1]))
    nodes = [("cpu0", "cpu"), ("root", "pcie_switch")]
    links = [("cpu0", "root", outer)]
    for s in range((gpus + 1) // 2 if switches else 0):
        nodes.append((f"switch{s}", "pcie_switch"))
        links.append((f"switch{s - 1}" if chained and s else "root", f"switch{s}", inner))
    for g in range(gpus):
        nodes.append((f"gpu{g}", "gpu"))
        links.append((f"switch{g // 2}" if switches else "root", f"gpu{g}", outer))
    lines = ['name = "paper-gmmu-bypass-variation"']
    lines += [f'\n[[node]]\nname = "{n}"\nkind = "{k}"' + ("\nnuma = 0" if n in ("cpu0", "root") else "") for n, k in nodes]
    lines += [f'\n[[link]]\na = "{a}"\nb = "{b}"\nkind = "pcie"\nlatency = "{ns * factor:g}ns"\nbandwidth = "{bandwidth}GB/s"'
              for a, b, ns in links]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return {"machine.topology": json.dumps(str(path))}


def in_name(key, value):
    """A value in a run's name; files without their path."""
    return (value.rsplit("/", 1)[-1] if key == "machine.topology" else value).strip('"')


def simulation(workload, design, placement, scale, settings, base, owners="distributed", source=None):
    """The run of one variation. Its name begins with the name of the folder `base`. `settings` may be a function of workload and scale.
    With placement `recorded`, the first touches of `source` give the page map; default: the run of `owners` with the same settings."""
    given = settings(workload, scale) if callable(settings) else settings
    own = {k: v for k, v in given.items() if design == "gmmu_bypass" or not k.startswith("gpu.router.")}
    if placement != "recorded":
        source = None
    elif source is None:
        source = simulation(workload, owners, "first_touch", scale, settings, base)
    what = ", ".join(f"{k}={in_name(k, str(v))}" for k, v in own.items()) or "defaults"
    place = placement if owners == "distributed" else f"{placement} of {owners}"
    name = f"{base.name}, {place}, x {scale:g}, {what}, {workload}, {design}"
    return Run(workload, design, placement, footprint(workload, scale), name,
               {**SHORTER.get(workload, {}), **own}, source)
