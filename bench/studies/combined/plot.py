# SPDX-License-Identifier: Apache-2.0
"""The plot of interactions: one matrix per number of GPUs, with the effect of each mechanism alone on the diagonal."""
import math

import vector
from matplotlib import pyplot as plt

from provenance import sentence
from study import NAMES

LIMIT = math.log(2)  # colours saturate at a factor of 2
TITLE = "Effects of six mechanisms alone (diagonal) and their pairwise interactions"


def factor(value):
    return "-" if value is None else f"{math.exp(value):.2f}"


def entries(grid):
    """Matrix entries. Diagonal: effects alone; above: interactions in the bare machine; below: mean interactions over all backgrounds."""
    names = grid.mechanisms
    return [[grid.effect(a) if i == j else grid.interaction(a, b) if i < j else grid.mean_interaction(a, b)
             for j, b in enumerate(names)] for i, a in enumerate(names)]


def draw(path, grids, made):
    """Writes an SVG file with the provenance mark. grids: {number of GPUs: interactions.Grid}."""
    fig, axes = plt.subplots(1, len(grids), figsize=(4.1 * len(grids) + 0.9, 5), squeeze=False, constrained_layout=True, sharey=True)
    for ax, (gpus, grid) in zip(axes[0], grids.items()):
        names, values = [NAMES[m] for m in grid.mechanisms], entries(grid)
        shown = [[0 if v is None else v for v in row] for row in values]
        colours = ax.pcolormesh(shown, cmap="RdBu", vmin=-LIMIT, vmax=LIMIT, edgecolors="white", linewidth=1)
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                dark = value is not None and abs(value) > 0.75 * LIMIT
                ax.text(j + 0.5, i + 0.5, factor(value), ha="center", va="center", fontsize=9, color="white" if dark else "black",
                        fontweight="bold" if i == j else "normal")
            ax.add_patch(plt.Rectangle((i, i), 1, 1, fill=False, lw=1.5, color="black"))
        at = [i + 0.5 for i in range(len(names))]
        ax.set_xticks(at, names, rotation=40, ha="right", fontsize=8)
        ax.set_yticks(at, names, fontsize=8)
        ax.tick_params(length=0)
        ax.set_xlim(0, len(names))
        ax.set_ylim(len(names), 0)
        ax.set_aspect("equal")
        ax.set_title(f"{gpus} GPU{'s' if gpus > 1 else ''}", fontsize=10)
    bar = fig.colorbar(colours, ax=axes, shrink=0.6, ticks=[-LIMIT, -LIMIT / 2, 0, LIMIT / 2, LIMIT])
    bar.ax.set_yticklabels(["0.5", "0.71", "1", "1.41", "2"], fontsize=8)
    fig.suptitle(f"{TITLE}, as factors of performance\nabove the diagonal: without other mechanisms; below: mean over all combinations of the others", fontsize=9)
    vector.save(fig, path, TITLE, sentence(made))
