"""Plots of runs and sweeps. Each returns a matplotlib Figure: `.savefig("x.png")` keeps it.

matplotlib is imported with this package, which is imported with the first plot.
"""
from .bars import latency_stack, stalls
from .hit_rates import hit_rates
from .sweep import figure_over_parameters
from .timeline import timeline
from .traffic import traffic


class RunPlots:
    def __init__(self, run):
        self._run = run

    def timeline(self, rates=None):
        """Kernels over time, and below them rates of each GPU: rates=["sm/instructions", "l2_tlb/misses"]."""
        return timeline(self._run, rates)

    def hit_rates(self):
        """Hits of the L1 TLBs, L2 TLBs, L1 caches and L2 caches over time, in percent."""
        return hit_rates(self._run)

    def traffic(self, what="bytes"):
        """What each device sent to each other, "bytes" or "packets", as a heat map."""
        return traffic(self._run, what)

    def latency_stack(self, scope="gpu"):
        """Where the time of an access went, on average: a bar for each GPU ("application", "machine")."""
        return latency_stack(self._run, scope)

    def stalls(self, scope="gpu"):
        """Why SMs issued nothing: a bar for each GPU, as a share of all stalls."""
        return stalls(self._run, scope)


class SweepPlots:
    def __init__(self, sweep):
        self._sweep = sweep

    def __call__(self, figure, x=None):
        """A figure over one of the parameters (the first), a line for each combination of the others.

        Runs that differ in run.seed alone make one point: their mean, with bars from the smallest to the largest.
        """
        return figure_over_parameters(self._sweep, figure, x)
