# SPDX-License-Identifier: Apache-2.0
"""A figure for a paper from the sweep of bench/placements.toml: speedup of each placement, with the spread over the seeds.

Arguments: the folder of the sweep, the file to write (.pdf, .svg or .png).
"""
import sys

import farfault
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sweep = farfault.open_sweep(sys.argv[1])
end = sweep.table(["end"]).pivot(index="memory.placement", columns="run.seed", values="end")
speedup = end.loc["interleave"] / end  # of the same graph
mean, least, most = speedup.mean(axis=1), speedup.min(axis=1), speedup.max(axis=1)
for name in speedup.index:
    print(f"{name:12} {mean[name]:.3f} ({least[name]:.3f} to {most[name]:.3f})")

plt.rcParams.update({"font.size": 8, "pdf.fonttype": 42})  # fonts that publishers accept
figure, axes = plt.subplots(figsize=(3.3, 1.9), layout="constrained")  # one column
axes.bar(mean.index, mean, yerr=[mean - least, most - mean], capsize=3, color="0.6", edgecolor="0.2")
axes.axhline(1, color="0.2", linewidth=0.8)
axes.set_ylabel("speedup")
figure.savefig(sys.argv[2], dpi=300)
