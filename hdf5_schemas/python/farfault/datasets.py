# SPDX-License-Identifier: Apache-2.0
"""Groups of a file as xarray datasets (lazy) and pandas tables (read at once), with units and long names."""
import h5py
import numpy
import pandas
import xarray
from xarray.backends import BackendArray
from xarray.core import indexing

from .file import attributes, filled, is_scale, plain, values


class _Lazy(BackendArray):
    """A dataset of the file that is read when its values are asked for, and no more of it than is."""

    def __init__(self, file, name, shape, dtype):
        self.file, self.name, self.shape, self.dtype = file, name, shape, dtype

    def __getitem__(self, key):
        if any(isinstance(k, slice) and (k.step or 1) < 0 for k in key.tuple):
            # HDF5 reads forwards only, and xarray's own way round that picks wrong elements for steps beyond one.
            key = indexing.OuterIndexer(tuple(numpy.arange(*k.indices(n)) if isinstance(k, slice) else k
                                              for k, n in zip(key.tuple, self.shape)))
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER_1VECTOR, self._read)

    def _read(self, key):
        # The dataset of the file may be longer than what is shown of it.
        key = tuple(slice(*k.indices(n)) if isinstance(k, slice) else k for k, n in zip(key, self.shape))
        with self.file.reading() as f:
            return numpy.asarray(f[self.name][key]).astype(self.dtype)


def dataset(file, group, names=None, lazy=True):
    """The datasets of a group (of these names) as one xarray.Dataset; coordinates are read at once.

    A run that is killed may leave some datasets longer than others: only rows that all of them have are given.
    """
    with file.reading() as f:
        data = f[group]
        chosen = [n for n, d in data.items() if isinstance(d, h5py.Dataset)] if names is None else list(names)
        coordinates = {c for n in chosen for c in (*_dims(data[n]), *_coordinates(data[n])) if c in data}
        items = {n: data[n] for n in (*chosen, *sorted(coordinates - set(chosen)))}
        dims = {n: _dims(d) for n, d in items.items()}
        sizes = {}
        for n, d in items.items():
            for dim, size in zip(dims[n], d.shape):
                sizes[dim] = min(size, sizes.get(dim, size))
        variables = {}
        for n, d in items.items():
            shape = tuple(sizes[dim] for dim in dims[n])
            later = lazy and shape and n not in coordinates and d.dtype.kind in "iuf"
            variables[n] = xarray.Variable(dims[n], _later(file, d, shape) if later else _now(d, shape), attributes(d))
        return xarray.Dataset({n: v for n, v in variables.items() if n not in coordinates},
                              {n: v for n, v in variables.items() if n in coordinates}, attributes(data))


def _now(d, shape):
    return values(d)[tuple(slice(size) for size in shape)]


def _later(file, d, shape):
    dtype = numpy.dtype("int64") if d.dtype == numpy.uint64 else d.dtype
    array = indexing.LazilyIndexedArray(_Lazy(file, d.name, shape, dtype))
    return indexing.CopyOnWriteArray(indexing.MemoryCachedArray(array))


def _dims(d):
    if is_scale(d):
        return (_own_name(d),)
    if "DIMENSION_LIST" not in d.attrs:
        return tuple(f"dim{i}" for i in range(d.ndim))
    return tuple(_own_name(dim[0]) if len(dim) else f"dim{i}" for i, dim in enumerate(d.dims))


def _own_name(d):
    return d.name.rsplit("/", 1)[-1]


def _coordinates(d):
    return plain(d.attrs["coordinates"]).split() if "coordinates" in d.attrs else ()


def frame(file, group, index, needed=(), names=None):
    """The one-dimensional datasets of a group as the columns of a pandas table.

    `.attrs` has "units" and "long_name" of the columns, and the "description" of the group. A figure that one of several
    does not have is NaN. A file without one of the needed columns is damaged. With names, only those columns are read, as far
    as they are there.
    """
    with file.reading() as f:
        data = f[group]
        chosen = data if names is None else dict.fromkeys(n for n in (index, *names) if n in data)
        items = {n: d for n, d in ((n, data[n]) for n in chosen) if isinstance(d, h5py.Dataset) and d.ndim == 1}
        for n in needed:
            if n not in items:
                raise KeyError(f"{group} has no {n}")
        rows = min((d.shape[0] for d in items.values()), default=0)
        columns, units, names = {}, {}, {}
        for n, d in items.items():
            labels = attributes(d)
            columns[n] = filled(d)[:rows]
            units[n], names[n] = labels.get("units", "1"), labels.get("long_name", n)
        description = attributes(data).get("description", "")
    return labelled(columns, units, names, index, description)


def labelled(columns, units, names, index, description=""):
    table = pandas.DataFrame(columns)
    if index in table:
        table = table.set_index(index)
    table.attrs = {"units": {n: units[n] for n in table}, "long_name": {n: names[n] for n in table}}
    if description:
        table.attrs["description"] = description
    return table
