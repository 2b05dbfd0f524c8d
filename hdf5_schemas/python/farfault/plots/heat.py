# SPDX-License-Identifier: Apache-2.0
"""A table as a heat map; cells with zero stay white."""
import numpy
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.ticker import EngFormatter, MaxNLocator

from ..palette import SHADES
from ..units import label
from . import drawing

# Maximum rows and columns with a figure in each cell, with a name each, and with a cell each.
WRITTEN_OUT, NAMED, FIELDS = 12, 32, 256
# As in reports: from light to dark, so that the order remains in black and white. The lowest value is not white.
LOW, HIGH = (numpy.array(shade) / 255 for shade in SHADES)
COLOURS = LinearSegmentedColormap.from_list("farfault", [LOW + 0.08 * (HIGH - LOW), HIGH])


def heat_map(table, rows, quantity, columns, heading):
    """table: a pandas table of amounts; rows, columns: labels of the axes; quantity: what is counted."""
    whole = table.to_numpy(dtype=float)
    down, across = (-(-size // FIELDS) for size in whole.shape)
    values = _added_up(_added_up(whole, down, 0), across, 1)
    values[values == 0] = numpy.nan
    seen = values[~numpy.isnan(values)]
    names = [drawing.words(" ".join(n) if isinstance(n, tuple) else n) for n in table.index[::down]]
    height, width = (min(10.0, size + 0.5 * n) for size, n in zip((1.8, 3.2), values.shape))
    figure, axes = drawing.single(width + 1.4 + 0.07 * max(map(len, names)), height)
    norm = LogNorm(seen.min(), seen.max()) if seen.max() > 30 * seen.min() else None
    image = axes.imshow(values, norm=norm, vmin=None if norm else 0, cmap=COLOURS, aspect="auto", interpolation="nearest")
    # Amounts are integers, so the colour bar has no fractions.
    ticks = {"ticks": MaxNLocator(integer=True)} if norm is None and seen.max() < 1000 else {"format": EngFormatter(sep=" ")}
    figure.colorbar(image, ax=axes, label=label(quantity, "1"), **ticks)
    _name(axes.set_xticks, [drawing.words(n) for n in table.columns[::across]], rotation=90 if len(table.columns) > (8 if figure.style.width is None else 5) else 0)
    _name(axes.set_yticks, names)
    axes.set_xlabel(columns)
    axes.set_ylabel(rows)
    if max(values.shape) <= WRITTEN_OUT:
        _write_figures(axes, image, values)
    drawing.head(axes, heading, f"each cell: {down} x {across} entries, named after the first" if max(down, across) > 1 else "")
    return figure


def _added_up(values, size, axis):
    """Adds up groups of `size` neighbouring rows or columns: a map with more cells than pixels would omit some."""
    return numpy.add.reduceat(values, range(0, values.shape[axis], size), axis) if size > 1 else values.copy()


def _name(set_ticks, names, **how):
    step = -(-len(names) // NAMED)
    set_ticks(range(0, len(names), step), names[::step], **how)


def _write_figures(axes, image, values):
    number = EngFormatter(places=1, sep=" ")
    for y, x in zip(*numpy.nonzero(~numpy.isnan(values))):
        text = f"{values[y, x]:.0f}" if values[y, x] < 1000 else number(values[y, x])
        dark = image.norm(values[y, x]) > 0.5
        axes.text(x, y, text, ha="center", va="center", fontsize=axes.figure.style.sizes.cell, color="white" if dark else "black")
