# SPDX-License-Identifier: Apache-2.0
"""Prints what the driver did in each run. Argument: the folder of the sweep."""
import sys

import farfault

figures = farfault.open_sweep(sys.argv[1]).table(
    ["driver_raw_faults", "driver_prefetched_pages", "driver_evicted_pages", "driver_premature_evictions"])
print("\nprefetcher  GPU memory  faults read  pages: prefetched  evicted  faulted again")
for _, row in figures.iterrows():
    share = row["memory.gpu_share"]
    memory = "all data" if share == 1 else f"{share:.0%}"
    print(f"{row['driver.batch.prefetch']:10}  {memory:>10}  {row['driver_raw_faults']:11.0f}"
          f"  {row['driver_prefetched_pages']:17.0f}  {row['driver_evicted_pages']:7.0f}  {row['driver_premature_evictions']:13.0f}")
