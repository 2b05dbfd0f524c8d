#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The project's prose, and the texts that the program prints and stores, stay within the limits of register.py.

Usage: register_test.py BUILD_FOLDER/anything. The project's prose is skipped where git or the checkout is missing.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path[:0] = [str(FOLDER), str(ROOT / "tests/support")]
import checks
import prose
import register
from checks import check

# An offence against each marker of register.py.
OFFENCES = {
    "opens with Of/Where/What/Whose/Whether": "Of the pages that a GPU holds, one moves.",
    "those": "the pages and those that moved",
    "says, said": "the table says how many pages",
    "comes, came": "a page comes at its first touch",
    "tells, told": "the driver tells the GPU of it",
    "lies, lie": "the page lies on another device",
    "beside": "a page beside the faulted one",
    "nobody, somebody, whoever, everybody": "a page that nobody has used",
    "under way": "a transfer that is under way",
    "of which, of whom": "pages of which one is mapped",
    "in turn": "each GPU has one in turn",
    "gives way": "a block that gives way",
    "anew": "the table is written anew",
    "is no, are no": "a page that is no large page",
    "such": "such pages are not moved here",
    "goes, went": "the request goes to the driver",
    "stands": "the fault stands in the buffer",
    "is there, are there": "the page is there when it runs",
    "as it is, as they are": "it leaves the page as it is",
    "of its own": "each GPU has one of its own",
} | {name: f"Here a text has {name}" for name, _ in register.PHRASES}
# Forms of a text in a source file, by the file's name. Each must be read completely.
KINDS = {
    "a.md": "# Title\n\n{}\n",
    "wrapped.md": "A list:\n\n- one\n- {}\n",
    "table.md": "| a | b |\n|---|---|\n| x | {} |\n",
    "comment.cpp": "int x;  // {}\n",
    "block.hpp": "/* {} */\nint x;\n",
    "string.cpp": 'auto text = "{}";\n',
    "raw.cpp": 'auto text = R"x({})x";\n',
    "docstring.py": '"""{}"""\n',
    "comment.py": "x = 1  # {}\n",
    "string.py": 'x = f"{}"\n',
    "run": "#!/usr/bin/env python3\nx = '{}'\n",
    "comment.sh": "#!/bin/sh\n# {}\necho\n",
    "string.sh": 'echo "{}"\n',
    "CMakeLists.txt": "# {}\nproject(x)\n",
    "template.js": "const text = `{}`;\n",
}
# The same over two lines: a marker must be found across the line break.
CUT = {
    "cut.md": "{}\n{}\n",
    "cut.cpp": "// {}\n// {}\nint x;\n",
    "strings.cpp": 'auto text = "{} "\n            "{}";\n',
    "added.js": 'const text = "{} " +\n  "{}";\n',
    "cut.py": "# {}\n# {}\nx = 1\n",
    "strings.py": 'x = ("{} "\n     "{}")\n',
    "cut.sh": "# {}\n# {}\necho\n",
}
# Code, which is not prose, and system messages.
CODE = {
    "fence.md": "```\nthe page lies there beside\n```\n",
    "code.md": "A value is `the page lies there beside` here.\n",
    "link.md": "[pages](the-page-lies-there-beside.md)\n",
    "name.cpp": "auto lies = beside(those);\n",
    "short.cpp": 'auto name = "lies beside";\n',
    "licence.cpp": "// SPDX-License-Identifier: those of whom\n",
    "file.cpp": 'auto text = "cannot read it: No such file or directory";\n',
    "device.sh": 'check "cannot open it: no such device" false\n',
}

# Rates of the present text above their limit. Each may only fall; an entry within its limit is removed.
NOT_YET = {}


def hits(name, text):
    return register.count([(name, text)])[1]


def printed(program):
    """What the program prints, and the attributes of a small result, by command."""
    def run(*arguments):
        return subprocess.run([program, *arguments], capture_output=True, text=True)
    for command in (["params"], ["statistics", "paper-mosaic"], ["workloads"], *([c, "--help"] for c in ("run", "sweep", "params", "workloads", "inspect", "explain", "compare", "diff", "validate"))):
        out = run(*command)
        check(out.returncode == 0, f"{command}: {out.stderr}")
        yield " ".join(command), out.stdout
    with tempfile.TemporaryDirectory() as folder:
        out = run("run", "paper-gmmu-bypass", "--set", "workload.name=relu", "--set", "workload.relu.size=64KiB", "--set", "gpu.sms=2",
                  "--set", "memory.remote_touch=migrate", "--output", f"{folder}/result.h5")
        check(out.returncode == 0, f"a small run: {out.stderr}")
        yield "run", out.stdout + out.stderr
        yield "inspect", run("inspect", f"{folder}/result.h5").stdout
        try:
            yield "attributes", subprocess.run(["h5dump", "-A", f"{folder}/result.h5"], capture_output=True, text=True, check=True).stdout
        except FileNotFoundError:
            print("skipped: attributes of a result: h5dump is missing")


def main():
    check(list(OFFENCES) == [marker for marker, _, _ in register.MARKERS], "an offence for each marker")
    for marker, offence in OFFENCES.items():
        for name, form in KINDS.items():
            check(hits(name, form.replace("{}", offence))[marker] == 1, f"{name}: '{marker}' is not found in: {offence}")
        words = offence.split()
        for name, form in CUT.items():
            cut = form.replace("{}", " ".join(words[:-2]), 1).replace("{}", " ".join(words[-2:]), 1)
            check(hits(name, cut)[marker] == 1, f"{name}: '{marker}' is not found in a text of two lines: {offence}")
    for name, text in CODE.items():
        check(sum(hits(name, text).values()) == 0, f"{name}: code is taken for prose")
    lines = dict(prose.passages("a.cpp", "int x;\n// One two three four\n// five.\n\n// Six.\n"))
    check(lines == {2: "One two three four five.", 5: "Six."}, f"passages of comments: {lines}")
    for command, text in printed(Path(sys.argv[1]).resolve().parent / "farfault"):
        check(len(text) > 150, f"{command} prints {len(text)} characters")
        for phrase, pattern in register.PHRASES:
            found = re.search(pattern, " ".join(text.split()))
            check(found is None, f"{command}: '{phrase}' is found: {found and found[0]}")
    listed = subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True)
    if listed.returncode != 0:
        print("skipped: the project's text: this is not a checkout")
    else:
        words, found, where = register.count(register.tracked(ROOT))
        check(words > 100_000, f"only {words} words are found")
        for marker, _, limit in register.MARKERS:
            rate, most = 1e4 * found[marker] / words, NOT_YET.get(marker, limit)
            check(rate <= most, f"'{marker}': {rate:.1f} per 10,000 words, at most {most}: tests/docs/register.py --worst 1000 lists them")
            check(marker not in NOT_YET or NOT_YET[marker] > limit, f"'{marker}' is within its limit: remove it from NOT_YET")
    print(checks.counts())
    return 1 if checks.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
