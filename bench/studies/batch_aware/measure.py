# SPDX-License-Identifier: Apache-2.0
"""The figures of one result file, used by the study's tables."""
import h5py


def divide(a, b):
    """a / b, or None if it is undefined."""
    return None if not b else float(a) / float(b)


def measure(path):
    """Figures of one run, as a dictionary. Times in us; None: undefined."""
    with h5py.File(path, "r") as f:
        total = {name: int(f["summary/machine"][name][0]) for name in f["summary/machine"] if name != "name"}
        kernels, batches = f["tables/kernels"], f["tables/fault_batches"]
        column = {name: batches[name][:] for name in batches if name not in ("gpu", "row")}
        pages = column["pages"] + column["prefetched_pages"]
        empty = int((pages == 0).sum())  # batches with faults on already resident pages only
        all_took = (column["ended"] - column["began"]).sum() / 1e6  # includes empty batches
        column = {name: values[pages != 0] for name, values in column.items()}
        pages = pages[pages != 0]
        took = (column["ended"] - column["began"]) / 1e6
        n = len(took)
        page = 65536
        sizes = [(int(p), float(t)) for p, t in zip(pages, took)]
        return {
            "kernel_us": float((kernels["finished"][:] - kernels["launched"][:]).sum()) / 1e6,
            "kernels": len(kernels["kernel"]),
            "footprint": int(f["summary/application/footprint"][0]),
            "digest": f.attrs["result_digest"].decode(),
            "batches": n,
            "empty": empty,
            "batch_kb": divide(pages.sum() * page / 1024, n),
            "batch_us": divide(took.sum(), n),
            "all_batches_us": divide(all_took, n + empty),
            "batch_faulted": divide(column["pages"].sum(), n),  # faulted pages, without prefetched ones
            "handling_us": divide(((column["first_transfer"] - column["began"]) / 1e6).sum(), n),
            "raw_faults": divide(column["raw_faults"].sum(), n),
            "duplicates": divide(column["duplicates"].sum(), n),
            "pages": int(pages.sum()),
            "bytes_in": int(column["bytes_in"].sum()),
            "prefetched": int(column["prefetched_pages"].sum()),
            "evicted": int(column["evicted_pages"].sum()),
            "premature": total["driver_premature_evictions"],
            "lifetime_us": divide(total["driver_page_lifetime"] / 1e6, column["evicted_pages"].sum()),
            "working_set": divide(total.get("driver.batch.eviction_order_accessed_units", 0),
                                  total.get("driver.batch.eviction_order_epochs", 0)),
            "gave_way": total.get("sm_blocks_swapped_out", 0),
            "saved": total.get("sm_blocks_saved", 0),
            "shrunk": total.get("gpu.sm.thread_blocks_shrunk", 0),
            "context_mb": total.get("sm_context_bytes", 0) / 1e6,
            "sizes": sizes,  # (pages, us) of each batch
        }
