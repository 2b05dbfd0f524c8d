# SPDX-License-Identifier: Apache-2.0
"""Plots of runs and sweeps. Each returns a matplotlib Figure: `.savefig("x.png")` keeps it.

matplotlib is imported with this package, which is imported with the first plot.
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
        """Hits of the L1 TLBs, L2 TLBs, L1 caches and L2 caches over time, in percent."""
        return hit_rates(self._run)

    def latency_stack(self, by="gpu"):
        """Where the time of an access went, on average: a bar for each GPU, "application", "kernel", or the "machine"."""
        return latency_stack(self._run, by)

    def latency_over_time(self, gpu=None, application=None):
        """How many accesses were under way, by stage: of all, of a GPU ("gpu0"), of an application, or of both."""
        return latency_over_time(self._run, gpu, application)

    def latency_histogram(self, which="sm.by_gpu/load_latency"):
        """How latencies are spread; also "gmmu/walk_latency", "iommu/fault_latency" and every other histogram."""
        return latency_histogram(self._run, which)

    def stalls(self, by="gpu"):
        """What SMs did: a bar for each GPU, or for the "machine"."""
        return stalls(self._run, by)

    def traffic(self, what="bytes"):
        """What each device sent to each other, "bytes" or "packets", as a heat map."""
        return traffic(self._run, what)

    def links(self):
        """For which share of the run each link was busy, each way; the busiest first."""
        return links(self._run)

    def placement(self):
        """On which devices the pages of each buffer were at the end, as a heat map."""
        return placement(self._run)


@whole_calls
class SweepPlots:
    def __init__(self, sweep):
        self._sweep, self.path, self.max_bytes = sweep, sweep.path, sweep.max_bytes

    def __call__(self, figure, x=None):
        """A figure over one of the parameters (the first), a line for each combination of the others.

        Runs that differ in run.seed alone make one point: their mean, with bars from the smallest to the largest.
        """
        return figure_over_parameters(self._sweep, figure, x)
