# SPDX-License-Identifier: Apache-2.0
"""cli/reference.py: pages with every parameter and every statistic.

Usage: python3 reference_test.py BUILD_FOLDER/anything
"""
import json
import os
import subprocess
import sys
import tempfile

tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(tests, "support"))
from checks import check, counts  # noqa: E402

farfault = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "farfault")
script = os.path.join(os.path.dirname(tests), "cli", "reference.py")


def said(*words):
    return json.loads(subprocess.run([farfault, *words], check=True, capture_output=True, text=True).stdout)


def reference(folder, *configs):
    return subprocess.run([sys.executable, script, farfault, folder, *configs], capture_output=True, text=True)


def rows_of(page):
    """(section, name) -> the cells of its row."""
    rows, section = {}, None
    for line in page.splitlines():
        if line.startswith("## "):
            section = line[3:].strip("`")
        elif line.startswith("| `"):
            cells = [c.strip() for c in line.strip("|").replace("\\|", "\0").split("|")]
            rows[section, cells[0].strip("`")] = [c.replace("\0", "|") for c in cells[1:]]
    return rows


with tempfile.TemporaryDirectory() as scratch:
    pages = os.path.join(scratch, "pages")
    done = reference(pages)
    check(done.returncode == 0 and done.stderr == "", f"the pages are written, not: {done.stderr}")
    parameters = rows_of(open(os.path.join(pages, "parameters.md"), encoding="utf-8").read())
    known = said("params", "--json")["parameters"]
    check(len(parameters) == len(known), f"{len(known)} parameters, not {len(parameters)}")
    for p in known:
        section, _, name = p["key"].rpartition(".")
        row = parameters.get((section, name))
        check(row is not None and len(row) == 6 and row[4] == "; ".join(p["only_with"]) and row[5] == " ".join(p["source"].split()),
              f"{p['key']} is listed with its conditions and its source: {row}")
    statistics = rows_of(open(os.path.join(pages, "statistics.md"), encoding="utf-8").read())
    for config in ("paper-gmmu-bypass", "paper-mosaic"):
        for s in said("statistics", config, "--json")["statistics"]:
            group, _, name = s["path"].rpartition("/")
            row = statistics.get((group, name))
            check(row is not None and row[1] == s.get("kind", "column"), f"{s['path']} is listed: {row}")

    done = reference(os.path.join(scratch, "none"), "no-such-config")
    check(done.returncode == 1 and done.stderr.startswith("farfault: ") and done.stderr.count("\n") == 1,
          f"a missing configuration gives one sentence, not: {done.stderr}")
    check(not os.path.exists(os.path.join(scratch, "none")), "no page is written")

print(counts())
