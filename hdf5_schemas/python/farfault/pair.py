# SPDX-License-Identifier: Apache-2.0
"""Two results side by side."""
import os

from .calls import MAX_BYTES, names_of, whole_calls
from .errors import ResultError, in_one_line
from .run import Run, open_run


def pair(a, b, names=None, *, max_bytes=MAX_BYTES):
    """Two results, as files or as opened runs, for plots with shared axes: farfault.pair("a.h5", "b.h5").plot.latency_stack().

    names: two labels; default: the names of the files, with as many folders as make them differ.
    """
    return Pair(*(r if isinstance(r, Run) else open_run(r, max_bytes=max_bytes) for r in (a, b)), names)


@whole_calls
class Pair:
    def __init__(self, a, b, names=None):
        self.runs = (a, b)
        self.path, self.max_bytes = f"{a.path} and {b.path}", max(a.max_bytes, b.max_bytes)
        self.names = _file_names(a.path, b.path) if names is None else _checked(names)

    @property
    def plot(self):
        """Plots of both results (farfault.plots.PairPlots). Needs matplotlib."""
        from .plots import PairPlots

        return PairPlots(self)

    def __repr__(self):
        return f"<farfault.Pair {in_one_line(self.names[0])}, {in_one_line(self.names[1])}>"


def _checked(names):
    names = tuple(names_of(names, "names"))
    if len(names) != 2 or not all(isinstance(n, str) and n for n in names) or names[0] == names[1]:
        raise ResultError(f"farfault.pair: names must be two different texts, not {in_one_line(names)}")
    return names


def _file_names(a, b):
    parts = [os.path.abspath(path).split(os.sep) for path in (a, b)]
    for count in range(1, max(map(len, parts)) + 1):
        first, second = (os.sep.join(p[-count:]) for p in parts)
        if first != second:
            return first, second
    return parts[0][-1], f"{parts[1][-1]} (again)"
