# SPDX-License-Identifier: Apache-2.0
"""An HDF5 file of Farfault: opened for each access, unless it is held open.

With no open handles, a program can use many files at the same time. It also reads the current state of the file of a run in
progress: an open handle would still refer to space that the run has reused since.
"""
import contextlib
import os

import numpy

from . import objects
from .calls import charge
from .errors import ResultError, in_one_line

# Supported schema versions. Data that only newer files of a version have is looked up on access.
SCHEMA_VERSIONS = (2, 3)


class File:
    def __init__(self, path, max_bytes):
        self.path, self.max_bytes = os.fspath(path), max_bytes
        self._held = None

    @contextlib.contextmanager
    def reading(self):
        """The root group (objects.Group)."""
        if self._held is not None:
            yield self._held
        else:
            with self._open() as root:
                yield root

    def hold(self):
        self._held = self._held or self._open()

    def release(self):
        if self._held is not None:
            self._held.close()
        self._held = None

    def _open(self):
        return objects.open_file(self.path)


def check_readable(path):
    """Raises a ResultError for a file that is not HDF5."""
    why = objects.why_no_file(path)
    if why:
        raise ResultError(f"{in_one_line(path)}: {why}")
    if os.path.getsize(path) == 0:
        raise ResultError(f"{path}: it is empty")
    if not os.access(path, os.R_OK):
        raise ResultError(f"{path}: it cannot be read: no permission")
    if not objects.is_hdf5(path):
        raise ResultError(f"{path}: it is not an HDF5 file, so it is not a Farfault result")


def check_version(path, version):
    """Raises a ResultError for an unsupported or missing schema version."""
    if not isinstance(version, int):
        raise ResultError(f"{path}: it has no schema_version, so it is not a Farfault result")
    if version in SCHEMA_VERSIONS:
        return
    known = " and ".join(str(v) for v in SCHEMA_VERSIONS)
    age = "an older" if version < min(SCHEMA_VERSIONS) else "a newer"
    raise ResultError(f"{path}: it was written by {age} version of Farfault (schema_version {version}); "
                      f"this package reads schema_version {known}")


def plain(value):
    """A scalar of HDF5 as a Python int, float or str."""
    if isinstance(value, numpy.ndarray) and value.shape == ():
        value = value[()]
    if isinstance(value, numpy.generic):
        value = value.item()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


STORAGE = {"DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "_FillValue", "_Encoding", "coordinates"}


def attributes(item):
    """The attributes of a group or dataset, without the attributes for its storage and its dimension scales."""
    return {name: plain(value) for name, value in item.attributes().items() if name not in STORAGE}


def values(dataset, key=()):
    """A dataset, or a part of it, converted."""
    data = dataset.read(key)
    if data.dtype.kind == "S":
        charge(4 * data.nbytes, dataset.name)
        return texts(data).astype(str)
    return converted(data)


def converted(data):
    """Texts as str; counts as int64, so that their differences can be negative."""
    if data.dtype.kind == "S":
        return texts(data)
    if data.dtype == numpy.uint64 and (data.size == 0 or data.max() < 2**63):
        return data.view(numpy.int64)
    return data


def texts(data):
    """Texts as Python objects. Equal texts share one object."""
    known, found = {}, numpy.empty(data.shape, dtype=object)
    flat, given = found.reshape(-1), data.reshape(-1)
    for start in range(0, len(given), 65536):
        piece = given[start:start + 65536].tolist()
        known.update((text, text.decode("utf-8", "replace")) for text in set(piece) - known.keys())
        flat[start:start + len(piece)] = [known[text] for text in piece]
    return found


def filled(dataset, rows=None):
    """The first rows of a dataset (default: all), converted. NaN replaces _FillValue, which marks missing figures."""
    data, fill = dataset.read(slice(rows)), dataset.attribute("_FillValue")
    missing = None if fill is None else data == numpy.ravel(fill)[0]
    if missing is None or not missing.any():
        return converted(data)
    return numpy.where(missing, numpy.nan, data.astype(float))


def is_scale(dataset):
    return dataset.attribute("CLASS") == b"DIMENSION_SCALE"
