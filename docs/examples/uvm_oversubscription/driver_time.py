# SPDX-License-Identifier: Apache-2.0
"""Prints how long the driver worked on fault batches, and how many pages it moved. Arguments: results of one GPU, folders of sweeps.

Software: the driver's own time per batch, block and page (docs/model/batches.md). Evictions: from the start of a unit's eviction to its end.
Both overlap with each other and with transfers.
"""
import os
import sys

import farfault


def line(name, run):
    batches, constants = run.table("fault_batches"), run.config["driver"]["batch"]
    moves = run.table("migrations")
    block = farfault.quantity("2 MiB") // farfault.quantity(run.config["memory"]["page_size"])
    to_gpu, to_cpu = moves[moves["to"] != "cpu0"], moves[moves["to"] == "cpu0"]
    times = {"time": len(batches), "block_time": batches["blocks"].sum(), "page_time": batches["pages"].sum(),
             "prefetched_page_time": batches["prefetched_pages"].sum(), "first_touch_time": (to_gpu["page"] // block).nunique()}
    software = sum(count * farfault.quantity(constants.get(key, "0 us")) for key, count in times.items())
    in_batches = (batches["ended"] - batches["began"]).sum()
    ends = to_cpu.groupby("started")["finished"].max()
    us = [ps / 1e6 for ps in (run.summary()["end"].iloc[0], in_batches, software, (ends - ends.index).sum())]
    return (f"{name:24}  {us[0]:9.0f}  {us[1]:7.0f}  {us[2]:8.0f}  {us[3]:9.0f}"
            f"  {len(to_gpu):17}  {len(to_cpu):7}  {len(to_gpu) - to_gpu['page'].nunique():8}")


print(f"\n{'':24}  us:   end  batches  software  evictions  pages: to the GPU  evicted  returned")
for path in sys.argv[1:]:
    if os.path.isdir(path):
        for run in farfault.open_sweep(path):
            print(line(", ".join(str(value) for value in run.parameters.values()), run))
    else:
        print(line(path, farfault.open(path)))
