# SPDX-License-Identifier: Apache-2.0
"""Hostile results, continued: sizes that exceed the file, other types and filters, invalid texts, attributes and references."""
import functools
import zlib

from hostile_results import MARKER, low_level, replaced
from package_tests import h5py, numpy


# Sizes.
def many_rows(f, place, s, rows=10**9):
    """The old rows, then zeros: equal chunks of 8 MB that take 8 KB each."""
    old = f[place]
    first = old[...]
    chunk = ((1 << 20) // int(numpy.prod(old.shape[1:])), *old.shape[1:])
    new = replaced(f, place, shape=(rows, *old.shape[1:]), chunks=chunk, maxshape=(None, *old.shape[1:]), compression=9, shuffle=True)
    new[:chunk[0]] = numpy.zeros(chunk, old.dtype)
    new.flush()
    _, packed = new.id.read_direct_chunk((0,) * new.ndim)
    for start in range(chunk[0], rows, chunk[0]):
        new.id.write_direct_chunk((start, *[0] * (new.ndim - 1)), packed)
    new[:len(first)] = first


def many_rows_in_all_of_a_group(f, place, s):
    """Every dataset of the group that a reader needs has 10^9 rows."""
    group = f[place]
    kept = {"summary/machine": ("name", "end"), "tables/kernels": ("row",), "timeseries/l2_tlb": ("time_ps", "hits")}[place]
    for name in [n for n in group if n not in kept and n != "instance"]:
        del group[name]
    for name in kept:
        many_rows(f, f"{place}/{name}", s)


def rows_without_storage(f, place, s):
    replaced(f, place, shape=(2**40, *f[place].shape[1:]), chunks=(1024, *f[place].shape[1:]), compression=1)


def contiguous_without_storage(f, place, s):
    replaced(f, place, shape=(2**40, *f[place].shape[1:]))


def wide_text(f, place, s):
    low_level(f, place, _string(2**31), f[place].shape)


def wide_text_in_a_chunk(f, place, s):
    """One text of 2^31 bytes in one chunk of 2 MB."""
    old = f[place]
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((1,))
    properties.set_deflate(9)
    d = low_level(f, place, _string(2**31), (1,) if old.ndim == 0 else old.shape, properties)
    d.write_direct_chunk((0,), two_gigabytes())


@functools.cache
def two_gigabytes():
    """Zeros, compressed to 2 MB: the same 128 blocks of 16 MB, the end of the stream, and the Adler-32 of 2 GB of zeros."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x78\xda" + block * 128 + zlib.compressobj(wbits=-15).flush() + ((2**31 % 65521) << 16 | 1).to_bytes(4, "big")


def inflates_without_end(f, place, s):
    """A chunk of 1024 values that inflates to 2 GB."""
    shape = f[place].shape or (1,)
    d = replaced(f, place, shape=shape, chunks=(1024, *shape[1:]), maxshape=(None, *shape[1:]), compression=9)
    d.id.write_direct_chunk((0,) * d.ndim, two_gigabytes())


def inflates_twice(f, place, s):
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    old = f[place]
    shape = tuple(max(1, n) for n in old.shape or (1,))
    properties.set_chunk(shape)
    for _ in range(2):
        properties.set_filter(h5py.h5z.FILTER_DEFLATE, h5py.h5z.FLAG_OPTIONAL, (9,))
    d = low_level(f, place, h5py.h5t.py_create(old.dtype), shape, properties)
    d.write_direct_chunk((0,) * len(shape), zlib.compress(two_gigabytes(), 9))


def too_short_a_chunk(f, place, s):
    """A chunk that inflates to fewer bytes than its values take: HDF5 returns uninitialized memory."""
    d = replaced(f, place, shape=(1000,), chunks=(1000,), compression=9)
    d.id.write_direct_chunk((0,), zlib.compress(b"\1", 9))


def huge_chunks(f, place, s):
    """Chunks of nearly 2 GB; one is written."""
    shape = f[place].shape or (1,)
    rows = 2_000_000_000 // (int(numpy.prod(shape[1:])) * f[place].dtype.itemsize)
    d = replaced(f, place, shape=shape, chunks=(rows, *shape[1:]), maxshape=(None, *shape[1:]), compression=9)
    d.id.write_direct_chunk((0,) * d.ndim, two_gigabytes())


def _string(width):
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(width)
    return kind


SIZES = (rows_without_storage, contiguous_without_storage, inflates_without_end, inflates_twice, too_short_a_chunk, huge_chunks)
TEXT_SIZES = (wide_text, wide_text_in_a_chunk)


# Types, filters, classes of objects.
def of_type(kind, data=None):
    def change(f, place, s):
        old = f[place]
        shape = old.shape
        del f[place]
        f.create_dataset(place, shape, kind, data=data)
    change.__name__ = f"of_type_{numpy.dtype(kind).kind}"
    return change


def enumeration(f, place, s):
    replaced(f, place, dtype=h5py.enum_dtype({"ZERO": 0, "ONE": 1}, basetype="i"))


def compound(f, place, s):
    of_type(numpy.dtype([("a", "i4"), ("b", "f8")]))(f, place, s)


def reference(f, place, s):
    of_type(h5py.ref_dtype)(f, place, s)


def text_of_variable_length(f, place, s):
    shape = f[place].shape
    del f[place]
    d = f.create_dataset(place, shape, h5py.string_dtype())
    if d.size:
        d[...] = "x" * 100


def list_of_variable_length(f, place, s):
    of_type(h5py.vlen_dtype("i4"))(f, place, s)


def small_floats(f, place, s):
    of_type("f2")(f, place, s)


def odd_width(f, place, s):
    kind = h5py.h5t.STD_I32LE.copy()
    kind.set_precision(17)
    kind.set_offset(3)
    low_level(f, place, kind, f[place].shape)


def opaque(f, place, s):
    of_type("V24")(f, place, s)


def committed_type(f, place, s):
    f["named"] = f[place].dtype
    replaced(f, place, dtype=f["named"])


def a_type_in_its_place(f, place, s):
    del f[place]
    f[place] = numpy.dtype("i8")


def swapped(f, place, s):
    """A dataset instead of a group, a group instead of a dataset."""
    was_group = isinstance(f[place], h5py.Group)
    del f[place]
    f.create_dataset(place, data=7) if was_group else f.create_group(place)


def unknown_filter(f, place, s):
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    shape = tuple(max(1, n) for n in f[place].shape or (1,))
    properties.set_chunk(shape)
    properties.set_filter(305, h5py.h5z.FLAG_OPTIONAL, (1, 2))
    d = low_level(f, place, h5py.h5t.py_create(f[place].dtype), shape, properties)
    d.write_direct_chunk((0,) * len(shape), MARKER)


def checksums(f, place, s):
    replaced(f, place, shape=f[place].shape or (1,), chunks=True, fletcher32=True)


def missing(f, place, s):
    del f[place]


KINDS = (enumeration, compound, reference, text_of_variable_length, list_of_variable_length, small_floats, odd_width, opaque, committed_type,
         a_type_in_its_place, swapped, unknown_filter, checksums, missing)


# Attributes, names, texts, references.
def bombs_of_attributes(f, place, s):
    for n in range(3000):
        f["summary/machine"].attrs[f"a{n}"] = n


def a_wide_attribute(f, place, s):
    f["summary/machine/end"].attrs["units"] = numpy.bytes_(b"x" * 60_000)
    f["summary/machine/end"].attrs["long_name"] = numpy.bytes_(b"\33[2J\n" * 10_000)


def an_attribute_of_variable_length(f, place, s):
    f["tables/kernels/launched"].attrs["units"] = "ps"


def attributes_of_other_types(f, place, s):
    for name in ("units", "long_name", "coordinates", "CLASS", "_FillValue"):
        for d in ("summary/machine/end", "timeseries/l2_tlb/hits"):
            f[d].attrs[name] = numpy.arange(5) if name != "CLASS" else h5py.Empty("f8")


def a_schema_of_another_type(f, place, s):
    f.attrs["schema_version"] = numpy.array([2, 2])


def double_nodes(f, place, s):
    for name in ("topology/nodes/node", "topology/nodes/name", "topology/links/link"):
        f[name][...] = f[name][0]


def double_names(f, place, s):
    for name in ("summary/gpu/name", "timeseries/sm.by_gpu/instance", "timeseries/l2_tlb/instance", "tables/traffic/from", "tables/links/link"):
        f[name][...] = f[name][0]


def names_beyond_utf8(f, place, s):
    for group in ("tables", "summary/machine", "tables/kernels"):
        h5py.h5d.create(f[group].id, b"\xff\xfe\x80", h5py.h5t.NATIVE_INT64, h5py.h5s.create_simple((1,)))


def names_that_steer_a_terminal(f, place, s):
    for group in ("tables", "timeseries", "summary"):
        f[group].create_group("\33]0;x\7\n\33[2J" + "y" * 5000)


def texts_beyond_utf8(f, place, s):
    for name in ("topology/nodes/name", "tables/kernels/name", "engine/host", "summary/gpu/name"):
        f[name][...] = b"\xff\xfe\x80$\\frac"[:f[name].dtype.itemsize]


def formulas(f, place, s):
    replaced(f, "tables/kernels/name", data=numpy.array([b"$\\frac{" + b"x" * 5000 + b"$"] * len(f["tables/kernels/name"]))
             , dtype=None, shape=None)


def negative_times(f, place, s):
    f["timeseries/l2_tlb/time_ps"][...] = -2**63
    f["summary/machine/end"][...] = 2**64 - 1
    f["tables/kernels/launched"][...] = 2**64 - 1
    f["tables/kernels/finished"][...] = 0


def nested_configuration(f, place, s):
    replaced(f, "config/toml", data=numpy.bytes_("a = " + "[" * 20_000 + "]" * 20_000), dtype=None, shape=None)


def a_key_of_many_parts(f, place, s):
    replaced(f, "config/toml", data=numpy.bytes_("a" + ".a" * 400_000 + " = 1"), dtype=None, shape=None)


def numbers_of_many_digits(f, place, s):
    replaced(f, "config/toml", data=numpy.bytes_("a = " + "9" * 100_000), dtype=None, shape=None)


def configurations():
    """{name: text}: configurations at or above a limit of the package, whose parsed form takes much memory or time."""
    def lines(line, count):
        return "\n".join(line.replace("@", f"k{n}") for n in range(count))

    deep, long = ".a" * 16, "n" * 100_000
    return {"lines of 9,000 dots": lines("@" + ".a" * 9000 + " = 1", 3), "lines of 1,900 dots": lines("@" + ".a" * 1900 + " = 1", 15),
            "a line of 17 dots": "a" + ".a" * 17 + " = 1", "lines of 16 dots": lines(f"@{deep} = 1", 20_000),
            "lines of 16 dots, few enough": lines(f"@{deep} = 1", 1800) + "\n[z]",
            "lines of 16 dots in a deep table": f"[t{deep[2:]}]\n" + lines(f"@{deep} = 1", 1800) + "\n[z]",
            "deep tables": lines("[@" + ".a" * 15 + "]", 20_000), "deep tables in arrays": lines("[[@" + ".a" * 14 + "]]", 20_000),
            "many keys": lines("@ = 1", 90_000), "many keys, few enough": lines("@ = 1", 16_000),
            "nested arrays": lines("@ = " + "[" * 400 + "]" * 400, 100), "nested arrays over lines": "a = " + "[\n" * 16_000 + "]" * 16_000,
            "a long array": "a = [" + "[], " * 200_000 + "]", "long lines of tables": lines("@ = [" + "{a = 1}, " * 1000 + "]", 50),
            "nested tables": "a = " + "{a = " * 400 + "1" + "}" * 400, "long keys": f"[{long}]\n" + lines("@ = 1", 10_000),
            "tables in arrays with long names": "a = [\n" + lines(f"{{name = '{long}', @ = 1}},", 9) + "]",
            "long names": f"[[a]]\nname = '{long}'\n" + lines("@ = 1", 10_000), "a table twice": f"[{long}]\n[{long}]\n",
            "a text of several lines": 'a = ["""\nx """, {' + "k.k" * 9000 + '=1}, "y"]', "escapes without an end": 'a = "' + r"\"" * 500_000,
            "a number of a million digits": "a = 0x" + "f" * 1_000_000, "a fraction of a million digits": "a = 0." + "1" * 1_000_000,
            "blanks": "a = " + " " * 1_000_000 + "1", "more than the limit": "# " + "x" * (4 << 20)}


# Configurations below all limits. open_many, which makes a key of each name, refuses long names.
READ = ("lines of 16 dots, few enough", "lines of 16 dots in a deep table", "many keys, few enough", "long names", "tables in arrays with long names")


def references_to_others(f, place, s):
    scale = f["timeseries/l2_tlb/instance"]
    kind = scale.attrs.get_id("REFERENCE_LIST").dtype
    scale.attrs.create("REFERENCE_LIST", numpy.array([(f[p].ref, axis) for p, axis in (("config/toml", 0), ("tables", 3), ("timeseries/l2_tlb/hits", -5),
                                                     ("timeseries/l2_tlb/hits", 7), ("timeseries/l2_tlb/hits", 0))], kind))


def references_of_another_type(f, place, s):
    for name in ("timeseries/l2_tlb/instance", "tables/kernels/row"):
        f[name].attrs["REFERENCE_LIST"] = numpy.arange(10)


def many_members(f, place, s):
    for n in range(1000):
        f["summary/machine"].create_group(f"z{n}")


WHOLE = (bombs_of_attributes, a_wide_attribute, an_attribute_of_variable_length, attributes_of_other_types, a_schema_of_another_type,
         double_nodes, double_names, names_beyond_utf8, names_that_steer_a_terminal, texts_beyond_utf8, formulas, negative_times, nested_configuration,
         a_key_of_many_parts, numbers_of_many_digits, references_to_others, references_of_another_type, many_members)
