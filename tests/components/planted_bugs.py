#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plants bugs in parts of the model, one at a time, and names the test cases that find each.

Usage: planted_bugs.py BUILD_FOLDER [NUMBER | FROM-TO ...]    compiles a copy of the source with the bug, and runs the tests of its file with it
                                                              (planted_bug_lists.py); BUILD_FOLDER: a built preset, such as build/release

Exit code 1 if a bug is not found, or if a test fails without a bug. Takes about 10 minutes; tests/run does not run it.
"""
import functools
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from planted_bug_lists import BUGS, SOURCES_OF, TESTS_OF

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 120  # seconds of a program; a bug may keep a run from ending


def path_of(test):
    return f"tests/components/{test}_test.cpp"


def command_of(folder, source):
    """The compiler's words for a source of the same target, without its output and its precompiled header."""
    listed = json.loads(subprocess.run(["ninja", "-C", folder, "-t", "compdb"], capture_output=True, text=True, check=True).stdout)
    target = "CMakeFiles/test_components.dir" if source.startswith("tests/") else "CMakeFiles/farfault_components.dir"
    entry = next(e for e in listed if target in e["output"] and e["output"].endswith(".o"))
    words, kept = iter(shlex.split(entry["command"])), []
    for word in words:
        if word in ("-o", "-MF", "-MT", "-include"):
            next(words)
        elif word not in ("-MD", "-c", "-Winvalid-pch", "-Werror") and not word.endswith(entry["file"]):
            kept.append(word)
    return kept[1:] if kept[0].endswith("ccache") else kept, entry["directory"]


class Builder:
    def __init__(self, folder, scratch):
        self.folder, self.scratch = folder, scratch

    def compiled(self, source, name, text=None, headers=None):
        """The object of `source`, with another text or other headers in front."""
        words, directory = command_of(self.folder, source)
        file = ROOT / source
        if text is not None:
            file = self.scratch / f"{name}.cpp"
            file.write_text(text)
        front = [f"-I{headers}"] if headers else []
        if text is not None or headers:
            front.append("-w")  # a bug leaves unused names
        words = [words[0], *front, *words[1:]]
        output = self.scratch / f"{name}.o"
        subprocess.run([*words, f"-I{ROOT / Path(source).parent}", "-c", file, "-o", output], cwd=directory, check=True)
        return output

    def linked(self, objects):
        """The test program of these objects and of the project's libraries."""
        program = self.scratch / "test"
        listed = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", "test_components"], capture_output=True, text=True, check=True)
        link = shlex.split(listed.stdout.strip().split("\n")[-1])
        words = [w for w in link if w not in (":", "&&", "-o", "test_components") and not w.endswith(".o")]
        subprocess.run([words[0], *map(str, objects), "-Wl,--allow-multiple-definition", *words[1:], "-o", str(program)], cwd=self.folder, check=True)
        return program

    def failed(self, objects):
        """The names of the test cases that fail."""
        try:
            ran = subprocess.run([self.linked(objects), "--no-colors"], capture_output=True, text=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return [f"no end within {LONGEST} s"]
        names = re.findall(r"^TEST CASE:\s+(.*(?:\n  .+)*)", ran.stdout, re.M)
        names = [" ".join(n.split()) for n in names]
        if ran.returncode < 0 and not names:
            names = [f"crash with signal {-ran.returncode}"]
        return sorted(set(names))


def with_bug(builder, file, changed, sound):
    """The objects of the tests of a file, and of the sources that it is part of. sound(): objects without a bug, by source."""
    tests = [path_of(t) for t in TESTS_OF[file]]
    others = SOURCES_OF.get(file, [])
    if file.endswith(".cpp"):
        return [sound(t) for t in tests] + [builder.compiled(file, "bug", changed)] + [sound(s) for s in others]
    header = builder.scratch / "headers" / file.partition("/include/")[2]
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(changed)
    objects = [builder.compiled(source, f"bug_{i}", headers=builder.scratch / "headers") for i, source in enumerate(tests + others)]
    header.unlink()
    return objects


def chosen_by(words):
    numbers = []
    for word in words:
        first, _, last = word.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers or range(1, len(BUGS) + 1)


def main():
    chosen = chosen_by(sys.argv[2:])
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        builder = Builder(Path(sys.argv[1]).resolve(), Path(scratch))
        sound = functools.cache(lambda source: builder.compiled(source, "sound_" + Path(source).stem))
        failed = builder.failed([sound(path_of(t)) for t in sorted({t for n in chosen for t in TESTS_OF[BUGS[n - 1][1]]})])
        print(f"without a bug: {len(failed)} tests fail", *failed, flush=True)
        for number in chosen:
            what, file, text, replacement = BUGS[number - 1]
            source = (ROOT / file).read_text(encoding="utf-8")
            if source.count(text) != 1:
                sys.exit(f"planted_bugs.py: {file} has {source.count(text)} times: {text}")
            found = builder.failed(with_bug(builder, file, source.replace(text, replacement), sound))
            missed += not found
            print(f"{number:2} {what}\n     " + ("; ".join(found) if found else "NOT FOUND"), flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} found")
    return 1 if missed or failed else 0


sys.exit(main())
