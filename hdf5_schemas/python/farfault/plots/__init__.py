# SPDX-License-Identifier: Apache-2.0
"""Plots of runs, pairs of runs and sweeps. Each returns a matplotlib Figure: `.savefig("x.png")` saves it.

The first plot imports this package, and with it matplotlib. Plots are drawn in the current style (farfault.style).
"""
from ..calls import whole_calls
from . import pairs
from .bars import latency_stack, stalls
from .hit_rates import hit_rates
from .latency import latency_histogram, latency_over_time
from .speedup import speedup_bars
from .sweep import figure_over_parameters
from .timeline import timeline
from .traffic import links, placement, traffic


@whole_calls
class RunPlots:
    def __init__(self, run):
        self._run, self.path, self.max_bytes = run, run.path, run.max_bytes

    def timeline(self, rates=None, logy=False):
        """Kernels over time, and below them rates of each GPU: rates=["sm/instructions", "l2_tlb/misses"]."""
        return timeline(self._run, rates, logy)

    def hit_rates(self):
        """Hit rates of the L1 TLBs, L2 TLBs, L1 caches and L2 caches over time, in percent."""
        return hit_rates(self._run)

    def latency_stack(self, by="gpu"):
        """Average time of an access by stage: a bar per GPU, "application" or "kernel", or one for the "machine"."""
        return latency_stack(self._run, by)

    def latency_over_time(self, gpu=None, application=None):
        """Outstanding accesses by stage: all, of a GPU ("gpu0"), of an application, or of both."""
        return latency_over_time(self._run, gpu, application)

    def latency_histogram(self, which="sm.by_gpu/load_latency", logy=False):
        """Latency distribution; also "gmmu/walk_latency", "iommu/fault_latency" and every other histogram."""
        return latency_histogram(self._run, which, logy)

    def stalls(self, by="gpu"):
        """SM time by activity: a bar per GPU, or one for the "machine"."""
        return stalls(self._run, by)

    def traffic(self, what="bytes"):
        """Traffic between devices, "bytes" or "packets", as a heat map."""
        return traffic(self._run, what)

    def links(self, logx=False):
        """Utilization of each link, each direction; the busiest first."""
        return links(self._run, logx)

    def placement(self):
        """Pages of each buffer on each device at the end, as a heat map."""
        return placement(self._run)


@whole_calls
class PairPlots:
    """Both results with the same axes. Rows that only one result has are named in the panel of the other one."""

    def __init__(self, pair):
        self._pair, self.path, self.max_bytes = pair, pair.path, pair.max_bytes

    def timeline(self, rates=None, logy=False):
        """Kernels over time, and below them rates of each GPU."""
        return pairs.both_timelines(self._pair, rates, logy)

    def rate(self, name="sm/instructions", logy=False):
        """A rate of the whole machine over time, a line for each result."""
        return pairs.rate(self._pair, name, logy)

    def hit_rates(self):
        """Hit rates of the L1 TLBs, L2 TLBs, L1 caches and L2 caches over time, in percent."""
        return pairs.both_hit_rates(self._pair)

    def latency_stack(self, by="machine"):
        """Average time of an access by stage; for the "machine" two bars, by "gpu", "application" or "kernel" two panels."""
        return pairs.latency_stack(self._pair, by)

    def latency_over_time(self, gpu=None, application=None):
        """Outstanding accesses by stage: all, of a GPU ("gpu0"), of an application, or of both."""
        return pairs.latency_over_time(self._pair, gpu, application)

    def latency_histogram(self, which="sm.by_gpu/load_latency", logy=False):
        """Latency distributions in the same bins."""
        return pairs.latency_histogram(self._pair, which, logy)

    def stalls(self, by="machine"):
        """SM time by activity, by the same choices as the latency stack."""
        return pairs.stalls(self._pair, by)


@whole_calls
class SweepPlots:
    def __init__(self, sweep):
        self._sweep, self.path, self.max_bytes = sweep, sweep.path, sweep.max_bytes

    def __call__(self, figure, x=None, logx=None, logy=False):
        """A figure, or its ratio to the baseline, over one parameter (default: the first), a line for each combination of the
        others.

        Runs that differ only in run.seed form one point: their mean, with bars from the smallest to the largest value. logx:
        True, False, or None: logarithmic over a wide range.
        """
        return figure_over_parameters(self._sweep, figure, x, logx, logy)

    def speedup(self, x=None, figure="speedup", logy=False):
        """Bars of the speedup, or of another ratio to the baseline, over one parameter (default: `mean_over`), and their
        geometric mean; error bars over the seeds. A bar without a value is a gap with its reason."""
        return speedup_bars(self._sweep, x, figure, logy)
