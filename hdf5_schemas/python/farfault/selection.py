# SPDX-License-Identifier: Apache-2.0
"""Maps a selection of a dataset onto its chunks."""
import itertools

import numpy

from .errors import Misplaced


def axes_of(key, shape):
    """Per axis, the selected indices (an ascending range or an array), and whether the axis stays; an integer removes
    its axis."""
    key = key if isinstance(key, tuple) else (key,)
    if len(key) > len(shape):
        raise IndexError(f"{len(key)} indices for {len(shape)} axes")
    axes, kept = [], []
    for chosen, extent in itertools.zip_longest(key, shape, fillvalue=slice(None)):
        kept.append(not isinstance(chosen, (int, numpy.integer)))
        axes.append(_places(chosen, extent))
    return axes, kept


def _places(chosen, extent):
    if isinstance(chosen, slice):
        return range(*chosen.indices(extent))
    places = numpy.atleast_1d(numpy.asarray(chosen, dtype="int64"))
    places = numpy.where(places < 0, places + extent, places)
    if places.ndim != 1 or ((places < 0) | (places >= extent)).any():
        raise Misplaced(f"an index is outside 0 to {extent - 1}")
    return range(int(places[0]), int(places[0]) + 1) if len(places) == 1 else places


def parts(axes, sizes):
    """Per chunk: its number on each axis, the indices of its values in the result, and their indices in the chunk."""
    apart = any(not isinstance(a, range) for a in axes)
    for of_axes in itertools.product(*(list(_of_axis(a, size, apart)) for a, size in zip(axes, sizes))):
        numbers, places, inside = zip(*of_axes) if of_axes else ((), (), ())
        yield numbers, (numpy.ix_(*places) if apart else places), (numpy.ix_(*inside) if apart else inside)


def _of_axis(places, size, apart):
    if not isinstance(places, range):
        number = places // size
        order = numpy.argsort(number, kind="stable")
        for of_chunk in numpy.split(order, numpy.flatnonzero(numpy.diff(number[order])) + 1):
            first = int(number[of_chunk[0]])
            yield first, of_chunk, places[of_chunk] - first * size
        return
    done = 0
    while done < len(places):
        number = places[done] // size
        end = min(len(places), done + -(-((number + 1) * size - places[done]) // places.step))
        inside = slice(places[done] - number * size, places[end - 1] - number * size + 1, places.step)
        yield number, *((numpy.arange(done, end), numpy.arange(inside.start, inside.stop, inside.step)) if apart
                        else (slice(done, end), inside))
        done = end
