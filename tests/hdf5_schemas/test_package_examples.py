# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of the handbook's pages on Python and results, and of the package's README.md: Python, Octave, netCDF4,
h5dump.

Usage: python3 test_package_examples.py PATH/TO/test_hdf5_schemas
"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from package_tests import PACKAGE, ROOT, ff, main, run  # noqa: E402

README = os.path.join(PACKAGE, "README.md")
PYTHON_PAGE = os.path.join(ROOT, "docs", "guide", "python.md")
RESULTS_PAGE = os.path.join(ROOT, "docs", "guide", "results.md")


def examples(page, language):
    with open(page, encoding="utf-8") as text:
        found = re.findall(rf"^```{language}\n(.*?)^```", text.read(), re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no example in {language}"
    return found


def example_with(word, language):
    """The example of the page on results that contains `word`."""
    (found,) = (code for code in examples(RESULTS_PAGE, language) if word in code)
    return found


def has(module):
    if importlib.util.find_spec(module) is None:
        print(f"skipped: {module}: this Python does not have it")
        return False
    return True


def has_program(name):
    if shutil.which(name) is None:
        print(f"skipped: {name} is not installed")
        return False
    return True


def prepare(folder):
    run(os.path.join(folder, "run.h5"), "workload.name=stream", "workload.stream.bytes=256KiB", "run.sample_interval=1us")
    os.mkdir(os.path.join(folder, "runs"))
    for entries in (64, 512):
        for router in ("distributed", "centralized"):
            run(os.path.join(folder, "runs", f"{entries}-{router}.h5"), "workload.name=stream", "workload.stream.bytes=64KiB",
                f"gpu.l2_tlb.entries={entries}", f"gpu.router.policy={router}")
    return folder


def output_of(folder, *command, code=None):
    environment = {**os.environ, "PYTHONPATH": PACKAGE, "MPLBACKEND": "Agg"}
    done = subprocess.run(command, cwd=folder, input=code, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def the_python_examples_run(folder):
    one, paper, sweep = examples(PYTHON_PAGE, "python")
    said = output_of(folder, sys.executable, "-", code=one)
    assert ff.open(os.path.join(folder, "run.h5")).digest in said and "gpu3" in said, said
    (short,) = examples(README, "python")
    said = output_of(folder, sys.executable, "-", code=short)
    assert "gpu3" in said and "access_time" in said, said
    if has("matplotlib"):
        if has("h5netcdf"):
            output_of(folder, sys.executable, "-", code=example_with("import xarray", "python"))
        said = output_of(folder, sys.executable, "-", code=sweep)
        assert "['gpu.l2_tlb.entries', 'gpu.router.policy']" in said and "4 runs (4 done)" in said, said
        assert os.path.getsize(os.path.join(folder, "end.png")) > 5_000
        output_of(folder, sys.executable, "-W", "error", "-", code=paper)
        for name in ("stacks.pdf", "kernels.pdf", "speedups.pdf"):
            with open(os.path.join(folder, name), "rb") as pdf:
                assert b"/FontFile2" in pdf.read(), name


def the_octave_example_runs(folder):
    if has_program("octave-cli"):
        kernels = ff.open(os.path.join(folder, "run.h5")).table("kernels")
        took = (kernels["finished"] - kernels["launched"])[0] / 1e6
        said = output_of(folder, "octave-cli", "--no-gui", "--norc", "--quiet", code=examples(RESULTS_PAGE, "octave")[0])
        assert f"{kernels['name'][0]} took {took:.1f} us" in said and "gpu0.l2_tlb: at most" in said, said


def the_netcdf4_example_runs(folder):
    if has("netCDF4"):
        said = output_of(folder, sys.executable, "-", code=example_with("import netCDF4", "python"))
        hits = ff.open(os.path.join(folder, "run.h5")).summary().loc["machine", "l2_tlb_hits"]
        assert "('time_ps', 'instance')" in said and f"\n{hits} hits by" in said, said


def the_h5dump_examples_run(folder):
    if has_program("h5dump"):
        said = output_of(folder, "bash", "-e", code=example_with("h5dump", "sh"))
        result = ff.open(os.path.join(folder, "run.h5"))
        assert "/timeseries/l2_tlb/hits" in said and f": {result.summary().loc['machine', 'end']}" in said, said
        with open(os.path.join(folder, "finished.txt"), encoding="ascii") as written:
            assert [int(n) for n in re.findall(r"\d+", written.read())] == result.table("kernels")["finished"].tolist()


TESTS = (the_python_examples_run, the_octave_example_runs, the_netcdf4_example_runs, the_h5dump_examples_run)

if __name__ == "__main__":
    sys.exit(main(TESTS, prepare))
