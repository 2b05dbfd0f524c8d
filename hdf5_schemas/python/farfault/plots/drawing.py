# SPDX-License-Identifier: Apache-2.0
"""Parts shared by the plots: figures in the current style, legends, axes of time and of counts."""
import textwrap

import matplotlib
import matplotlib.pyplot as plt
import numpy
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from matplotlib.ticker import EngFormatter

from ..errors import ResultError, in_one_line
from ..styles import current
from ..units import label, time_unit

# Maximum lines or bars that have separate colours and a legend entry.
NAMED = 10
# Maximum characters of a name in a plot.
LETTERS = 60
# Height of a figure in a paper, relative to that on a screen.
FLAT = 0.55


class StyledFigure(Figure):
    """A figure that is drawn and saved in the style in which it was made."""

    def __init__(self, *args, **how):
        self.style = current()
        self.entries = {}  # of the legend above all axes: {label: handle}
        super().__init__(*args, **how)

    def draw(self, renderer):
        with matplotlib.rc_context(self.style.rc):
            return super().draw(renderer)

    def savefig(self, *args, **how):
        with matplotlib.rc_context(self.style.rc):
            return super().savefig(*args, **how)


def panels(rows, columns=1, heights=None, width=8.0, height=None, row_height=2.2, sharex=True, sharey=False):
    """A figure, and its axes in rows and columns."""
    heights = heights or [1.0] * rows
    height = 0.8 + row_height * sum(heights) if height is None else height
    style = current()
    size = (width, height) if style.width is None else (style.width, max(1.6, FLAT * height))
    return plt.subplots(rows, columns, sharex=sharex, sharey=sharey, squeeze=False, figsize=size, FigureClass=StyledFigure,
                        gridspec_kw={"height_ratios": heights}, constrained_layout=True)


def single(width, height):
    figure, axes = panels(1, width=width, height=height)
    return figure, axes[0, 0]


def head(axes, text, note=""):
    """The title of a figure. Without titles, only a note remains."""
    style = axes.figure.style
    shown = "\n".join(t for t in ((text if style.titles else ""), note) if t)
    if shown:
        axes.set_title(shown, fontsize=style.sizes.title)


def head_pair(axes, names, text):
    """The title of a figure with two panels, and the names of the results above them."""
    figure = axes[0].figure
    for one, name in zip(axes, names):
        one.set_title(words(name), fontsize=figure.style.sizes.title)
    if figure.style.titles:
        figure.suptitle(text, fontsize=figure.style.sizes.title)


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


def count_axis(axes, name, unit, log=False):
    """A vertical axis in thousands and millions, from zero or logarithmic."""
    vertical_label(axes, words(label(name, unit)))
    large = EngFormatter(sep=" ")
    show = lambda value, _: large(value) if abs(value) >= 1000 else f"{value:g}"  # noqa: E731
    if log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1.04 * axes.get_ylim()[1])
    axes.yaxis.set_major_formatter(show)


def vertical_label(axes, text):
    """In a paper, in lines that are as long as the axis."""
    figure = axes.figure
    if figure.style.width is not None:
        letters = int(72 * axes.get_position().height * figure.get_figheight() / (0.5 * figure.style.sizes.title))
        text = textwrap.fill(text, max(16, letters))
    axes.set_ylabel(text)


def check_positive(values, path, what, option, names=None):
    """Raises a ResultError for a logarithmic axis with a value of 0 or less. names: of each value."""
    values = numpy.asarray(values, dtype=float)
    (bad,) = numpy.nonzero(values <= 0)
    if len(bad):
        where = "" if names is None else f" of {in_one_line(names[bad[0]])}"
        raise ResultError(f"{path}: {what}{where} is {values[bad[0]]:g}; a logarithmic axis needs values above 0, so {option} must be False")


def legend(axes, *others):
    """Places the legend where it covers nothing: at the right of the axes, or in a paper above all axes of the figure.

    others: further axes with entries."""
    entries, style = {}, axes.figure.style
    for one in (*others, axes):
        for handle, text in zip(*one.get_legend_handles_labels()):
            entries.setdefault(text, handle)
    if entries and style.width is None:
        axes.legend(entries.values(), entries, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=style.sizes.small, frameon=False)
    elif entries:
        axes.figure.entries.update({text: handle for text, handle in entries.items() if text not in axes.figure.entries})
        _legend_above(axes.figure)


def _legend_above(figure):
    """One legend of all entries, as wide as the figure. The axes get the room below it."""
    style, labels = figure.style, list(figure.entries)
    columns = _columns(labels, style)
    order = [labels[i] for c in range(columns) for i in range(c, len(labels), columns)]  # matplotlib fills columns; rows read better
    for earlier in list(figure.legends):
        earlier.remove()
    height = figure.get_figheight()
    top = 1 - (1.8 * style.sizes.title / 72 / height if figure._suptitle else 0)
    figure.legend([figure.entries[t] for t in order], order, loc="upper center", bbox_to_anchor=(0.5, top), ncol=columns,
                  fontsize=style.sizes.small, frameon=False, borderaxespad=0.2, borderpad=0.2)
    rows = -(-len(labels) // columns)
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - (1.35 * rows + 0.5) * style.sizes.small / 72 / height))


def _columns(labels, style):
    """The number of columns of a legend as wide as the figure."""
    size = style.sizes.small
    wide = [TextPath((0, 0), text, size=size, usetex=False).get_extents().width + 3.2 * size for text in labels]
    for columns in range(len(labels), 1, -1):
        if sum(max(wide[c::columns]) for c in range(columns)) < 0.97 * 72 * style.width:
            return columns
    return 1


def title(run):
    return words(run.path.rsplit("/", 1)[-1]) + ("" if run.finished else " (incomplete run)")


def words(text):
    """Label text: at most LETTERS characters, dollar signs escaped (matplotlib parses formulas between them)."""
    text = in_one_line(text)
    return (text if len(text) <= LETTERS else text[:LETTERS - 3] + "...").replace("$", r"\$")
