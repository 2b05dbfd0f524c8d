"""What each device sent to each other: a heat map."""
import numpy
from matplotlib.colors import LogNorm
from matplotlib.ticker import EngFormatter

from ..errors import ResultError, unknown
from ..units import label
from . import drawing

# So many devices leave room for a figure in each field.
WRITTEN_OUT = 10


def traffic(run, what="bytes"):
    pairs = run.traffic()
    if what not in ("bytes", "packets"):
        raise unknown(run.path, "traffic in", what, ["bytes", "packets"])
    if len(pairs) == 0:
        raise ResultError(f"{run.path}: nothing went from one device to another")
    order = [n for n in run.machine.nodes["name"] if n in set(pairs["from"]) | set(pairs["to"])]
    matrix = pairs.pivot_table(index="from", columns="to", values=what, aggfunc="sum").reindex(index=order, columns=order)
    values = matrix.to_numpy(dtype=float)
    values[~(values > 0)] = numpy.nan
    side = min(10.0, 3.2 + 0.55 * len(order))
    figure, axes = drawing.plt.subplots(figsize=(side + 1.4, side), constrained_layout=True)
    seen = values[~numpy.isnan(values)]
    if len(seen) == 0:
        raise ResultError(f"{run.path}: nothing went from one device to another")
    norm = LogNorm(seen.min(), seen.max()) if seen.max() > 30 * seen.min() else None
    image = axes.imshow(values, norm=norm, vmin=None if norm else 0, cmap="viridis")
    figure.colorbar(image, ax=axes, shrink=0.8, format=EngFormatter(sep=" "),
                    label=label(what, "1"))
    _name_axes(axes, order)
    if len(order) <= WRITTEN_OUT:
        _write_figures(axes, image, values)
    axes.set_title(f"{what} from each device to each other, {drawing.title(run)}", fontsize=10)
    return figure


def _name_axes(axes, order):
    step = max(1, len(order) // 32)
    axes.set_xticks(range(0, len(order), step), order[::step], rotation=90 if len(order) > 6 else 0)
    axes.set_yticks(range(0, len(order), step), order[::step])
    axes.set_xlabel("to")
    axes.set_ylabel("from")


def _write_figures(axes, image, values):
    number = EngFormatter(places=1, sep=" ")
    for y, x in zip(*numpy.nonzero(~numpy.isnan(values))):
        dark = image.norm(values[y, x]) < 0.6
        axes.text(x, y, number(values[y, x]), ha="center", va="center", fontsize=7, color="white" if dark else "black")
