# SPDX-License-Identifier: Apache-2.0
"""Parts shared by the plots: figures, axes of time and of counts."""
import matplotlib.pyplot as plt
import numpy
from matplotlib.ticker import EngFormatter

from ..errors import in_one_line
from ..units import label, time_unit

# Maximum lines or bars that have separate colours and a legend entry.
NAMED = 10
# Maximum characters of a name in a plot.
LETTERS = 60


def panels(rows, heights=None, width=8.0, row_height=2.2):
    heights = heights or [1.0] * rows
    figure, axes = plt.subplots(rows, 1, sharex=True, squeeze=False, figsize=(width, 0.8 + row_height * sum(heights)),
                                gridspec_kw={"height_ratios": heights}, constrained_layout=True)
    return figure, axes[:, 0]


def time_axis(axes, longest_ps):
    """Labels the axis; returns the picoseconds of its unit."""
    name, size = time_unit(longest_ps)
    axes.set_xlabel(f"simulated time ({name})")
    axes.set_xlim(0, longest_ps / size if longest_ps else 1)
    return size


def together(counts, most):
    """Adds up the counts of neighbouring intervals until there are at most `most`, of roughly equal length."""
    ends = counts["time_ps"].values
    if len(ends) <= most:
        return counts
    # The last interval that ends within each part of the time.
    parts = counts["start_ps"].values[0] + (ends[-1] - counts["start_ps"].values[0]) * numpy.arange(1, most + 1) / most
    last = numpy.unique(numpy.searchsorted(ends, parts, side="right") - 1)
    last = numpy.unique(numpy.append(last[last >= 0], len(ends) - 1))
    first = numpy.append(0, last[:-1] + 1)
    return counts[last].copy(data=numpy.add.reduceat(counts.values, first)).assign_coords(
        start_ps=("time_ps", counts["start_ps"].values[first]))


def edges(rate, size):
    """The borders of the intervals of a rate, in units of `size` picoseconds."""
    if rate.sizes["time_ps"] == 0:
        return [0.0]
    return [rate["start_ps"].values[0] / size, *(rate["time_ps"].values / size)]


def count_axis(axes, name, unit):
    """A vertical axis from zero, in thousands and millions."""
    axes.set_ylabel(words(label(name, unit)))
    large = EngFormatter(sep=" ")
    axes.yaxis.set_major_formatter(lambda value, _: large(value) if abs(value) >= 1000 else f"{value:g}")
    axes.set_ylim(0, 1.04 * axes.get_ylim()[1])


def legend(axes, **how):
    """Places the legend next to the axes, where it covers nothing."""
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False, **how)


def title(run):
    return words(run.path.rsplit("/", 1)[-1]) + ("" if run.finished else " (incomplete run)")


def words(text):
    """Label text: at most LETTERS characters, dollar signs escaped (matplotlib parses formulas between them)."""
    text = in_one_line(text)
    return (text if len(text) <= LETTERS else text[:LETTERS - 3] + "...").replace("$", r"\$")
