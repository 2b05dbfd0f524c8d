# SPDX-License-Identifier: Apache-2.0
"""An HDF5 file of Farfault: opened for each access, unless it is held open.

Many files can be in use at once that way, as no handle stays open, and the file of a run that is still under way is read
as it is now: an open handle would go on reading space that the run has used anew since.
"""
import contextlib
import os

import h5py
import numpy

from .errors import ResultError

# The schema versions that are read. What a version adds is looked for where it is asked for.
SCHEMA_VERSIONS = (2,)


class File:
    def __init__(self, path):
        self.path = os.fspath(path)
        self._held = None

    @contextlib.contextmanager
    def reading(self):
        """The h5py.File; what HDF5 says of a damaged one becomes a ResultError."""
        with self._errors():
            if self._held is not None:
                yield self._held
            else:
                with self._open() as file:
                    yield file

    def hold(self):
        with self._errors():
            self._held = self._held or self._open()

    def release(self):
        if self._held is not None:
            self._held.close()
        self._held = None

    @contextlib.contextmanager
    def _errors(self):
        try:
            yield
        except ResultError:
            raise
        except FileNotFoundError:
            raise ResultError(f"{self.path}: there is no such file") from None
        except (OSError, RuntimeError, KeyError, AttributeError, IndexError, TypeError, ValueError) as problem:
            # The last four: of data that has another type or shape than it should.
            raise ResultError(f"{self.path}: it is damaged: {in_one_line(problem)}") from None

    def _open(self):
        # Without a lock: a reader must not get in the way of the run that writes the file.
        return h5py.File(self.path, "r", locking=False)


def in_one_line(problem):
    """What an error says, without what would end the line or steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in str(problem).strip(chr(34)))


def check_readable(path):
    """A ResultError for what is no HDF5 file."""
    if os.path.isdir(path):
        raise ResultError(f"{path}: it is a folder; farfault.open_sweep opens the folder of a sweep")
    if not os.path.exists(path):
        raise ResultError(f"{path}: there is no such file")
    if os.path.getsize(path) == 0:
        raise ResultError(f"{path}: it is empty")
    if not os.access(path, os.R_OK):
        raise ResultError(f"{path}: it cannot be read: no permission")
    if not h5py.is_hdf5(path):
        raise ResultError(f"{path}: it is no HDF5 file, so it is no result of Farfault")


def check_version(path, version):
    """A ResultError for a schema version that is not read, or none."""
    if not isinstance(version, int):
        raise ResultError(f"{path}: it has no schema_version, so it is no result of Farfault")
    if version in SCHEMA_VERSIONS:
        return
    known = " and ".join(str(v) for v in SCHEMA_VERSIONS)
    age = "an older" if version < min(SCHEMA_VERSIONS) else "a newer"
    raise ResultError(f"{path}: it was written by {age} version of Farfault (schema_version {version}); "
                      f"this package reads schema_version {known}")


def plain(value):
    """A scalar of HDF5 as Python's own: int, float, str."""
    if isinstance(value, numpy.generic):
        value = value.item()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


STORAGE = {"DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "_FillValue", "_Encoding", "coordinates"}


def attributes(item):
    """The attributes of a group or dataset, without those that say how it is stored and tied to others."""
    return {name: plain(item.attrs[name]) for name in item.attrs if name not in STORAGE}


def values(dataset):
    """All of a dataset, converted."""
    return converted(dataset[()])


def converted(data):
    """Text as str, and counts as int64, so that differences of them can be negative."""
    data = numpy.asarray(data)
    if data.dtype.kind == "S":
        return numpy.char.decode(data, "utf-8", "replace") if data.size else data.astype(str)
    if data.dtype.kind == "O":
        return numpy.array([plain(v) for v in data.flat], dtype=str).reshape(data.shape)
    if data.dtype == numpy.uint64 and (data.size == 0 or data.max() < 2**63):
        return data.astype(numpy.int64)
    return data


def filled(dataset):
    """All of a dataset, converted, with NaN for the figures that one of several does not have."""
    data, fill = dataset[()], dataset.attrs.get("_FillValue")
    missing = None if fill is None else data == numpy.ravel(fill)[0]
    if missing is None or not missing.any():
        return converted(data)
    return numpy.where(missing, numpy.nan, data.astype(float))


def is_scale(dataset):
    return dataset.attrs.get("CLASS") == b"DIMENSION_SCALE"
