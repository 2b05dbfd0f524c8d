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


def measure(path):
    """Figures of one run, as a dictionary. 0: a statistic that the policy does not have."""
    with h5py.File(path, "r") as f:
        kernels, machine = f["tables/kernels"], f["summary/machine"]
        found = {name: int(machine[key][0]) if key in machine else 0 for name, key in COUNTED.items()}
        accesses = sum(int(machine[f"sm_{name}"][0]) for name in ("l1_hits", "l1_misses"))
        return found | {
            "kernel_us": float((kernels["finished"][:] - kernels["launched"][:]).sum()) / 1e6,
            "accesses": accesses,
            "footprint": int(f["summary/application/footprint"][0]),
            "digest": f.attrs["result_digest"].decode(),
        }
