# SPDX-License-Identifier: Apache-2.0
"""Plots of runs and sweeps. Each returns a matplotlib Figure: `.savefig("x.png")` saves it.

The first plot imports this package, and with it matplotlib.
"""
from ..calls import whole_calls
from .bars import latency_stack, stalls
from .hit_rates import hit_rates
from .latency import latency_histogram, latency_over_time
from .sweep import figure_over_parameters
from .timeline import timeline
from .traffic import links, placement, traffic


@whole_calls
class RunPlots:
    def __init__(self, run):
        self._run, self.path, self.max_bytes = run, run.path, run.max_bytes

    def timeline(self, rates=None):
        """Kernels over time, and below them rates of each GPU: rates=["sm/instructions", "l2_tlb/misses"]."""
        return timeline(self._run, rates)

    def hit_rates(self):
        """Hit rates of the L1 TLBs, L2 TLBs, L1 caches and L2 caches over time, in percent."""
        return hit_rates(self._run)

    def latency_stack(self, by="gpu"):
        """Average time of an access by stage: a bar per GPU, "application" or "kernel", or one for the "machine"."""
        return latency_stack(self._run, by)

    def latency_over_time(self, gpu=None, application=None):
        """Outstanding accesses by stage: all, of a GPU ("gpu0"), of an application, or of both."""
        return latency_over_time(self._run, gpu, application)

    def latency_histogram(self, which="sm.by_gpu/load_latency"):
        """Latency distribution; also "gmmu/walk_latency", "iommu/fault_latency" and every other histogram."""
        return latency_histogram(self._run, which)

    def stalls(self, by="gpu"):
        """SM time by activity: a bar per GPU, or one for the "machine"."""
        return stalls(self._run, by)

    def traffic(self, what="bytes"):
        """Traffic between devices, "bytes" or "packets", as a heat map."""
        return traffic(self._run, what)

    def links(self):
        """Utilization of each link, each direction; the busiest first."""
        return links(self._run)

    def placement(self):
        """Pages of each buffer on each device at the end, as a heat map."""
        return placement(self._run)


@whole_calls
class SweepPlots:
    def __init__(self, sweep):
        self._sweep, self.path, self.max_bytes = sweep, sweep.path, sweep.max_bytes

    def __call__(self, figure, x=None):
        """A figure, or its ratio to the baseline, over one parameter (default: the first), a line for each combination of the
        others.

        Runs that differ only in run.seed form one point: their mean, with bars from the smallest to the largest value.
        """
        return figure_over_parameters(self._sweep, figure, x)
