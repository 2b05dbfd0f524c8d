#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/examples run with one command each, and print the output that their pages show.

examples_test.py PROGRAM [--update] [NAME ...]

PROGRAM: a file in the build folder to test (tests/run passes build/release/test_docs). NAME: an example; without it, all except the ones
of EXTENSIONS, which tests/extension/extension.sh runs, because they need an installed Farfault. The first `sh` block of
docs/examples/NAME/index.md is the command, the `text` block after it the output: complete, or parts with lines "..." between them.
--update writes the complete output.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs/examples"
sys.path.insert(0, str(ROOT / "tests/support"))
import checks
from checks import check

EXTENSIONS = ("own_component", "own_policy")
SHOWN = re.compile(r"```sh\n(.*?)\n```\n(.*?)```text\n(.*?)\n```\n", re.DOTALL)


def comparable(line):
    """A line without wall-clock times."""
    return "  took" if line.startswith("  took ") else line.rstrip()


def first_difference(shown, printed):
    """The first shown line that is not printed at its place, the printed text that is not shown, or None."""
    shown, printed = ([comparable(line) for line in text.strip("\n").split("\n")] for text in (shown, printed))
    at, skips = 0, False
    for line in shown:
        if line == "...":
            skips = True
            continue
        where = next((i for i in range(at, len(printed) if skips else at + 1) if printed[i:i + 1] == [line]), None)
        if where is None:
            return line
        at, skips = where + 1, False
    return None if skips or at == len(printed) else printed[at]


def finds_differences():
    """The test of the test."""
    text = "a\n  took   2 s\nb\nc"
    for shown, wrong in ((text, None), ("a\n  took   3 s\nb\nc\n", None), ("a\n...\nc", None), ("...\nb\n...", None),
                         ("a\n  took   2 s\nB\nc", "B"), ("a\n  took   2 s\nb", "c"), ("a\n...\nb", "c"), ("a\nb\n...", "b"),
                         ("...\nb\n...\na\n...", "a"), (text + "\nd", "d")):
        found = first_difference(shown, text)
        check(found == wrong, f"the first difference of {shown!r} is {wrong!r}, not {found!r}")


class Folder:
    """A folder in which an example runs as in the source tree, with separate results."""

    def __init__(self, scratch, build):
        self.path = pathlib.Path(scratch)
        for entry in ROOT.iterdir():
            if entry.name not in ("build", "results") and not entry.name.startswith("."):
                (self.path / entry.name).symlink_to(entry)
        (self.path / "build").mkdir()
        (self.path / "build/release").symlink_to(build)

    def run(self, command):
        # Debian's python3 has Debian's packages.
        environment = {**os.environ, "PRESET_DIR": "build/release", "PATH": "/usr/bin:" + os.environ["PATH"]}
        return subprocess.run(["bash", "-c", command], cwd=self.path, env=environment, capture_output=True, text=True, timeout=900)


def missing_package(name):
    """The Python package that the example's table needs and that is missing, or None."""
    if not (EXAMPLES / name / "table.py").exists():
        return None
    for module in ("h5py", "pandas", "xarray"):
        if subprocess.run(["/usr/bin/python3", "-c", "import " + module], capture_output=True).returncode:
            return "python3-" + module
    return None


def run_example(name, folder, update):
    page = EXAMPLES / name / "index.md"
    text = page.read_text(encoding="utf-8")
    found = SHOWN.search(text)
    if not found or found[1] != f"docs/examples/{name}/run":
        check(False, f"{page}: the first blocks are a sh block with docs/examples/{name}/run and a text block with its output")
        return
    missing = missing_package(name)
    if missing:
        print(f"skipped: {missing} is missing: the example {name}")
        return
    done = folder.run(found[1])
    check(done.returncode == 0, f"{found[1]}: exit code 0, not {done.returncode}: {done.stderr}")
    difference = first_difference(found[3], done.stdout)
    check(difference is None, f"{page}: {difference!r} is not shown as printed:\n{done.stdout}")
    if update and done.returncode == 0:
        page.write_text(text[:found.start(3)] + done.stdout.strip("\n") + text[found.end(3):], encoding="utf-8")


def main():
    update = "--update" in sys.argv
    words = [w for w in sys.argv[1:] if w != "--update"]
    build = pathlib.Path(words[0] if words else ROOT / "build/release/x").resolve().parent
    names = sorted(f.name for f in EXAMPLES.iterdir() if f.is_dir())
    listed = (EXAMPLES / "index.md").read_text(encoding="utf-8")
    finds_differences()
    for name in names:
        check(f"]({name}/index.md)" in listed and f"\n{name}/index\n" in listed, f"docs/examples/index.md lists {name}")
        check(os.access(EXAMPLES / name / "run", os.X_OK), f"docs/examples/{name}/run is executable")
    script = (ROOT / "docs/tutorial/figure.py").read_text(encoding="utf-8")
    check(script[script.index("import sys"):] in (ROOT / "docs/tutorial/figure.md").read_text(encoding="utf-8"), "figure.md contains figure.py unchanged")
    check(set(EXTENSIONS) <= set(names), f"the examples {names} contain {EXTENSIONS}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Folder(scratch, build)
        for name in words[1:] or [n for n in names if n not in EXTENSIONS]:
            run_example(name, folder, update)
    print(checks.counts())
    return 0 if checks.failed() == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
