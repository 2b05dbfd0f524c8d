# SPDX-License-Identifier: Apache-2.0
"""The figures of one result file, used by the study's tables."""
import h5py
import numpy

WIRE = 16e9  # bytes per second and direction of the machine's PCIe


def divide(a, b):
    """a / b, or None if it is undefined."""
    return None if not b else float(a) / float(b)


def line(x, y):
    """Least squares of y = a + b x: a, b, R2. None: fewer than three points, or equal x."""
    if len(x) < 3 or len(set(x)) < 2:
        return None, None, None
    x, y = numpy.asarray(x, float), numpy.asarray(y, float)
    dx, dy = x - x.mean(), y - y.mean()
    b = (dx * dy).sum() / (dx * dx).sum()
    a = y.mean() - b * x.mean()
    left = ((y - a - b * x) ** 2).sum()
    return float(a), float(b), float(1 - left / (dy * dy).sum()) if (dy * dy).sum() else None


def measure(path):
    """Figures of one run, as a dictionary. Times in us, bytes in MiB; None: nothing to divide by."""
    with h5py.File(path, "r") as f:
        kernels, batches = f["tables/kernels"], f["tables/fault_batches"]
        column = {name: batches[name][:].astype("int64") for name in batches if name not in ("gpu", "row")}
        n = len(column["began"])
        took = (column["ended"] - column["began"]) / 1e6
        until = (column["first_transfer"] - column["began"]) / 1e6
        moved = (column["bytes_in"] + column["bytes_out"]) / 2**20
        a, b, r2 = line(moved, took)
        came = column["pages"] + column["prefetched_pages"]
        kernel_us = float((kernels["finished"][:] - kernels["launched"][:]).sum()) / 1e6
        mean = {name: divide(values.sum(), n) for name, values in column.items()}
        return {
            "kernel_us": kernel_us,
            "footprint": int(f["summary/application/footprint"][0]),
            "digest": f.attrs["result_digest"].decode(),
            "batches": n,
            "raw_faults": mean["raw_faults"],
            "raw_faults_median": float(numpy.median(column["raw_faults"])) if n else None,
            "full": divide((column["raw_faults"] >= 256).sum(), n),  # at least as many as the driver reads per batch
            "duplicates": divide(column["duplicates"].sum(), column["raw_faults"].sum()),
            "distinct": divide((column["raw_faults"] - column["duplicates"]).sum(), n),
            "blocks": mean["blocks"],
            "sms": mean["sms"],
            "pages": int(column["pages"].sum()),
            "prefetched": divide(column["prefetched_pages"].sum(), came.sum()),
            "in_mib": float(column["bytes_in"].sum()) / 2**20,
            "out_mib": float(column["bytes_out"].sum()) / 2**20,
            "batch_mib": divide(moved.sum(), n),
            "batch_us": divide(took.sum(), n),
            "batch_us_median": float(numpy.median(took)) if n else None,
            "batch_us_least": float(took.min()) if n else None,
            "batch_us_most": float(took.max()) if n else None,
            "until_us_median": float(numpy.median(until[column["bytes_in"] > 0])) if (column["bytes_in"] > 0).any() else None,
            "batch_pages": mean["pages"],
            "until_us": divide(until.sum(), n),
            "wire": divide(moved.sum() * 2**20 / WIRE * 1e6, took.sum()),  # at full bandwidth, one direction after the other
            "in_batches": divide(took.sum(), kernel_us),
            "fit_us": a,
            "fit_us_per_mib": b,
            "fit_r2": r2,
        }
