# SPDX-License-Identifier: Apache-2.0
"""Groups of a file as xarray datasets (lazy) and pandas tables (read immediately), with units and long names."""
import numpy
import pandas
import xarray
from xarray.backends import BackendArray
from xarray.core import indexing

from .calls import whole_call
from .file import attributes, filled, is_scale, plain, values


class _Lazy(BackendArray):
    """A dataset of the file that is read on access, limited to the selected part.

    held: bytes by name that xarray caches of this array and of the other arrays of its dataset.
    """

    def __init__(self, file, name, shape, dtype, held):
        self.file, self.name, self.shape, self.dtype, self.held = file, name, shape, dtype, held

    def __getitem__(self, key):
        if any(isinstance(k, slice) and (k.step or 1) < 0 for k in key.tuple):
            # xarray selects wrong elements for negative steps below -1.
            key = indexing.OuterIndexer(tuple(numpy.arange(*k.indices(n)) if isinstance(k, slice) else k
                                              for k, n in zip(key.tuple, self.shape)))
        others = sum(size for name, size in self.held.items() if name != self.name)
        with whole_call(self.file, others):
            return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key):
        # The dataset in the file may be longer than the visible part.
        key = tuple(slice(*k.indices(n)) if isinstance(k, slice) else k for k, n in zip(key, self.shape))
        with self.file.reading() as f:
            stored = f.dataset(self.name)
            if stored.ndim != len(self.shape) or any(n < size for n, size in zip(stored.shape, self.shape)):
                raise stored.refusal("has shrunk since it was opened")
            found = stored.read(key).astype(self.dtype, copy=False)
        self.held[self.name] = max(found.nbytes, self.held.get(self.name, 0))
        return found


def dataset(file, group, names=None, lazy=True):
    """The datasets of a group (or `names` of them) as one xarray.Dataset. Coordinates are read immediately.

    A killed run may leave datasets of different lengths. Only rows that all datasets have are returned.
    """
    with file.reading() as f:
        data = f.group(group)
        items, along = data.datasets(names), data.dimensions()
        chosen = list(items)
        coordinates = {c for d in items.values() for c in (*_dims(d, along), *_coordinates(d)) if c in data}
        items |= data.datasets(sorted(coordinates - set(chosen)))
        coordinates &= set(items)
        dims = {n: _dims(d, along) for n, d in items.items()}
        sizes = {}
        for n, d in items.items():
            for dim, size in zip(dims[n], d.shape):
                sizes[dim] = min(size, sizes.get(dim, size))
        variables, held = {}, {}
        for n, d in items.items():
            shape = tuple(sizes[dim] for dim in dims[n])
            later = lazy and shape and n not in coordinates and d.dtype is not None and d.dtype.kind in "iuf"
            variables[n] = xarray.Variable(dims[n], _later(file, d, shape, held) if later else _now(d, shape), attributes(d))
        return xarray.Dataset({n: v for n, v in variables.items() if n not in coordinates},
                              {n: v for n, v in variables.items() if n in coordinates}, attributes(data))


def _now(d, shape):
    return values(d, tuple(slice(size) for size in shape))


def _later(file, d, shape, held):
    dtype = numpy.dtype("f8" if d.dtype.kind == "f" else "i8")
    array = indexing.LazilyIndexedArray(_Lazy(file, d.name, shape, dtype, held))
    return indexing.CopyOnWriteArray(indexing.MemoryCachedArray(array))


def _dims(d, along):
    if is_scale(d):
        return (_own_name(d),)
    names = along.get(d.address, {})
    return tuple(names.get(axis, f"dim{axis}") for axis in range(d.ndim))


def _own_name(d):
    return d.name.rsplit("/", 1)[-1]


def _coordinates(d):
    listed = d.attribute("coordinates")
    return () if listed is None else plain(listed).split()


def frame(file, group, index, needed=(), names=None):
    """The one-dimensional datasets of a group as the columns of a pandas table.

    `.attrs` has "units" and "long_name" of the columns, and the "description" of the group. A missing figure is NaN. A
    file without one of the `needed` columns is damaged. names: read only these columns, as far as they exist.
    """
    with file.reading() as f:
        data = f.group(group)
        chosen = None if names is None else list(dict.fromkeys(n for n in (index, *names) if n in data))
        items = {n: d for n, d in data.datasets(chosen).items() if d.ndim == 1}
        for n in needed:
            if n not in items:
                raise data.refusal(f"has no {n}")
        rows = min((d.shape[0] for d in items.values()), default=0)
        columns, units, names = {}, {}, {}
        for n, d in items.items():
            labels = attributes(d)
            columns[n] = filled(d, rows)
            units[n], names[n] = labels.get("units", "1"), labels.get("long_name", n)
        description = attributes(data).get("description", "")
    return labelled(columns, units, names, index, description, copy=False)


def labelled(columns, units, names, index, description="", copy=None):
    places = pandas.Index(columns[index], name=index) if index in columns else None
    table = pandas.DataFrame({n: column for n, column in columns.items() if n != index}, places, copy=copy)
    table.attrs = {"units": {n: units[n] for n in table}, "long_name": {n: names[n] for n in table}}
    if description:
        table.attrs["description"] = description
    return table
