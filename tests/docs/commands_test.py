#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands in README.md and in the pages of docs/ run unchanged and print the output that is shown.

commands_test.py [PROGRAM] [--update] [PAGE ...]

PROGRAM: a file in the build folder to test (tests/run passes build/release/test_docs). Each line "$ COMMAND" of a `console`
block is executed, in one folder for all pages; the same command is executed once. The lines of an `output` block must be printed by the last
command before it, in order, except for wall-clock times; further printed lines may be omitted, and a line "..." may mark them.
--update replaces differing lines by printed ones with the same label, or a block by the whole output if both have as many lines. Blocks of other languages (sh) are not executed.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.dont_write_bytecode = True
import checks
from checks import check

MESH = "usr/share/doc/libmetis-dev/examples/graphs/copter2.graph"
# Debian's python3 has Debian's libraries. By default mpirun refuses root and more ranks than cores.
ENVIRONMENT = {**os.environ, "PRESET_DIR": "build/release", "PYTHONDONTWRITEBYTECODE": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def blocks(text):
    """The fenced blocks as (language, number of the first line, lines)."""
    lines, fence, begin, language = text.split("\n"), None, 0, ""
    for number, line in enumerate(lines):
        mark = re.match(r"(`{3,}|:{3,})(.*)", line)
        if fence is None and mark:
            fence, language, begin = mark[1], mark[2].strip(), number + 1
        elif fence is not None and mark and mark[1] == fence and not mark[2].strip():
            yield language, begin, lines[begin:number]
            fence = None


def commands(block):
    """The commands of a console block; a line that ends with a backslash continues."""
    text = "\n".join(block).replace("\\\n> ", "").replace("\\\n  ", "")
    return [line[2:].split("   #")[0].rstrip() for line in text.split("\n") if line.startswith("$ ")]


def label(line):
    """The name at the start of a line of a table: '  L1 TLB hits           90.7%' -> 'L1 TLB hits'."""
    match = re.fullmatch(r" *(\S.*?) {2,}\S.*", line)
    return match.group(1) if match else None


def is_wall_clock(line):
    return label(line) in ("took", "Built in")


def matched(shown, printed):
    """For each shown line: the printed line that it stands for, or None. In order."""
    found, at = [], 0
    for line in shown:
        rest = range(at, len(printed))
        where = next((i for i in rest if printed[i] == line), None)
        if where is None and label(line):
            where = next((i for i in rest if label(printed[i]) == label(line)), None)
        found.append(None if where is None else printed[where])
        at = at if where is None else where + 1
    return found


def outputs_of(command):
    return re.findall(r"(?:--output|-o|--trace-output|--summary-json)[ =](\S+)", command)


def modules_of(command):
    return re.findall(r"import (\w+)", command) + re.findall(r'engine="(\w+)"', command)


class Folder:
    """A folder in which commands run as in the source tree, with separate results."""

    def __init__(self, build):
        self.path = pathlib.Path(tempfile.mkdtemp())
        for entry in ROOT.iterdir():
            if entry.name not in ("build", "results") and not entry.name.startswith("."):
                (self.path / entry.name).symlink_to(entry)
        (self.path / "build").mkdir()
        (self.path / "results").mkdir()
        (self.path / "build/release").symlink_to(build)
        if (ROOT / "build/libmetis-doc").exists():
            (self.path / "build/libmetis-doc").symlink_to(ROOT / "build/libmetis-doc")
        self.environment = {**ENVIRONMENT, "PATH": f"{build}:/usr/bin:{os.environ['PATH']}"}
        self.mesh = any(pathlib.Path(p + MESH + z).exists() for p in ("/", f"{ROOT}/build/libmetis-doc/") for z in ("", ".gz"))
        self.done, self.writers, self.of_mesh = {}, {}, set()

    def run(self, command):
        return subprocess.run(["bash", "-c", command], cwd=self.path, env=self.environment, capture_output=True, text=True, timeout=900)

    def lacks(self, command):
        """A library or program that the command needs and that is missing, or None."""
        if re.match(r"(?:\w+=\S+ )*mpirun\b", command):
            return None if self.run("command -v mpirun").returncode == 0 else "mpirun"
        python = re.match(r"((?:\w+=\S+ )*python3) (-c|\S+\.py)", command)
        if python:
            script = command if python[2] == "-c" else (ROOT / python[2]).read_text(encoding="utf-8")
            modules = ", ".join(modules_of(script))
            return None if self.run(f"{python[1]} -c 'import {modules}'").returncode == 0 else modules
        return None

    def executed(self, place, command):
        """The output of a command, or None if it cannot run here."""
        if command in self.done:
            return self.done[command]
        missing = self.lacks(command)
        if missing:
            print(f"skipped: {missing} is missing: {command}")
            self.done[command] = None
            return None
        for path in outputs_of(command):
            other = self.writers.setdefault(path, command)
            check(other == command, f"{place}: {path} is written by two commands, of which one would see the other's: {other}; {command}")
        if "bench/demo" in command or any(path in command for path in self.of_mesh):
            self.of_mesh.update(outputs_of(command))
            self.of_mesh.add("results/demo.h5")
        answer = self.run(command)
        # diff exits with 1 if results differ.
        expected = 1 if re.match(r"\S*farfault diff ", command) else 0
        check(answer.returncode == expected, f"{place}: {command}: exit code {expected}, not {answer.returncode}: {answer.stderr}")
        self.done[command] = answer.stdout
        return answer.stdout

    def needs_mesh(self, command):
        return not self.mesh and ("bench/demo" in command or any(path in command for path in self.of_mesh))


def run_page(folder, name, text, update=False):
    """Executes a page's commands and returns its text, with the lines that they print if `update`."""
    lines, command, printed = text.split("\n"), None, None
    for language, begin, block in blocks(text):
        if language == "console":
            check(commands(block), f"{name}:{begin}: a console block has a command: a line that begins with '$ '")
            for command in commands(block):
                printed = folder.executed(f"{name}:{begin}", command)
        elif language == "output":
            check(command, f"{name}:{begin}: a console block precedes an output block")
            if printed is None:
                continue
            if folder.needs_mesh(command):
                print(f"skipped: the figures of {name} need the mesh of libmetis-doc")
                continue
            whole = printed.rstrip("\n").split("\n")
            stands_for = whole if update and len(whole) == len(block) else matched(block, whole)
            for offset, (shown, now) in enumerate(zip(block, stands_for)):
                if shown.strip() in ("", "..."):
                    continue
                if update and now is not None and not is_wall_clock(shown):
                    lines[begin + offset] = now
                holds = now == shown or (now is not None and (update or is_wall_clock(shown)))
                check(holds, f"{name}:{begin + offset + 1} shows {shown!r}, printed is {now!r} by: {command}")
    return "\n".join(lines)


def experiments_differ(folder):
    """The front page's experiments change what they claim to change."""
    figures = {command: {label(line): line for line in printed.split("\n") if label(line)}
               for command, printed in folder.done.items() if printed and re.match(r"bench/demo\b", command)}
    first = next((f for command, f in figures.items() if " --set " not in command), None)
    if first is None:
        return
    for other in (f for command, f in figures.items() if " --set " in command):
        for name in ("simulated time", "remote accesses"):
            check(first.get(name) != other.get(name), f"the experiment changes {name}")


def finds_what_is_wrong(build):
    """The test of the test: a wrong line, a failing command and two writers of a file are found."""
    page = "```console\n$ echo '  a line   1'; echo '  took   2 s'\n```\n\n```output\n  a line   1\n...\n  took   3 s\n```\n"
    bad = [page.replace("line   1\n", "line   4\n"), page.replace("echo '  a", "exit 3; echo '  a"),
           page + "```console\n$ true --output x\n```\n```console\n$ false || true --output x\n```\n", "```console\necho\n```\n"]
    for number, text in enumerate([page, *bad]):
        failures = []
        folder, real = Folder(build), globals()["check"]
        globals()["check"] = lambda holds, what: None if holds else failures.append(what)
        run_page(folder, "page", text)
        found = len(failures)
        updated = run_page(folder, "page", text, update=True)
        globals()["check"] = real
        subprocess.run(["rm", "-rf", folder.path], check=True)
        check((found > 0) == (number > 0), f"a planted error is found, and only that: {number}: {failures}")
        if number == 1:
            check("  a line   1\n..." in updated, f"--update writes the printed line: {updated}")


def main():
    update = "--update" in sys.argv
    words = [w for w in sys.argv[1:] if w != "--update"]
    build = pathlib.Path(words[0] if words else ROOT / "build/release/x").resolve().parent
    chosen = [pathlib.Path(w).resolve() for w in words[1:]]
    pages = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if p != ROOT / "docs/README.md")]
    finds_what_is_wrong(build)
    folder = Folder(build)
    for page in pages:
        if chosen and page not in chosen:
            continue
        text = page.read_text(encoding="utf-8")
        new = run_page(folder, str(page.relative_to(ROOT)), text, update)
        if new != text:
            page.write_text(new, encoding="utf-8")
    experiments_differ(folder)
    if not chosen:
        check(any(folder.done), "at least one command is executed")
    subprocess.run(["rm", "-rf", folder.path], check=True)
    print(checks.counts())
    return 0 if checks.counts().endswith(" 0 failed") else 1


if __name__ == "__main__":
    sys.exit(main())
