"""What each device sent to each other: a heat map."""
import numpy
import pandas
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
    values, order = _matrix(run, pairs, what)
    seen = values[~numpy.isnan(values)]
    if len(seen) == 0:
        raise ResultError(f"{run.path}: nothing went from one device to another")
    side = min(10.0, 3.2 + 0.55 * len(order))
    figure, axes = drawing.plt.subplots(figsize=(side + 1.4, side), constrained_layout=True)
    norm = LogNorm(seen.min(), seen.max()) if seen.max() > 30 * seen.min() else None
    image = axes.imshow(values, norm=norm, vmin=None if norm else 0, cmap="viridis")
    figure.colorbar(image, ax=axes, shrink=0.8, format=EngFormatter(sep=" "),
                    label=label(what, "1"))
    _name_axes(axes, order)
    if len(order) <= WRITTEN_OUT:
        _write_figures(axes, image, values)
    axes.set_title(f"{what} from each device to each other, {drawing.title(run)}", fontsize=10)
    return figure


def _matrix(run, pairs, what):
    """[from, to] in the order of the nodes, NaN where nothing went; and the names."""
    numbers, names = pandas.factorize(pandas.concat([pairs["from"], pairs["to"]]))
    place = {name: i for i, name in enumerate(run.machine.nodes["name"])}
    order = sorted(range(len(names)), key=lambda i: place.get(names[i], len(place)))
    rank = numpy.argsort(order)
    values = numpy.zeros((len(names), len(names)))
    numpy.add.at(values, (rank[numbers[:len(pairs)]], rank[numbers[len(pairs):]]), pairs[what].to_numpy())
    values[values == 0] = numpy.nan
    return values, [names[i] for i in order]


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
