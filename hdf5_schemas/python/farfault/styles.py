# SPDX-License-Identifier: Apache-2.0
"""Styles of plots: for the screen, and for papers.

A style is in effect in a `with` block, or in the whole program after `use()`. A figure keeps the style in which it was drawn,
also if it is saved later. Nothing else changes.

Widths of columns in inches:
- "ieee": IEEE Author Center, "Size requirements for graphics": 3.5 and 7.16.
- "acm": acmart.cls, format sigconf: 241.15 pt and 506.3 pt, of 72.27 pt per inch.
Font sizes: 8 pt (IEEE: 8 to 10 pt), 7 pt for marks and legends. Fonts are embedded as TrueType (Type 42), because the checks of
IEEE and ACM refuse Type 3, the default of matplotlib.
"""
import contextlib
import contextvars
from typing import NamedTuple

from .errors import ResultError
from .palette import COLOURS, LINES

WIDTHS = {"ieee": (3.5, 7.16), "acm": (3.336, 7.005)}
# Patterns of areas, dashes and markers of lines, which remain different in black and white. Parts with one pattern differ in
# lightness.
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "||||", "++++", "oo", "..")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
PATTERNS = {"load_store": "", "l1_tlb": "////", "l2_tlb": "....", "walk_queue": "\\\\\\\\", "walk": "xxxx", "iommu": "", "fault": "||||",
            "l1_cache": "", "l2_cache": "++++", "dram_queue": "----", "dram": "////", "links": "//", "remote_memory": "oo",
            "outstanding": "..", "active": "", "memory_stall": "////", "fault_stall": "||||", "load_store_stall": "....",
            "scalar_stall": "\\\\\\\\", "barrier_stall": "++++", "fetch_stall": "oo", "stopped": "xxxx", "idle": "", "outside": "----"}
_PAPER = {
    "font.family": ["STIXGeneral", "DejaVu Sans"], "mathtext.fontset": "stix", "font.size": 8, "axes.titlesize": 8,
    "axes.labelsize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7, "legend.fontsize": 7, "figure.titlesize": 8,
    "lines.linewidth": 1.0, "lines.markersize": 3.5, "axes.linewidth": 0.6, "grid.linewidth": 0.4, "hatch.linewidth": 0.4,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.size": 2.5, "ytick.major.size": 2.5,
    "legend.handlelength": 1.6, "legend.handletextpad": 0.4, "legend.columnspacing": 1.0, "legend.labelspacing": 0.3,
    "axes.prop_cycle": f"cycler('color', {list(LINES[:8])}) + cycler('linestyle', {list(DASHES)})",
    "pdf.fonttype": 42, "ps.fonttype": 42, "savefig.dpi": 600, "savefig.bbox": None}


class Sizes(NamedTuple):
    """Font sizes in pt."""
    title: float
    small: float
    cell: float


class Style:
    """width: of every figure, in inches; None: as the plot chooses. titles: False leaves the description to the caption.
    patterns: areas have hatches, lines have dashes and markers. rc: parameters of matplotlib."""

    def __init__(self, name, width, sizes, titles, patterns, rc):
        self.name, self.width, self.sizes, self.titles, self.patterns, self.rc = name, width, sizes, titles, patterns, rc
        self._entered = []

    def __enter__(self):
        import matplotlib

        stack = contextlib.ExitStack()
        stack.enter_context(matplotlib.rc_context(self.rc))
        stack.callback(_current.reset, _current.set(self))
        self._entered.append(stack)
        return self

    def __exit__(self, *_):
        self._entered.pop().close()

    def use(self):
        """The style of all further plots of the program, also of other plots with matplotlib. style("screen").use() ends it."""
        import matplotlib

        global _used
        matplotlib.rcParams.update(_before)
        _before.clear()
        _before.update({key: matplotlib.rcParams[key] for key in self.rc})
        matplotlib.rcParams.update(self.rc)
        _used = self

    def part(self, key):
        """The look of a stage or an activity as an area."""
        return self._area(COLOURS[key], PATTERNS[key])

    def area(self, i):
        """The look of area or bar i of a list."""
        return self._area(LINES[i % len(LINES)], HATCHES[i % len(HATCHES)])

    def line(self, i, marked=False):
        """The look of line i of a list."""
        look = {"color": LINES[i % len(LINES)]}
        if self.patterns:
            look["linestyle"] = DASHES[i % len(DASHES)]
        if marked:
            look["marker"] = MARKERS[i % len(MARKERS)] if self.patterns else "o"
        return look

    def _area(self, colour, hatch):
        if not self.patterns:
            return {"facecolor": colour, "linewidth": 0}
        return {"facecolor": colour, "hatch": hatch, "edgecolor": "black" if lightness(colour) > 0.2 else "white", "linewidth": 0.3}

    def __repr__(self):
        return f"<farfault.style {self.name}" + (f", {self.width} inches wide>" if self.width else ">")


def style(name, columns=1, *, publisher="ieee", width=None, titles=False):
    """A style: "screen", the default, or "paper".

    with farfault.style("paper", columns=2): run.plot.latency_stack().savefig("stack.pdf")

    columns: 1 or 2, the width of figures in a paper of a publisher ("ieee", "acm"). width: another width, in inches.
    titles: True keeps the title of each figure, which the caption of a paper replaces.
    """
    if name == "screen":
        return SCREEN
    if name != "paper":
        raise ResultError(f'farfault.style: no style {name!r}; available: "screen", "paper"')
    if columns not in (1, 2):
        raise ResultError(f"farfault.style: columns must be 1 or 2, not {columns!r}")
    if publisher not in WIDTHS:
        raise ResultError(f"farfault.style: no publisher {publisher!r}; available: " + ", ".join(f'"{p}"' for p in WIDTHS))
    if width is not None and not (isinstance(width, (int, float)) and 1 <= width <= 50):
        raise ResultError(f"farfault.style: width must be 1 to 50 inches, not {width!r}")
    return Style("paper", WIDTHS[publisher][columns - 1] if width is None else width, Sizes(8, 7, 7), bool(titles), True, _PAPER)


def current():
    """The style in effect."""
    return _current.get() or _used


def lightness(colour):
    """Relative luminance, 0 to 1."""
    linear = (((int(colour[i:i + 2], 16) / 255 + 0.055) / 1.055) ** 2.4 for i in (1, 3, 5))
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))


SCREEN = Style("screen", None, Sizes(10, 8, 7), True, False, {})
_current = contextvars.ContextVar("the style of a with block", default=None)
_used = SCREEN
_before = {}  # parameters of matplotlib before use()
