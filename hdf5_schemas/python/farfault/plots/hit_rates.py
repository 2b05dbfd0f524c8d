# SPDX-License-Identifier: Apache-2.0
"""Hit rates of TLBs and caches over time."""
from ..errors import ResultError
from . import drawing

# Maximum intervals. Neighbouring intervals are merged above it, because the rate of a short interval is noise.
INTERVALS = 200
# (label, kind, counter of hits, counter of misses) of each line. Levels of TLBs with other names follow them.
LEVELS = (("L1 TLB", "sm", "l1_tlb_hits", "l1_tlb_misses"), ("L2 TLB", "l2_tlb", "hits", "misses"),
          ("L1 cache", "sm", "l1_hits", "l1_misses"), ("L2 cache", "l2_slice", "hits", "misses"))


def hit_rates(run):
    found = read(run)
    figure, ((axes,),) = drawing.panels(1, heights=[1.6])
    draw(axes, found, drawing.time_axis(axes, end_of(found)))
    axes.set_ylabel("hit rate (%)")
    drawing.head(axes, f"hit rates of {drawing.title(run)}")
    drawing.legend(axes)
    return figure


def read(run):
    """[(level, hits, misses)]."""
    others = [(kind, kind, "hits", "misses") for kind in sorted(run.kinds) if kind.endswith("tlb") and kind != "l2_tlb"]
    found = [(name, _counted(run, kind, hits), _counted(run, kind, misses))
             for name, kind, hits, misses in (*LEVELS, *others) if kind in run.kinds]
    if not found:
        raise ResultError(f"{run.path}: it has no time series of TLBs or caches")
    return found


def end_of(found):
    return max(int(hits["time_ps"].max(initial=0)) for _, hits, _ in found)


def draw(axes, found, size):
    names = [level for level, *_ in LEVELS]
    names += [name for name, *_ in found if name not in names]
    for name, hits, misses in found:
        share = (100 * hits / (hits + misses).where(hits + misses > 0)).values
        look = axes.figure.style.line(names.index(name))
        axes.stairs(share, drawing.edges(hits, size), baseline=None, label=name, linewidth=1.4, **look)
    axes.set_ylim(0, 102)
    axes.grid(alpha=0.3)


def _counted(run, kind, metric):
    return drawing.together(run.deltas(kind, metric).sum("instance"), INTERVALS)
