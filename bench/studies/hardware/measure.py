# SPDX-License-Identifier: Apache-2.0
"""Figures of each preset from its runs: pointer-chase curve, bandwidths, TLB counts."""
import json

import study
from study import GIB, KIB, MIB, StudyError

PUBLISHED = json.loads((study.FOLDER / "published.json").read_text())
PAGE = 2 * MIB


def clock_of(gpu):
    """MHz at which most of a GPU's published latencies were measured."""
    return next(v["mhz"] for v in PUBLISHED["values"] if v["gpu"] == gpu and v["role"] == "input")


def figures_of(sweep, runs):
    """{name: figures} of all runs. Raises StudyError if a run fails."""
    runs = list(runs)
    failures = sweep.make(runs)
    if failures or sweep.missing(runs):
        raise StudyError((failures or [f"{sweep.missing(runs)[0]}: no result"])[0])
    return {run.name: sweep.of(run) for run in runs}


def sizes_of(sweep, gpus):
    """{gpu: parameters of its preset}, from one short run per GPU."""
    probes = {g: study.hops(g, clock_of(g), KIB, 128, 1) for g in gpus}
    done = figures_of(sweep, probes.values())
    return {g: done[r.name]["gpu"] for g, r in probes.items()}


def to_number(text):
    number = "".join(c for c in text if c.isdigit() or c == ".")
    unit = text[len(number):].strip()
    scale = {"": 1, "B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12}
    return int(float(number) * scale[unit])


def caches(preset):
    """Bytes of an SM's partition of the L2 cache, of the whole L2 cache, and of the memory-side cache (0: none)."""
    l2 = preset["l2_cache"]
    size = to_number(l2["size"])
    return size // l2.get("partitions", 1), size, to_number(preset.get("memory_cache", {}).get("size", "0 B"))


def beyond(preset):
    """The footprint above which a random chase has no cache hits."""
    _, l2, memory_side = caches(preset)
    return max(3 * l2, 3 * memory_side // 2)


def footprints(preset, quick):
    """Footprints in bytes, around and between the capacities of caches and TLBs."""
    l1, (own, l2, memory_side) = to_number(preset["l1_cache"]["size"]), caches(preset)
    reach = preset["l1_tlb"]["entries"] * PAGE
    points = {4 * KIB, l1 // 2, l1 * 3 // 2, 2 * l1, 1 * MIB, own // 2, 3 * l2, max(4 * l2, 2 * memory_side, 2 * reach)}
    if not quick:
        points |= {own * 7 // 8, own * 9 // 8, memory_side // 2} - {0}
        points |= {32 * KIB, l1 * 7 // 8, l1 * 9 // 8, 3 * l1, 4 * MIB, l2 * 7 // 8, l2 * 9 // 8, l2 * 3 // 2, 2 * l2, reach // 2,
                   512 * MIB, 1 * GIB, 2 * GIB}
    return sorted(points)


def per_load(done, short, long, loads, mhz):
    """Cycles per load, from the time difference of the two runs."""
    ps = done[long.name]["kernel_ps"][0] - done[short.name]["kernel_ps"][0]
    return ps / loads * mhz / 1e6


def rate(done, small, large, moved):
    """GB/s from the difference of two runs, which move `moved` more bytes; launch and completion latencies cancel out."""
    return moved / ((done[large.name]["kernel_ps"][-1] - done[small.name]["kernel_ps"][-1]) / 1e12) / 1e9


def everything(sweep, gpus, quick):
    presets = sizes_of(sweep, gpus)
    published = [c for c in PUBLISHED["curves"] if c["gpu"] in gpus]
    chases, streams = {}, {}
    for g in gpus:
        p, line = presets[g], presets[g]["line_bytes"]
        _, l2, memory_side = caches(p)
        mine = {(clock_of(g), f) for f in footprints(p, quick)}
        for c in published:
            if c["gpu"] == g:
                taken = c["kib_cycles"][::3] if quick else c["kib_cycles"]
                mine |= {(c["mhz"], max(line, kib * KIB // line * line)) for kib, _ in taken}
        for mhz, f in mine:
            chases[g, mhz, f] = study.chase(g, mhz, f, line, beyond(p))
        # L2 bandwidth: the second pass over data that fits in the L2. Memory bandwidth: one pass over data that exceeds it.
        small = l2 // 4 // MIB * MIB
        big = 2 * max(l2, 16 * MIB) if quick else max(4 * l2, 64 * MIB, 2 * memory_side)
        streams[g, "l2_read"] = (study.stream(g, small, 0.0, 2), study.stream(g, 2 * small, 0.0, 2), small)
        streams[g, "read"] = (study.stream(g, big, 0.0), study.stream(g, 2 * big, 0.0), big)
        streams[g, "copy"] = (study.stream(g, big, 0.5), study.stream(g, 2 * big, 0.5), big)
    pairs = {}
    if study.has_workload(sweep.program, "exchange"):
        part = (8 if quick else 16) * MIB
        pairs = {(g, a): tuple(study.exchange(study.MACHINES[g][0], a, size, study.MACHINES[g][1]) for size in (part, 2 * part))
                 for g in gpus if g in study.MACHINES for a in ("read", "write")}
    vcopy = {g: study.stream(g, 16 * MIB, 0.5, lane=8, accesses=2) for g in ("mi100", "mi210") if g in gpus}
    runs = [r for pair in (*chases.values(), *streams.values(), *pairs.values()) for r in pair[:2]] + list(vcopy.values())
    done = figures_of(sweep, runs)
    found = {}
    for g in gpus:
        p = presets[g]
        channels = p["dram"].get("channels", 0) or p["l2_cache"]["slices"]
        found[g] = {"peak": channels * to_number(p["dram"]["bandwidth"]) / 1e9, "mhz": clock_of(g),
                    "line": p["line_bytes"], "l2_bytes": caches(p)[0],
                    "stages": stages(p),
                    "curve": [[mhz, f, round(per_load(done, *v, mhz), 1)]
                              for (gpu, mhz, f), v in sorted(chases.items()) if gpu == g]}
        for what in ("l2_read", "read", "copy"):
            found[g][what] = round(rate(done, *streams[g, what]), 1)
        for a in ("read", "write"):
            if (g, a) in pairs:
                found[g][f"pair_{a}"] = round(rate(done, *pairs[g, a], part), 1)
        if g in vcopy:
            d = done[vcopy[g].name]
            found[g]["vcopy"] = {"pages_asked": d["l2_tlb_requests"], "kernel_ns": (d["kernel_ps"][0] - d["host_ps"]) / 1e3}
    return found


def stages(p):
    """Cycles that an L1 TLB miss and a page walk through the L2 cache add, from the preset's parameters."""
    if "translation" in p:
        levels = [2 * level["request_latency"] + level["latency"] for level in p["translation"]["level"]]
    else:
        levels = [2 * p["translation_latency"] + p["l2_tlb"]["latency"]]
    return {"l1_tlb_miss": levels[0],
            "walk_in_l2": sum(levels[1:]) + 2 * p["translation_latency"] + p["gmmu"]["latency"] + 2 * p["crossbar_latency"] + p["l2_cache"]["latency"]}
