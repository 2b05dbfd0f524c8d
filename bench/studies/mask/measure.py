# SPDX-License-Identifier: Apache-2.0
"""What one result file says: the figures that the study's tables are made of."""
import h5py


def divide(a, b):
    """a / b, or None where there was nothing to count."""
    return None if not b else float(a) / float(b)


def measure(path):
    """Figures of one run, as a dictionary. IPC is that of each application's first run, in warp instructions per cycle; rates are those of
    all its runs."""
    with h5py.File(path, "r") as f:
        applications = f["summary/application"]
        names = [name.decode() for name in applications["name"][:]]

        def column(name):
            return [int(value) for value in applications[name][:]]

        ipc = [divide(i, c) for i, c in zip(column("instructions"), column("cycles"))]
        period = float(f["summary/machine/end"][0] - f["summary/machine/start"][0]) / float(f["summary/machine/cycles"][0])
        if "runs" in f["tables"]:
            runs = f["tables/runs"]
            for name, number, began, ended, issued in zip(runs["application"][:], runs["run"][:], runs["started"][:], runs["finished"][:],
                                                          runs["instructions"][:]):
                if number == 0:
                    ipc[names.index(name.decode())] = float(issued) / ((float(ended) - float(began)) / period)
        gpu = f["summary/gpu"]

        def total(name):
            return int(gpu[name][...].sum()) if name in gpu else 0

        def of_each(name):
            """Split by application where there are several."""
            return column(name) if name in applications else [total(name)]

        hits, misses = of_each("sm_l1_tlb_hits"), of_each("sm_l1_tlb_misses")
        l2_hits, l2_misses = of_each("l2_tlb_hits"), of_each("l2_tlb_misses")
        walks, walk_hits = sum(of_each("l2_slice_walk_reads")), sum(of_each("l2_slice_walk_hits"))
        bypassed = total("gpu.l2_cache.walk_reads_bypassed_reads")
        return {
            "digest": f.attrs["result_digest"].decode(),
            "ipc": ipc,
            "cycles": int(f["summary/machine/cycles"][0]),
            "l1_miss": [divide(m, h + m) for h, m in zip(hits, misses)],
            "l2_miss": [divide(m, h + m) for h, m in zip(l2_hits, l2_misses)],
            "l2_tlb_hit": divide(sum(l2_hits), sum(l2_hits) + sum(l2_misses)),
            "bypass_hit": divide(total("gpu.l2_tlb.fill_bypass_hits"), total("gpu.l2_tlb.fill_bypass_hits") + sum(l2_misses)),
            "walk_hit": divide(walk_hits, walks - bypassed),
            "bypassed": divide(bypassed, walks),
            "walks_in_dram": sum(of_each("dram_walk_reads")),
        }
