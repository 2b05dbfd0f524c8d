# SPDX-License-Identifier: Apache-2.0
"""The Python package opens objects in one module, reads the same values as HDF5, and reports errors of whole calls.

Usage: python3 test_package_objects.py PATH/TO/test_hdf5_schemas
"""
import ast
import ctypes
import os
import random
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from package_tests import PACKAGE, ff, h5py, main, numpy, refused, sample  # noqa: E402

LIBRARIES = ("h5py", "h5netcdf", "netCDF4", "tables", "zarr")
READERS = ("open", "open_dataset", "open_mfdataset", "load_dataset", "open_datatree", "read_hdf", "fromfile", "memmap")
# The module that opens objects, and its number of calls of each function that opens one.
MODULE, OPENING = "objects.py", {"h5py.File": 1, "h5o.open": 1, "h5g.open": 1, "h5d.open": 0, "h5o.link": 0, "h5r.dereference": 0, "h5f.open": 0}


def sources():
    folder = os.path.join(PACKAGE, "farfault")
    return {os.path.relpath(os.path.join(where, name), folder): open(os.path.join(where, name), encoding="utf-8").read()
            for where, _, names in os.walk(folder) for name in names if name.endswith(".py")}


def violations(texts):
    """Calls that open or read files outside the module, or in the module outside its one function."""
    found = []
    for file, text in sorted(texts.items()):
        calls = {}
        for node in ast.walk(ast.parse(text)):
            imported = ([a.name for a in node.names] if isinstance(node, ast.Import) else
                        [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else [])
            if file != MODULE:
                found += [f"{file}: imports {n}" for n in imported if n.split(".")[0] in LIBRARIES]
                if isinstance(node, ast.Attribute) and node.attr == "_id":
                    found.append(f"{file}: takes an identifier of HDF5")
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                calls[name] = calls.get(name, 0) + 1
                last = name.rpartition(".")[2]
                if last in READERS and name not in OPENING and name != "h5a.open" and not name.startswith("self."):
                    found.append(f"{file}: calls {name}")
        if file == MODULE:
            found += [f"{file}: {calls.get(n, 0)} calls of {n}" for n, most in OPENING.items() if calls.get(n, 0) != most]
    return found


def one_module_opens_files_and_objects(path):
    assert violations(sources()) == [], violations(sources())
    for file, more, said in (("run.py", "import h5py", "run.py: imports h5py"), ("run.py", "from h5py import h5d", "run.py: imports h5py"),
                             ("datasets.py", "xarray.open_dataset(p, engine='h5netcdf')", "datasets.py: calls xarray.open_dataset"),
                             ("many.py", "open(p)", "many.py: calls open"), ("sweep_file.py", "f.group('runs')._id", "takes an identifier"),
                             ("objects.py", "h5py.File(p)", "objects.py: 2 calls of h5py.File"), ("objects.py", "h5d.open(g, b'x')", "1 calls of h5d.open")):
        texts = sources()
        texts[file] += f"\n{more}\n"
        assert len(violations(texts)) == 1 and said in violations(texts)[0], (more, violations(texts))


def every_public_call_is_a_whole_one(path):
    from farfault import calls
    from farfault.many import ManyRuns
    from farfault.sweep_file import SweepFile
    classes = [ff.Run, ff.Sweep, ManyRuns, SweepFile]
    try:
        from farfault.plots import RunPlots, SweepPlots
        classes += [RunPlots, SweepPlots]
    except ModuleNotFoundError as missing:
        print(f"skipped: plots: this Python has no {missing.name}")
    checked = 0
    for cls in classes:
        for name, value in vars(cls).items():
            value = value.fget if isinstance(value, property) else value
            if callable(value) and (not name.startswith("_") or name in calls.SPECIAL):
                assert hasattr(value, "__wrapped__"), f"{cls.__name__}.{name} does not handle errors of the file"
                checked += 1
    assert checked > 40, checked


def every_failure_of_a_call_is_one_sentence(path):
    from farfault.calls import whole_calls
    from farfault.errors import Misuse

    @whole_calls
    class Reader:
        path, max_bytes = "a.h5", 100

        def fails(self, problem):
            raise problem

        def deep(self):
            return self.deep()

    for problem in (KeyError("x"), OSError(5, "a\nb"), ValueError("x" * 10_000), MemoryError(), OverflowError("x"), UnicodeDecodeError("utf-8", b"x", 0, 1, "y"),
                    AssertionError("z"), ZeroDivisionError(), StopIteration(), IndexError("\33[2J")):
        said = refused(lambda: Reader().fails(problem), "a.h5: ")
        assert said.isprintable() and len(said) < 400, said
    refused(Reader().deep, "nested too deeply")
    for problem in (Misuse("wrong"), KeyboardInterrupt(), ModuleNotFoundError("matplotlib")):
        try:
            Reader().fails(problem)
        except type(problem) as same:
            assert same is problem
    try:
        Reader().fails()
    except TypeError as problem:
        assert "problem" in str(problem) and not isinstance(problem, ff.ResultError), problem


def values_are_those_that_hdf5_reads(path):
    """Random shapes, types, chunks, filters and selections; some datasets are written in part."""
    from farfault import objects
    draw, file = random.Random(45), os.path.join(os.path.dirname(path), "values.h5")
    with h5py.File(file, "w") as f:
        for n in range(120):
            write_any(f, f"d{n}", draw)
    compared = 0
    with objects.open_file(file) as ours, h5py.File(file, locking=False) as theirs:
        for n in range(120):
            d, whole = ours.dataset(f"d{n}"), theirs[f"d{n}"][()]
            for _ in range(8):
                key = tuple(any_place(draw, size) for size in d.shape[:draw.randint(0, d.ndim)])
                found, expected, axis = d.read(key), numpy.asarray(whole), 0
                for k in key:
                    expected = expected[(slice(None),) * axis + (k,)]
                    axis += not isinstance(k, int)
                assert found.shape == expected.shape and (found == expected).all(), (n, key, found, expected)
                compared += found.size
    assert compared > 50_000, compared


def write_any(f, name, draw):
    shape = tuple(draw.choice((0, 1, 2, 7, 30, 100)) for _ in range(draw.choice((0, 1, 1, 2, 3))))
    kind = draw.choice(("<u8", ">i8", "<f8", "S5", "i1", "u2", ">f4", "S1"))
    data = (numpy.arange(int(numpy.prod(shape))) * 2654435761 % 251).astype(kind).reshape(shape)
    how, rows = {}, draw.choice((0, shape[0] // 2, shape[0], shape[0])) if shape else 1
    if shape and draw.random() < 0.8:
        how = {"chunks": tuple(draw.choice((1, 2, 5, 40, s or 1)[2 * (0 < rows < shape[0]):]) for s in shape), "maxshape": tuple(None for _ in shape),
               "compression": draw.choice((None, 1, 9)), "shuffle": draw.random() < 0.6}
        if kind[0] != "S":
            how["fillvalue"] = draw.choice((None, numpy.array(7, kind)))
    d = f.create_dataset(name, shape, kind, **how)
    if d.size and rows:
        d[() if not shape else slice(rows)] = data[()] if not shape else data[:rows]


def any_place(draw, size):
    return draw.choice(([lambda: draw.randrange(-size, size)] if size else []) + [
        lambda: slice(*sorted(draw.choices(range(size + 3), k=2)), draw.choice((None, 1, 2, 3, 50))), lambda: slice(None),
        lambda: numpy.array([draw.randrange(size) for _ in range(draw.randint(0, 6))] if size else [], dtype=int)])()


def a_chunk_is_unpacked_to_its_size_and_no_further(path):
    from farfault import chunk
    values = numpy.arange(100, dtype="<u8")
    shuffled = values.view("u1").reshape(100, 8).T.tobytes()
    assert (chunk.unpacked(zlib.compress(shuffled), 800, values.dtype, True, True) == values).all()
    assert (chunk.unpacked(values.tobytes(), 800, values.dtype, False, False) == values).all()
    for data, deflated, said in ((zlib.compress(bytes(801)), True, "does not end after 800 bytes"), (zlib.compress(bytes(799)), True, "holds 799 bytes"),
                                 (zlib.compress(bytes(800))[:-5], True, "does not end"), (b"no zlib", True, "cannot be inflated"),
                                 (bytes(801), False, "holds 801 bytes"), (b"", False, "holds 0 bytes")):
        try:
            raise AssertionError(f"accepted: {chunk.unpacked(data, 800, values.dtype, deflated, False)}")
        except chunk.Damaged as problem:
            assert said in str(problem), problem


class LinkClass(ctypes.Structure):  # H5L_class_t of HDF5 1.10
    _fields_ = [("version", ctypes.c_int), ("id", ctypes.c_int), ("comment", ctypes.c_char_p),
                *((n, ctypes.c_void_p) for n in ("create", "move", "copy")),
                ("follow", ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)),
                *((n, ctypes.c_void_p) for n in ("delete", "query"))]


def a_link_that_a_plugin_defines_is_not_followed(path):
    with open("/proc/self/maps", encoding="utf-8") as maps:
        library = next((line.split()[-1] for line in maps if "libhdf5" in line and "_hl" not in line), None)
    if library is None or h5py.version.hdf5_version_tuple[:2] != (1, 10):
        return print("skipped: a user-defined link: this HDF5 is not 1.10")
    hdf5, followed = ctypes.CDLL(library), []
    kind = LinkClass(0, 200, b"test", follow=LinkClass._fields_[6][1](lambda *_: followed.append(1) or -1))
    assert hdf5.H5Lregister(ctypes.byref(kind)) >= 0
    file = os.path.join(os.path.dirname(path), "plugin.h5")
    with open(path, "rb") as f, open(file, "wb") as to:
        to.write(f.read())
    with h5py.File(file, "r+") as f:
        f.move("config/toml", "config/other")
        add = hdf5.H5Lcreate_ud
        add.argtypes = [ctypes.c_int64, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_int64]
        assert add(f.id.id, b"config/toml", 200, b"x", 1, 0, 0) >= 0
    refused(lambda: ff.open(file).config_text, "/config/toml is a user-defined link")
    refused(lambda: ff.open(file).group("config"), "/config/toml is a user-defined link")
    assert not followed


TESTS = (one_module_opens_files_and_objects, every_public_call_is_a_whole_one, every_failure_of_a_call_is_one_sentence,
         values_are_those_that_hdf5_reads, a_chunk_is_unpacked_to_its_size_and_no_further, a_link_that_a_plugin_defines_is_not_followed)

if __name__ == "__main__":
    sys.exit(main(TESTS, sample))
