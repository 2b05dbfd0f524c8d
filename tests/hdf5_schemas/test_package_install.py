# SPDX-License-Identifier: Apache-2.0
"""pip installs the package and builds a wheel of it without a network; both work without the sources.

Usage: python3 test_package_install.py PATH/TO/test_hdf5_schemas
"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from package_tests import PACKAGE, ROOT, ff, main, sample  # noqa: E402

for module in ("pip", "setuptools", "wheel"):
    if importlib.util.find_spec(module) is None:
        print(f"skipped: {module}: this Python does not have it")
        sys.exit(77)


def prepare(folder):
    # pip builds inside the source folder.
    sources = shutil.copytree(PACKAGE, os.path.join(folder, "sources"), ignore=shutil.ignore_patterns("build", "*.egg-info"))
    return folder, sources, sample(folder)


def pip(*words):
    done = subprocess.run([sys.executable, "-m", "pip", *words, "--no-build-isolation", "--no-deps", "--no-index",
                           "--disable-pip-version-check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def opens_a_result(place, path):
    """Opens a result in a Python that sees `place` and not the sources."""
    code = f"import farfault; print(farfault.__file__); print(farfault.open({path!r}).digest)"
    environment = {**os.environ, "PYTHONPATH": place}
    return subprocess.run([sys.executable, "-c", code], cwd=place, env=environment, check=True, capture_output=True,
                          text=True).stdout.split()


def pip_installs_it(prepared):
    folder, sources, path = prepared
    place = os.path.join(folder, "installed")
    pip("install", "--target", place, sources)
    file, digest = opens_a_result(place, path)
    assert file == os.path.join(place, "farfault", "__init__.py") and digest == ff.open(path).digest


def a_wheel_holds_every_module(prepared):
    folder, sources, path = prepared
    place = os.path.join(folder, "wheels")
    pip("wheel", "--wheel-dir", place, sources)
    wheel = os.path.join(place, f"farfault-{ff.__version__}-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as content:
        held = {n for n in content.namelist() if n.endswith((".py", ".json"))}
    here = {os.path.relpath(os.path.join(where, f), PACKAGE) for where, _, files in os.walk(os.path.join(PACKAGE, "farfault"))
            for f in files if f.endswith((".py", ".json"))}
    assert held == here, held ^ here
    assert opens_a_result(unpacked(wheel, folder), path)[1] == ff.open(path).digest


def unpacked(wheel, folder):
    place = os.path.join(folder, "unpacked")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(place)
    return place


def it_has_the_version_of_the_program(prepared):
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as cmake:
        assert re.search(r"project\(farfault VERSION (\S+)", cmake.read())[1] == ff.__version__


def results_are_read_without_matplotlib(prepared):
    _, _, path = prepared
    code = f"import sys; sys.modules['matplotlib'] = None; import farfault; print(farfault.open({path!r}).table('kernels').shape)"
    said = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": PACKAGE}, capture_output=True, text=True)
    assert said.stdout == "(834, 3)\n", said


TESTS = (pip_installs_it, a_wheel_holds_every_module, it_has_the_version_of_the_program, results_are_read_without_matplotlib)

if __name__ == "__main__":
    sys.exit(main(TESTS, prepare))
