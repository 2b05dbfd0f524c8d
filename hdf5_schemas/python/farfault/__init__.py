# SPDX-License-Identifier: Apache-2.0
"""Results of Farfault as xarray datasets and pandas tables with units, and plots of them.

    import farfault
    run = farfault.open("run.h5")
    run.table("kernels")
    run.rates("l2_tlb", "misses", by="device")
    run.plot.hit_rates().savefig("hit_rates.png")

    sweep = farfault.open_sweep("sweeps/sizes")
    sweep.plot("end").savefig("end.png")

    with farfault.style("paper", columns=1):
        farfault.pair("a.h5", "b.h5").plot.latency_stack().savefig("stacks.pdf")
"""
from .errors import ResultError
from .pair import Pair, pair
from .rates import ratio
from .run import Run, open_run as open
from .styles import style
from .sweep import Sweep, open_many, open_sweep
from .units import quantity

__version__ = "0.1.0"
__all__ = ["Pair", "ResultError", "Run", "Sweep", "open", "open_many", "open_sweep", "pair", "quantity", "ratio", "style"]
