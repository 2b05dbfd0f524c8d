# SPDX-License-Identifier: Apache-2.0
"""The figures of one result file, used by the study's tables."""
import h5py
import numpy


def divide(a, b):
    """a / b, or None if it is undefined."""
    return None if a is None or b is None or b == 0 else float(a) / float(b)


def measure(path):
    """Figures of one run, as a dictionary. Times in ns, shares between 0 and 1; None: undefined."""
    with h5py.File(path, "r") as f:
        total = {name: int(f["summary/machine"][name][0]) for name in f["summary/machine"] if name != "name"}
        kernels = f["tables/kernels"]
        ran = int((kernels["finished"][:] - kernels["launched"][:]).sum())  # ps
        gpus = len(f["summary/gpu/name"])

        def router(name):  # only gmmu_bypass has these statistics
            return total.get("gpu.router_" + name, 0)

        levels = {kind: _mean_level(f, kind, "busy_walkers") for kind in ("gmmu", "iommu")}
        m = {
            "kernel_ns": ran / 1e3,
            "kernels": len(kernels["kernel"]),
            "footprint": int(f["summary/application/footprint"][0]),
            "digest": f.attrs["result_digest"].decode(),
            "l1_tlb_hits": divide(total["sm_l1_tlb_hits"], total["sm_l1_tlb_hits"] + total["sm_l1_tlb_misses"]),
            "l2_tlb_requests": total["l2_tlb_hits"] + total["l2_tlb_misses"],
            "l2_tlb_hits": divide(total["l2_tlb_hits"], total["l2_tlb_hits"] + total["l2_tlb_misses"]),
            "requests": total["gmmu_requests"],
            "requests_per_us": total["gmmu_requests"] / (ran / 1e6),
            "local_walks": divide(total["gmmu_walk_hits"], total["gmmu_walk_hits"] + total["gmmu_walk_misses"]),
            "gmmu_walks": total["gmmu_walks"],
            "iommu_walks": total["iommu_walks"],
            "iommu_requests": total["iommu_requests"],
            "iommu_tlb_hits": divide(total["iommu_tlb_hits"], total["iommu_requests"]),
            "iommu_merged": divide(total["iommu_merged_misses"], total["iommu_requests"]),
            "iommu_per_us": total["iommu_requests"] / (ran / 1e6),
            "latency_ns": divide(total["gmmu_total_latency"] / 1e3, total["gmmu_responses"]),
            "gmmu_busy": divide(levels["gmmu"], gpus),
            "iommu_busy": levels["iommu"],
            "remote": divide(total["sm_remote_accesses"], total["sm_l1_misses"] + total["sm_stores"]),
            "gpu_link": divide(total["rdma_busy_time"], ran * gpus),
            "cpu_link": divide(total["cpu_port_busy_time"], ran),
            "switch_link": divide(f["timeseries/pcie_switch/busy_time"][-1].max(), ran),
            "faults": total["driver_page_faults"],
            "first_touches": total["driver_pages_mapped"],
            "migrations": total["driver_migrations"],
            "migration_ns": divide(total["driver_migration_time"] / 1e3, total["driver_migrations"]),
            "predicted_local": router("local_predictions"),
            "predicted_remote": router("remote_predictions"),
            "undecided": router("undecided_requests"),
            "accuracy_above_t1": divide(router("correct_local_predictions"), router("local_predictions")),
            "epochs_above_t1": divide(router("correct_local_epochs"), router("local_epochs")),
            "epochs_below_t2": divide(router("correct_remote_epochs"), router("remote_epochs")),
            "accuracy_below_t2": divide(router("correct_remote_predictions"), router("remote_predictions")),
        }
    return m


def _mean_level(f, kind, level):
    """Mean of a level over time, summed over its instances, without the last sample (the idle machine).

    Each sample counts for the interval that ends at it.
    """
    samples = f[f"timeseries/{kind}/{level}"][:-1].sum(axis=1)
    lasted = numpy.diff(f[f"timeseries/{kind}/time_ps"][:-1], prepend=0)
    return float(numpy.average(samples, weights=lasted)) if len(samples) else None
