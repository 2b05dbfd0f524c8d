# SPDX-License-Identifier: Apache-2.0
"""The only module that opens files and their objects. Files are untrusted: checks precede every allocation.

- File: regular files only.
- Path: every component is a hard link, every object has one name. Soft, external and user-defined links are errors.
- Object: a group or a dataset.
- Storage: inside the file. External storage, virtual layout and filters other than the writer's are errors.
- Type: integer, float, fixed-length text. Variable-length data is never read, because HDF5 1.10 overruns its buffers on
  damaged lengths. Dimensions therefore come from REFERENCE_LIST (fixed length), not from DIMENSION_LIST.
- Size: shape, text width and chunk size are checked against the stored bytes, with the limits of src/walk.cpp.
- Chunks: unpacked by chunk.py. HDF5 inflates without a limit, and returns uninitialized memory for short chunks.

Limit: HDF5 runs in this process and may crash on damaged metadata. `farfault validate` uses a child process.
"""
import math
import os
import stat
from typing import NamedTuple

import h5py
import numpy
from h5py import h5a, h5d, h5g, h5l, h5o, h5s, h5t, h5z

from . import chunk, selection
from .calls import charge
from .errors import ResultError, in_one_line
from .renamed import BEFORE, NOW

# Filters of the writer (src/layout.cpp, compress), in this order, each at most once.
FILTERS = (h5z.FILTER_SHUFFLE, h5z.FILTER_DEFLATE)
# Limits; the first five equal src/walk.cpp. Deflate shrinks data at most 1032 times.
MOST_NAMES, MOST_DEPTH, MOST_ROW_BYTES, DEFLATE_RATIO, UNCOUNTED_BYTES = 1_000_000, 16, 256 << 20, 1100, 4096
MOST_NAME_BYTES, MOST_ATTRIBUTES, MOST_ATTRIBUTE_BYTES, MOST_REFERENCE_BYTES = 64 << 20, 1000, 1 << 20, 64 << 20
MOST_CHUNK_BYTES, MOST_PIECES, MOST_MISSING_CHUNKS = 64 << 20, 1_000_000, 1000
PIECE_BYTES = 1 << 20
# Overhead of a Python string.
TEXT_BYTES = 64
# These attributes must have a supported type. Other attributes of an unsupported type are skipped.
NEEDED = {"units", "long_name", "kind", "description", "role", "bin_unit", "coordinates", "CLASS", "_FillValue",
          "schema_version", "farfault_version", "end_reason", "result_digest"}
LINKS = {h5l.TYPE_SOFT: "a soft link", h5l.TYPE_EXTERNAL: "an external link"}
FLOATS = ((h5t.IEEE_F64LE, "<f8"), (h5t.IEEE_F64BE, ">f8"), (h5t.IEEE_F32LE, "<f4"), (h5t.IEEE_F32BE, ">f4"))


def why_no_file(path):
    """The reason why a path cannot be opened as a regular file, or ""."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return "no such file"
    except OSError as problem:
        return f"it cannot be read: {problem.strerror}"
    if stat.S_ISDIR(mode):
        return "it is a folder; farfault.open_sweep opens the folder of a sweep"
    return "" if stat.S_ISREG(mode) else "it is not a regular file"


def open_file(path):
    why = why_no_file(path)
    if why:
        raise ResultError(f"{path}: {why}")
    # No lock: a reader must not block the run that writes the file.
    return Opened(_Source(path, os.path.getsize(path)), h5py.File(path, "r", locking=False))


def is_hdf5(path):
    return h5py.is_hdf5(path)


class _Source(NamedTuple):
    path: str
    size: int


class _Object:
    def __init__(self, source, name, identifier):
        self._source, self.name, self._id = source, name, identifier

    def refusal(self, why, name=None):
        return ResultError(f"{self._source.path}: it is damaged or not a Farfault result: {in_one_line(name or self.name)} {why}")

    def attributes(self):
        """Numbers and fixed-length texts, by name."""
        number = h5a.get_num_attrs(self._id)
        if number > MOST_ATTRIBUTES:
            raise self.refusal(f"has {number} attributes")
        names = []
        h5a.iterate(self._id, names.append)
        found = {name: self.attribute(name) for name in (_decoded(self, n) for n in sorted(names))}
        return {name: value for name, value in found.items() if value is not None}

    def attribute(self, name):
        """None if it is missing, or if its type is unsupported and its name is not in NEEDED."""
        if not h5a.exists(self._id, name.encode()):
            return None
        attribute = h5a.open(self._id, name.encode())
        dtype = _dtype(attribute.get_type())
        space = attribute.get_space()
        if dtype is None or space.get_simple_extent_type() == h5s.NULL:
            if name in NEEDED:
                raise self.refusal(f"has an attribute {name} that is neither a number nor a fixed-length text")
            return None
        shape = space.get_simple_extent_dims()
        size = math.prod(shape) * dtype.itemsize
        if size > MOST_ATTRIBUTE_BYTES:
            raise self.refusal(f"has an attribute {in_one_line(name)} of {size} bytes")
        charge(size, self.name)
        values = numpy.empty(shape, dtype)
        if values.size:
            attribute.read(values, attribute.get_type())
        return values[()] if shape == () else values


class Group(_Object):
    def names(self):
        """All names, sorted, as in the current schema. Raises an error for a link that is not a hard link."""
        if self._id.get_num_objs() > MOST_NAMES:
            raise self.refusal("has too many members")
        found, size = [], 0

        def add(name, link):
            nonlocal size
            size += len(name)
            found.append((name, link.type))
            if len(found) > MOST_NAMES or size > MOST_NAME_BYTES:
                raise self.refusal("has too many members")

        self._id.links.iterate(add, info=True)
        charge(size + TEXT_BYTES * len(found), f"the names in {self.name}")
        for name, link in found:
            self._check_link(_text(self, name), link)
        return sorted({NOW.get(text, text) for text in (_text(self, name) for name, _ in found)})

    def _check_link(self, name, link):
        if link != h5l.TYPE_HARD:
            raise self.refusal(f"is {LINKS.get(link, 'a user-defined link')}; a result must contain all of its data",
                               f"{self.name.rstrip('/')}/{name}")

    def __contains__(self, path):
        at, (*parents, last) = self, _parts(path) or [None]
        if last is None:
            return True
        for part in parents:
            if not at._has(part):
                return False
            at = at._member(part)
            if not isinstance(at, Group):
                return False
        return at._has(last)

    def group(self, path):
        found = self._at(path)
        if not isinstance(found, Group):
            raise self.refusal("is not a group", found.name)
        return found

    def dataset(self, path):
        found = self._at(path)
        if not isinstance(found, Dataset):
            raise self.refusal("is not a dataset", found.name)
        return found

    def datasets(self, names=None):
        """Datasets by name, in the order of `names`; other objects are skipped."""
        found = ((n, self._member(n)) for n in (self.names() if names is None else names))
        return {n: d for n, d in found if isinstance(d, Dataset)}

    def dimensions(self):
        """{address of a dataset: {axis: name}}, from the REFERENCE_LIST of the dimension scales in this group."""
        found = {}
        for name in self.names():
            if h5a.exists(self._id, b"REFERENCE_LIST", obj_name=self._stored_name(name).encode()):
                for address, axis in self._member(name).references():
                    found.setdefault(address, {})[axis] = name
        return found

    def _at(self, path):
        parts = _parts(path)
        if len(parts) > MOST_DEPTH:
            raise self.refusal("is nested too deeply", path)
        at = self
        for part in parts:
            if not isinstance(at, Group):
                raise self.refusal("is not a group", at.name)
            at = at._member(part)
        return at

    def _has(self, name):
        return self._stored_name(name) is not None

    def _stored_name(self, name):
        """The name of a member in this file; None if it is missing."""
        return next((n for n in (name, BEFORE.get(name, "")) if _is_name(n) and self._id.links.exists(n.encode())), None)

    def _member(self, name):
        """The only place that opens an object."""
        path, stored = f"{self.name.rstrip('/')}/{name}", self._stored_name(name)
        if stored is None:
            raise self.refusal("is missing", path)
        self._check_link(name, self._id.links.get_info(stored.encode()).type)
        identifier = h5o.open(self._id, stored.encode())
        about = h5o.get_info(identifier)
        if about.rc != 1:
            raise self.refusal("has several names", path)
        if about.type == h5o.TYPE_GROUP:
            return Group(self._source, path, identifier)
        if about.type == h5o.TYPE_DATASET:
            return Dataset(self._source, path, identifier, about.addr)
        return _Object(self._source, path, None)


class Opened(Group):
    """The root group; closes the file."""

    def __init__(self, source, file):
        super().__init__(source, "/", h5g.open(file.id, b"/"))
        self._open = file

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._open.close()


class Dataset(_Object):
    """dtype: as stored; None for an unsupported type, which raises an error on reading."""

    def __init__(self, source, name, identifier, address):
        super().__init__(source, name, identifier)
        self.address = address
        properties = identifier.get_create_plist()  # first: HDF5 opens the sources of a virtual dataset for its shape
        layout = properties.get_layout()
        if properties.get_external_count() != 0:
            raise self.refusal("has external storage; a result must contain all of its data")
        if layout not in (h5d.COMPACT, h5d.CONTIGUOUS, h5d.CHUNKED):
            raise self.refusal("is a virtual dataset; a result must contain all of its data")
        self._filters = [properties.get_filter(i) for i in range(properties.get_nfilters())]
        kinds = [f[0] for f in self._filters]
        if kinds != [f for f in FILTERS if f in kinds]:
            raise self.refusal("has a filter pipeline that Farfault does not write")
        kind = identifier.get_type()
        self.dtype, width = _dtype(kind), kind.get_size()
        space = identifier.get_space()
        self.shape = (0,) if space.get_simple_extent_type() == h5s.NULL else space.get_simple_extent_dims()
        self.ndim = len(self.shape)
        self._chunk = properties.get_chunk() if layout == h5d.CHUNKED else None
        self._check_size(width)

    def _check_size(self, width):
        row = math.prod(self.shape[1:]) * width
        if row > MOST_ROW_BYTES:
            raise self.refusal(f"claims {row} bytes per row")
        # The chunk index may claim more bytes than the file has.
        whole, stored = math.prod(self.shape) * width, min(self._id.get_storage_size(), self._source.size)
        if whole > (stored + UNCOUNTED_BYTES) * DEFLATE_RATIO or (self._chunk is None and 0 < stored < whole):
            raise self.refusal("claims more values than it stores")
        if self._chunk is not None:
            if len(self._chunk) != self.ndim or 0 in self._chunk:
                raise self.refusal("has chunks of an invalid shape")
            if math.prod(self._chunk) * width > MOST_CHUNK_BYTES:
                raise self.refusal(f"has chunks of {math.prod(self._chunk) * width} bytes")

    def read(self, key=()):
        """Values at an integer, an ascending slice or an array of indices per axis. Missing axes are read whole."""
        if self.dtype is None:
            raise self.refusal("has neither numbers nor fixed-length texts")
        axes, kept = selection.axes_of(key, self.shape)
        shape = tuple(len(a) for a in axes)
        text = self.dtype.kind == "S"
        charge(math.prod(shape) * (2 * self.dtype.itemsize + TEXT_BYTES if text else 8), self.name)
        out = numpy.empty(shape, self.dtype)
        if self._chunk and self._id.get_space_status() == h5d.SPACE_STATUS_NOT_ALLOCATED:
            out[...] = self._never_written()
        elif out.size:
            size = self._chunk or self._piece()
            if math.prod(n // c + 1 for n, c in zip(shape, size)) > MOST_PIECES:
                raise self.refusal(f"has chunks of {math.prod(size)} values")
            pieces = self._unpacked if self._chunk else self._stored
            missing = [0]
            for number, places, inside in selection.parts(axes, size):
                out[places] = pieces(number, size, missing)[inside]
        out = out.reshape([n for n, k in zip(shape, kept) if k])
        return out if text else out.astype(f"{self.dtype.kind}8", copy=False)

    def _piece(self):
        """Shape of one read of a dataset without chunks."""
        row = math.prod(self.shape[1:]) * self.dtype.itemsize
        return (max(1, PIECE_BYTES // max(row, 1)), *self.shape[1:]) if self.shape else ()

    def _stored(self, number, size, _):
        start = tuple(n * s for n, s in zip(number, size))
        shape = tuple(min(s, n - at) for s, n, at in zip(size, self.shape, start))
        values, space = numpy.empty(shape, self.dtype), self._id.get_space()
        if shape:
            space.select_hyperslab(start, shape)
        self._id.read(h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR), space, values, self._id.get_type())
        return values

    def _unpacked(self, number, size, missing):
        at = tuple(n * s for n, s in zip(number, size))
        try:
            skipped, data = self._id.read_direct_chunk(at)
        except (RuntimeError, OSError):
            missing[0] += 1
            if missing[0] > MOST_MISSING_CHUNKS:
                raise self.refusal("lacks most of its chunks") from None
            if self._id.get_chunk_info_by_coord(at).byte_offset is not None:
                raise
            return numpy.full(size, self._never_written())
        filters = [f for i, f in enumerate(self._filters) if not skipped >> i & 1]
        kinds, nominal = [f[0] for f in filters], math.prod(size) * self.dtype.itemsize
        if h5z.FILTER_SHUFFLE in kinds and filters[0][2][:1] != (self.dtype.itemsize,):
            raise self.refusal("is shuffled with a width other than that of its values")
        try:
            return chunk.unpacked(data, nominal, self.dtype, h5z.FILTER_DEFLATE in kinds, h5z.FILTER_SHUFFLE in kinds).reshape(size)
        except chunk.Damaged as problem:
            raise self.refusal(f"has a chunk that {problem}") from None

    def _never_written(self):
        """The fill value."""
        fill = numpy.zeros((), self.dtype)
        properties = self._id.get_create_plist()
        if properties.fill_value_defined() == h5d.FILL_VALUE_USER_DEFINED:
            properties.get_fill_value(fill)
        return fill

    def references(self):
        """[(address, axis)] of the datasets that this dimension scale is attached to."""
        attribute = h5a.open(self._id, b"REFERENCE_LIST")
        kind, shape = attribute.get_type(), attribute.get_space().get_simple_extent_dims()
        if kind.get_class() != h5t.COMPOUND or len(shape) != 1 or shape[0] * kind.get_size() > MOST_REFERENCE_BYTES:
            raise self.refusal("has an invalid REFERENCE_LIST")
        members = {kind.get_member_name(i): (kind.get_member_offset(i), kind.get_member_type(i)) for i in range(kind.get_nmembers())}
        try:
            (where, reference), (axis_at, number) = members[b"dataset"], members[b"dimension"]
            sound = reference.equal(h5t.STD_REF_OBJ) and number.get_class() == h5t.INTEGER and number.get_size() == 4
        except KeyError:
            sound = False
        if not sound:
            raise self.refusal("has an invalid REFERENCE_LIST")
        charge(shape[0] * kind.get_size(), self.name)
        records = numpy.empty(shape, f"V{kind.get_size()}")
        if records.size:
            attribute.read(records, kind)
        order = ">" if number.get_order() == h5t.ORDER_BE else "<"
        fields = records.view({"names": ["address", "axis"], "formats": ["=u8", f"{order}i4"], "offsets": [where, axis_at],
                               "itemsize": kind.get_size()})
        return zip(fields["address"].tolist(), fields["axis"].tolist())


def _parts(path):
    """The components of a path; the root group has none."""
    return path.strip("/").split("/") if path.strip("/") else []


def _decoded(where, name):
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        raise where.refusal("has a member or an attribute whose name is not UTF-8") from None


def _text(where, name):
    text = _decoded(where, name)
    if not _is_name(text):
        raise where.refusal("has a member whose name is a path")
    return text


def _is_name(text):
    """False for names that HDF5 treats as paths, because it follows every link on them."""
    return text not in ("", ".") and "/" not in text and "\0" not in text


def _dtype(kind):
    """The numpy type of a supported HDF5 type, with its stored width and byte order; otherwise None."""
    size = kind.get_size()
    if kind.get_class() == h5t.STRING:
        return None if kind.is_variable_str() or not 0 < size <= MOST_ROW_BYTES else numpy.dtype(f"S{size}")
    if kind.get_class() == h5t.INTEGER:
        plain = size in (1, 2, 4, 8) and kind.get_precision() == 8 * size and kind.get_offset() == 0
        order = ">" if kind.get_order() == h5t.ORDER_BE else "<"
        return numpy.dtype(f"{order}{'u' if kind.get_sign() == h5t.SGN_NONE else 'i'}{size}") if plain else None
    if kind.get_class() == h5t.FLOAT:
        return next((numpy.dtype(name) for known, name in FLOATS if kind.equal(known)), None)
    return None
