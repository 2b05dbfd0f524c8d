# SPDX-License-Identifier: Apache-2.0
"""Prints where the accesses of each run were served. Argument: the folder of the sweep."""
import sys

import farfault

figures = farfault.open_sweep(sys.argv[1]).table(["sm_remote_accesses", "sm_l2_hits", "sm_l2_misses", "sm_iommu_translations"])
requests = figures["sm_remote_accesses"] + figures["sm_l2_hits"] + figures["sm_l2_misses"]
print("\nworkload   placement    remote accesses  translations by the IOMMU")
for run, row in figures.iterrows():
    share = row["sm_remote_accesses"] / requests[run]
    print(f"{row['workload.name']:10} {row['memory.placement']:12} {share:15.1%}  {row['sm_iommu_translations']:25.0f}")
