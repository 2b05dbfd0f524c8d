# SPDX-License-Identifier: Apache-2.0
"""The figures of one result file, used by the study's tables."""
import h5py

COUNTED = {
    "batches": "driver_batches",
    "migrations": "driver_migrations",
    "evicted": "driver_evicted_pages",
    "refused": "driver_migrations_refused",
    "moved_by_counters": "driver_counted_pages",
    "faults": "driver_page_faults",
    "protection_faults": "gmmu_protection_faults",
    "remote_accesses": "sm_remote_accesses",
    "chosen_counted": "memory.remote_touch_counted_pages",
    "chosen_duplicated": "memory.remote_touch_duplicated_pages",
    "predicted": "memory.remote_touch_predicted_pages",
}
# Requests that L2 slices serve, and requests of them that SMs of their GPU have not sent.
SERVED = ["l2_slice_reads", "l2_slice_writes"]
SERVED_FOR_OTHERS = ["rdma_reads_received", "rdma_writes_received", "copy_engine_local_accesses"]


def measure(path):
    """Figures of one run, as a dictionary. 0: a statistic that the policy does not have."""
    with h5py.File(path, "r") as f:
        kernels, machine = f["tables/kernels"], f["summary/machine"]
        found = {name: int(machine[key][0]) if key in machine else 0 for name, key in COUNTED.items()}
        served, others = (sum(int(machine[name][0]) for name in names) for names in (SERVED, SERVED_FOR_OTHERS))
        return found | {
            "kernel_us": float((kernels["finished"][:] - kernels["launched"][:]).sum()) / 1e6,
            "requests": found["remote_accesses"] + served - others,
            "footprint": int(f["summary/application/footprint"][0]),
            "digest": f.attrs["result_digest"].decode(),
        }
