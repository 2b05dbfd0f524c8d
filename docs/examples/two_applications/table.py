# SPDX-License-Identifier: Apache-2.0
"""Prints the figures of each application's kernel, alone and with the other one. Argument: the folder of the sweep."""
import sys

import farfault

sweep = farfault.open_sweep(sys.argv[1])
print("\nrun              kernel                finished  L2 TLB hits  walk per access  access latency")
for name, run in zip(sweep.runs["name"], sweep):
    for _, kernel in run.table("kernels").iterrows():
        hits = kernel["l2_tlb_hits"] / kernel["l1_tlb_misses"]
        walk = (kernel["time_in_walk"] + kernel["time_in_walk_queue"]) / kernel["transactions"] / 1e3
        latency = kernel["access_time"] / kernel["transactions"] / 1e3
        print(f"{name:16} {kernel['name']:20} {kernel['finished'] / 1e6:5.1f} us  {hits:11.1%}  {walk:12.0f} ns  {latency:11.0f} ns")
