# SPDX-License-Identifier: Apache-2.0
"""The figures of one result file, used by the study's tables."""
import h5py


def divide(a, b):
    """a / b, or None if it is undefined."""
    return None if not b else float(a) / float(b)


def kept_frames(f):
    """Free frames in large frames reserved for one address space, at the first sample with the most mapped pages."""
    kept = f.get("timeseries/memory.frame_allocation/kept_frames")
    mapped = f["timeseries/memory.page_sizes/most_mapped_pages"][:].sum(axis=1)
    return 0 if kept is None else int(kept[:].sum(axis=1)[mapped.argmax()])


def measure(path):
    """Figures of one simulation, as a dictionary. IPC covers each application's first run, in warp instructions per cycle."""
    with h5py.File(path, "r") as f:
        def column(name):
            return {row.decode(): int(value) for row, value in zip(f["summary/application/name"][:], f[f"summary/application/{name}"][:])}

        instructions, cycles = column("instructions"), column("cycles")
        ipc = {name: divide(instructions[name], cycles[name]) for name in instructions}
        kernels = f["tables/kernels"]
        of = [name.decode() for name in kernels["application"][:]] if "application" in kernels else [next(iter(ipc))] * len(kernels["kernel"])
        launches = kernels["launch"][:] if "launch" in kernels else kernels["kernel"][:]
        in_run = {name: column("kernels")[name] for name in ipc}
        period = float(f["summary/machine/end"][0] - f["summary/machine/start"][0]) / float(f["summary/machine/cycles"][0])
        if "runs" in f["tables"]:
            runs = f["tables/runs"]
            for name, number, began, ended, issued in zip(runs["application"][:], runs["run"][:], runs["started"][:], runs["finished"][:],
                                                          runs["instructions"][:]):
                if number == 0:
                    ipc[name.decode()] = float(issued) / ((float(ended) - float(began)) / period)
            for name, number, count in zip(runs["application"][:], runs["run"][:], runs["kernels"][:]):
                if number == 0:
                    in_run[name.decode()] = int(count)
        # Only kernels of the first run, without the copies between them.
        taken, issued = dict.fromkeys(ipc, 0.0), dict.fromkeys(ipc, 0)
        for name, launch, began, ended, n in zip(of, launches, kernels["launched"][:], kernels["finished"][:], kernels["instructions"][:]):
            if launch < in_run[name]:
                taken[name] += float(ended) - float(began)
                issued[name] += int(n)
        kernel_ipc = {name: divide(issued[name] * period, taken[name]) for name in ipc}
        total = {name: int(f["summary/machine"][name][0]) for name in f["summary/machine"] if name != "name"}

        def count(name):
            """Total over all applications; with several, the statistic is stored per application."""
            return total[name] if name in total else sum(column(name).values())

        l1_hits, l1_misses = count("sm_l1_tlb_hits"), count("sm_l1_tlb_misses")
        l2_hits, l2_misses = count("l2_tlb_hits"), count("l2_tlb_misses")
        return {
            "digest": f.attrs["result_digest"].decode(),
            "ipc": ipc,
            "kernel_ipc": kernel_ipc,
            "footprint": sum(column("footprint").values()),
            "l1_hit": divide(l1_hits, l1_hits + l1_misses),
            "l2_hit": divide(l2_hits, l2_hits + l2_misses),
            "l2_hit_or_merged": divide(l2_hits + count("l2_tlb_merged_misses"), l2_hits + l2_misses),
            "walks": total["gmmu_walks"],
            "mapped_bytes": 4096 * total["memory.page_sizes_most_mapped_pages"],
            "coalesced": total.get("memory.page_sizes_coalesced_pages", 0),
            "kept_bytes": 4096 * kept_frames(f),
            "emergency": total.get("memory.frame_allocation_emergency_allocations", 0),
            "moved_pages": total.get("memory.compaction_moved_pages", 0) + total.get("memory.page_sizes_moved_pages", 0),
            "emptied": total.get("memory.compaction_emptied_large_frames", 0),
        }
