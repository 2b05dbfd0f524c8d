# SPDX-License-Identifier: Apache-2.0
"""Common code of the tests of the Python package: the package itself, sample results, and the test runner.

main(TESTS, prepare) calls each test with the return value of `prepare(folder)`; its last line is "N passed, N failed". If a
library is missing, importing this file ends the test as skipped, by name.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PACKAGE = os.path.join(ROOT, "hdf5_schemas", "python")
sys.path.insert(0, PACKAGE)
os.environ.setdefault("MPLBACKEND", "Agg")

try:
    import h5py
    import numpy

    import farfault as ff
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

# The build folder is the folder of the program in the first argument.
BUILD = os.path.dirname(os.path.abspath(sys.argv[1])) if len(sys.argv) > 1 else os.path.join(ROOT, "build", "release")
PROGRAM = os.path.join(BUILD, "farfault")


def sample(folder):
    """The results written by test_hdf5_schemas: finished.h5 and cut_off.h5.partial. Returns the first."""
    subprocess.run([os.path.join(BUILD, "test_hdf5_schemas"), "-tc=a sample result is left*"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "FARFAULT_SAMPLE_DIR": folder})
    return os.path.join(folder, "finished.h5")


def run(path, *settings, config="paper-gmmu-bypass"):
    """A result of the program. settings: KEY=VALUE or other words of its command line."""
    words = [w for s in settings for w in (("--set", s) if "=" in s else (s,))]
    subprocess.run([PROGRAM, "run", config, *words, "--output", path, "--progress", "off"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def copy(path, name):
    """A copy to change, in the same folder."""
    to = os.path.join(os.path.dirname(path), name)
    shutil.copy(path, to)
    return to


def write(group, name, data, dimension=None, units="1", long_name=None, **attributes):
    """A dataset as Farfault writes it: fixed-length text, with its dimension scale attached."""
    data = numpy.array(data)
    if data.dtype.kind == "U":
        data = numpy.char.encode(data, "utf-8")
        data = data.astype(f"S{max(1, data.dtype.itemsize)}")
    d = group.create_dataset(name, data=data)
    texts = {"units": units, "long_name": long_name or name, **attributes}
    for key, value in texts.items():
        d.attrs[key] = numpy.bytes_(value) if isinstance(value, str) else value
    if dimension == name:
        d.make_scale(name)
    elif dimension is not None:
        d.dims[0].attach_scale(group[dimension])
    return d


def refused(call, *words):
    """The one-sentence error of a call, which must contain these words."""
    try:
        call()
    except ff.ResultError as problem:
        message = str(problem)
        assert "\n" not in message and all(w in message for w in words), message
        return message
    raise AssertionError("accepted")


def main(tests, prepare):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(folder)
        for test in tests:
            try:
                test(prepared)
                passed += 1
            except Exception:
                failed += 1
                print(f"FAILED: {test.__name__}")
                traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
