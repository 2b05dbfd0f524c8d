# SPDX-License-Identifier: Apache-2.0
"""The figures of one result file, used by the study's tables."""
import tomllib

import h5py
import numpy


def divide(a, b):
    """a / b, or None if it is undefined."""
    return None if not b else float(a) / float(b)


def ipcs(f, names, column, period):
    """IPC of each application, in warp instructions per cycle, over the configured runs; relaunches after them do not count."""
    ipc = [divide(i, c) for i, c in zip(column("instructions"), column("cycles"))]
    if len(names) > 1 and "runs" in f["tables"]:
        asked = [int(table.get("repeats", 1)) for table in tomllib.loads(f["config/toml"][()].decode())["application"]]
        runs = {key: f["tables/runs"][key][:] for key in ("application", "run", "started", "finished", "instructions")}
        for i, name in enumerate(names):
            own = [r for r, (of, number) in enumerate(zip(runs["application"], runs["run"])) if of.decode() == name and number < asked[i]]
            if own:
                took = float(max(runs["finished"][own])) - float(min(runs["started"][own]))
                ipc[i] = divide(sum(int(n) for n in runs["instructions"][own]), took / period)
    return ipc


def measure(path):
    """Figures of one simulation, as a dictionary. Rates include relaunches; times are in cycles."""
    with h5py.File(path, "r") as f:
        applications, gpu = f["summary/application"], f["summary/gpu"]
        names = [name.decode() for name in applications["name"][:]]

        def column(name):
            return [int(value) for value in applications[name][:]]

        def total(name):
            return int(gpu[name][...].sum()) if name in gpu else 0

        def of_each(name):
            """[total], or one value per application if there are several."""
            return column(name) if name in applications else [total(name)]

        cycles = int(f["summary/machine/cycles"][0])
        ran = float(f["summary/machine/end"][0] - f["summary/machine/start"][0])
        period = ran / cycles
        hits, misses = of_each("sm_l1_tlb_hits"), of_each("sm_l1_tlb_misses")
        l2_hits, l2_misses = of_each("l2_tlb_hits"), of_each("l2_tlb_misses")
        walks, walk_hits = sum(of_each("l2_slice_walk_reads")), sum(of_each("l2_slice_walk_hits"))
        bypassed = total("gpu.l2_cache.walk_reads_bypassed_reads")
        walk_lines, data_lines = sum(of_each("dram_walk_reads")), sum(of_each("dram_data_reads"))
        lines = total("dram_reads") + total("dram_writes")
        channels = f["timeseries/dram/instance"].shape[0]
        walkers = f["timeseries/gmmu/busy_walkers"][:-1].sum(axis=1)
        lasted = numpy.diff(f["timeseries/gmmu/time_ps"][:-1], prepend=0)
        depth = [(total(f"gpu.l2_cache.walk_reads_{d}_hits"), total(f"gpu.l2_cache.walk_reads_{d}_reads")) for d in ("root", "second", "third", "fourth")]
        translating = sum(total(f"sm_time_in_{where}") for where in ("l1_tlb", "l2_tlb", "walk_queue", "walk"))
        return {
            "digest": f.attrs["result_digest"].decode(),
            "ipc": ipcs(f, names, column, period),
            "cycles": cycles,
            "l1_miss": [divide(m, h + m) for h, m in zip(hits, misses)],
            "l2_miss": [divide(m, h + m) for h, m in zip(l2_hits, l2_misses)],
            "l2_tlb_hit": divide(sum(l2_hits), sum(l2_hits) + sum(l2_misses)),
            "merged": divide(sum(of_each("l2_tlb_merged_misses")), sum(l2_misses)),
            "bypass_hit": divide(total("gpu.l2_tlb.fill_bypass_hits"), total("gpu.l2_tlb.fill_bypass_hits") + sum(l2_misses)),
            "token_moves": total("gpu.l2_tlb.fill_increases") + total("gpu.l2_tlb.fill_decreases"),
            "walk_hit": divide(walk_hits, walks - bypassed),
            "depth_hit": [divide(hit, reads) for hit, reads in depth],
            "bypassed": divide(bypassed, walks),
            "data_hit": divide(sum(of_each("l2_slice_data_hits")), sum(of_each("l2_slice_data_requests"))),
            "concurrent": [float(x) for x in (numpy.average(walkers, weights=lasted), walkers.min(), walkers.max())] if len(walkers) else None,
            "walk_latency": divide(total("gmmu_total_latency"), total("gmmu_responses") * period),
            "accesses_a_walk": divide(total("sm_gmmu_translations"), total("gmmu_walks")),
            "translating": divide(translating, total("sm_access_time")),
            "in_l2_tlb": divide(total("sm_time_in_l2_tlb"), total("sm_access_time")),
            "in_walk": divide(total("sm_time_in_walk_queue") + total("sm_time_in_walk"), total("sm_access_time")),
            "walks_in_dram": walk_lines,
            "dram_use": divide(total("dram_busy_time"), ran * channels),
            "walks_of_dram": divide(walk_lines, lines),
            "walk_wait": divide(total("gpu.dram.scheduler_walk_wait"), walk_lines * period),
            "data_wait": divide(total("gpu.dram.scheduler_data_wait"), data_lines * period),
        }
