# SPDX-License-Identifier: Apache-2.0
"""The paper's figures as SVG files: one file per figure, one row per placement."""
import vector
from matplotlib import pyplot as plt

import figures
from figures import PAPER
from provenance import sentence
from study import WORKLOADS, show_bytes

FIGURES = [
    ("fig3.svg", "Fig. 3: performance over distributed",
     [("centralized", "centralized_over_distributed"), ("ideal", "oracle_over_distributed")], 1.0),
    ("fig5.svg", "Fig. 5: performance of bypass",
     [("over distributed", "bypass_over_distributed"), ("over centralized", "bypass_over_centralized"),
      ("of ideal", "bypass_of_oracle")], 1.0),
    ("fig6.svg", "Fig. 6: prediction accuracy", [("above T1", "accuracy_above_t1"), ("below T2", "accuracy_below_t2")],
     None),
    ("fig7.svg", "Fig. 7: page walks, bypass over distributed",
     [("GMMU", "gmmu_walks"), ("IOMMU", "iommu_walks")], 1.0),
]


def draw(folder, results, made):
    """Writes the figures with the provenance mark; returns (file name, title) of each."""
    words = sentence(made) + " " + ", ".join(f"{p}: {show_bytes(n)} per workload" for p, n in made["footprints"].items())
    for file, title, bars, line in FIGURES:
        fig, axes = plt.subplots(len(results), 1, figsize=(8, 2.4 * len(results) + 0.6), squeeze=False, sharex=True,
                                 constrained_layout=True)
        for ax, (placement, runs) in zip(axes[:, 0], results.items()):
            panel(ax, placement, runs, bars, line)
        fig.suptitle(title)
        vector.save(fig, folder / file, title, words)
    return [(file, title) for file, title, _, _ in FIGURES]


def panel(ax, placement, runs, bars, line):
    s = figures.series(runs)
    labels = [WORKLOADS[w] for w in runs] + ["avg."]
    width = 0.8 / len(bars)
    for i, (label, name) in enumerate(bars):
        values = list(s[name].values())
        values.append(figures.mean(values))
        at = [x - 0.4 + width * (i + 0.5) for x in range(len(labels))]
        vector.bars(ax, at, [v or 0 for v in values], width, label=label, color=f"C{i}")
        stated = PAPER["averages"].get(name, {}).get("value")
        if stated is not None:
            ax.plot([at[-1] - width / 2, at[-1] + width / 2], [stated] * 2, color="black", lw=2,
                    label="paper" if i == len(bars) - 1 else None)
        for j, w in enumerate(runs):
            mine = PAPER["workloads"].get(w, {}).get(name, {}).get("value")
            if mine is not None:
                ax.plot([at[j] - width / 2, at[j] + width / 2], [mine] * 2, color="black", lw=2)
    if line is not None:
        ax.axhline(line, color="gray", lw=0.8)
    ax.set_xticks(range(len(labels)), labels)
    ax.set_ylabel(placement)
    ax.legend(fontsize=7, ncols=4)
