# SPDX-License-Identifier: Apache-2.0
"""Prints what the driver did in each run. Argument: the folder of the sweep."""
import sys

import farfault

figures = farfault.open_sweep(sys.argv[1]).table(
    ["driver_raw_faults", "driver_prefetched_pages", "driver_evicted_pages", "driver_premature_evictions"])
print("\nprefetcher  GPU memory  faults read  pages: prefetched  evicted  evicted too early")
for _, row in figures.iterrows():
    print(f"{row['driver.batch.prefetch']:10}  {row['memory.gpu_share']:10.0%}  {row['driver_raw_faults']:11.0f}"
          f"  {row['driver_prefetched_pages']:17.0f}  {row['driver_evicted_pages']:7.0f}  {row['driver_premature_evictions']:17.0f}")
