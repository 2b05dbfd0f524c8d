# SPDX-License-Identifier: Apache-2.0
"""Hit rates of TLBs and caches over time."""
from ..errors import ResultError
from . import drawing

# Maximum intervals. Neighbouring intervals are merged above it, because the rate of a short interval is noise.
INTERVALS = 200
# (label, kind, counter of hits, counter of misses) of each line.
LEVELS = (("L1 TLB", "sm", "l1_tlb_hits", "l1_tlb_misses"), ("L2 TLB", "l2_tlb", "hits", "misses"),
          ("L1 cache", "sm", "l1_hits", "l1_misses"), ("L2 cache", "l2_slice", "hits", "misses"))


def hit_rates(run):
    found = [(name, _counted(run, kind, hits), _counted(run, kind, misses))
             for name, kind, hits, misses in LEVELS if kind in run.kinds]
    if not found:
        raise ResultError(f"{run.path}: it has no time series of TLBs or caches")
    figure, (axes,) = drawing.panels(1, [1.6])
    size = drawing.time_axis(axes, max(int(h["time_ps"].max(initial=0)) for _, h, _ in found))
    for name, hits, misses in found:
        share = (100 * hits / (hits + misses).where(hits + misses > 0)).values
        axes.stairs(share, drawing.edges(hits, size), baseline=None, label=name, linewidth=1.4)
    axes.set_ylim(0, 102)
    axes.set_ylabel("hit rate (%)")
    axes.set_title(f"hit rates of {drawing.title(run)}", fontsize=10)
    axes.grid(alpha=0.3)
    drawing.legend(axes)
    return figure


def _counted(run, kind, metric):
    return drawing.together(run.deltas(kind, metric).sum("instance"), INTERVALS)
