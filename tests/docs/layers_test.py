#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The folders of hdf5_schemas and cli are layers: a source includes only files of its own layer and of lower ones.

Usage: layers_test.py ANYTHING. Only hdf5_schemas/format/src includes HDF5, and no folder has more than 20 .cpp files. In the whole
tree, the opening comment of a header has at most 15 lines, and the tracked files have at most 10.8 MB.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import checks
from checks import check

# The layers, the lowest first: the folder of the sources, and its headers for other libraries or for programs.
LAYERS = [
    ("hdf5_schemas/format/src/file", "farfault/results: schema; farfault/results/reading: handle open"),
    ("hdf5_schemas/format/src/reading", "farfault/results: digest reader sweep; farfault/results/reading: guard pack settings walk"),
    ("hdf5_schemas/format/src/writing", "farfault/results: writer"),
    ("hdf5_schemas/analysis/src", "farfault/analysis: csv explain live"),
    ("hdf5_schemas/analysis/src/report", "farfault/analysis: report"),
    ("hdf5_schemas/analysis/src/pairs", "farfault/analysis: explain_pair"),
    ("hdf5_schemas/analysis/src/comparison", "farfault/analysis: compare"),
    ("hdf5_schemas/analysis/src/sweep", "farfault/analysis: sweep_axes sweep_pivot sweep_point_names sweep_ratios sweep_table_json"),
    ("cli/src/process", "farfault/cli: exit_codes progress readable"),
    ("cli/src/model", "farfault/cli: extensions parameter_sections run_options trace_options"),
    ("cli/src/trace", ""),
    ("cli/src/run", "farfault/cli: simulation"),
    ("cli/src/study", ""),
    ("cli/src/sweep_text", ""),
    ("cli/src/sweep", "farfault/cli: sweep"),
    ("cli/src/show", "farfault/cli: compare explain explain_pair inspect listing result_files"),
    ("cli/src/show/report", "farfault/cli: report"),
    ("cli/src/show/watch", "farfault/cli: watch"),
    ("cli/src/commands", "farfault/cli: command_line; farfault: program"),
]
# Folders of the headers of LAYERS.
HEADERS = ("hdf5_schemas/format/include", "hdf5_schemas/format/shared", "hdf5_schemas/analysis/include", "cli/include")
SOURCES = ("hdf5_schemas/format/src", "hdf5_schemas/analysis/src", "cli/src")
TREES = ("hdf5_schemas", "cli")
GENERATED = {"access_stages.inc", "farfault_commit.hpp", "sm_activities.inc"}
OF_OTHERS = ("engine", "components", "topologies", "workloads")  # below all layers
HDF5 = "hdf5_schemas/format/src/"
MOST_SOURCES = 20
CODE = ("engine", "components", "topologies", "workloads", "hdf5_schemas", "cli", "bench", "tests")
MOST_BYTES = 12_000_000
LONGEST_OPENING = 15  # lines, without the licence
# Headers whose openings show how to write a component and a policy.
LONG_OPENINGS = {"engine/include/farfault/engine/component.hpp", "engine/include/farfault/engine/policy.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)', re.MULTILINE)


def layers_of_headers():
    """The number of the layer by the name under which others include a header."""
    numbers = {}
    for number, (_, headers) in enumerate(LAYERS):
        for group in filter(None, headers.split("; ")):
            folder, names = group.split(": ")
            numbers.update({f"{folder}/{name}.hpp": number for name in names.split()})
    return numbers


PUBLIC = layers_of_headers()


def layer_of(path):
    """The number of the layer of a file; None if it has none."""
    for folder in HEADERS:
        if path.startswith(folder + "/"):
            return PUBLIC.get(path[len(folder) + 1:])
    names = [folder for folder, _ in LAYERS]
    folder = path.rpartition("/")[0]
    return names.index(folder) if folder in names else None


def target(path, name, files):
    """The file that `path` includes as `name`, among `files`; None if it belongs to none of the two trees."""
    for folder in (path.rpartition("/")[0], *SOURCES, *HEADERS):
        if f"{folder}/{name}" in files:
            return f"{folder}/{name}"
    return None


def faults(files):
    """The violations in `files`: path -> text."""
    found = []
    sources = {}
    for path, text in sorted(files.items()):
        folder = path.rpartition("/")[0]
        if path.endswith(".cpp"):
            sources[folder] = sources.get(folder, 0) + 1
        own = layer_of(path)
        if own is None:
            found.append(f"{path} belongs to no layer: add it to LAYERS")
            continue
        for quote, name in INCLUDE.findall(text):
            if re.search(r"(^|/)(hdf5|H5)\w*\.h", name) and not path.startswith(HDF5):
                found.append(f"{path} includes {name}; only {HDF5} uses HDF5")
                continue
            if ".." in name.split("/"):
                found.append(f"{path} includes {name}: name the file by its path from src/")
                continue
            included = target(path, name, files)
            if included is None:
                if quote == '"' and name not in GENERATED and not is_of_others(name):
                    found.append(f"{path} includes {name}, which is not found")
                continue
            to = layer_of(included)
            if to is not None and to > own:
                found.append(f"{path} includes {name} of a higher layer, {LAYERS[to][0]}")
    for folder, number in sources.items():
        if number > MOST_SOURCES:
            found.append(f"{folder} has {number} .cpp files, at most {MOST_SOURCES}")
    return found


def opening_lines(text):
    """The lines of comment before #pragma once and the code of a header, without the licence."""
    count = 0
    for line in text.split("\n"):
        if line.startswith("//"):
            count += not line.startswith("// SPDX-")
        elif line.strip():
            break
    return count


def long_openings(headers):
    """The headers, path -> text, whose opening comment is too long."""
    return [f"the opening comment of {path} has {lines} lines, at most {LONGEST_OPENING}" for path, text in sorted(headers.items())
            if (lines := opening_lines(text)) > LONGEST_OPENING and path not in LONG_OPENINGS]


def read_headers():
    return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for tree in CODE for file in (ROOT / tree).rglob("*.hpp")}


def check_openings():
    headers = read_headers()
    check(len(headers) > 300, f"only {len(headers)} headers are found")
    found = long_openings(headers)
    check(not found, "\n".join(found))
    check(all(opening_lines(headers.get(path, "")) > LONGEST_OPENING for path in LONG_OPENINGS), "an exempt header is missing or short")
    lines = "// SPDX-License-Identifier: Apache-2.0\n" + "// A line.\n" * LONGEST_OPENING
    planted = {"engine/long.hpp": lines + "//\n#pragma once\n", "engine/split.hpp": lines + "\n// Another line.\nstruct A;\n",
               "engine/short.hpp": lines + "#pragma once\n// A line of code.\n"}
    check([fault.split()[4] for fault in long_openings(planted)] == ["engine/long.hpp", "engine/split.hpp"],
          f"planted openings: {long_openings(planted)}")


def tracked_bytes(folder):
    """The bytes of the tracked files in a checkout; a sentence instead if they are not known."""
    if shutil.which("git") is None:
        return "git is missing"
    listed = subprocess.run(["git", "-C", folder, "ls-files", "-z"], capture_output=True)
    if listed.returncode != 0 or not (folder / ".git").exists():
        return "the tree is not a git checkout"
    files = [folder / name.decode() for name in listed.stdout.split(b"\0") if name]
    return sum(file.lstat().st_size for file in files if file.is_symlink() or file.is_file())


def check_size():
    size = tracked_bytes(ROOT)
    if isinstance(size, str):
        return print(f"skipped: size of the tracked files: {size}")
    check(100_000 < size <= MOST_BYTES, f"the tracked files have {size:,} bytes, at most {MOST_BYTES:,}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        check(tracked_bytes(folder) == "the tree is not a git checkout", "a folder outside a checkout has no size")
        subprocess.run(["git", "init", "-q", folder], check=True, capture_output=True)
        for name in ("tracked", "untracked"):
            (folder / name).write_bytes(bytes(1000))
        subprocess.run(["git", "-C", folder, "add", "tracked"], check=True, capture_output=True)
        check(tracked_bytes(folder) == 1000, f"only tracked files count: {tracked_bytes(folder)}")


def is_of_others(name):
    return any((ROOT / folder / "include" / name).exists() for folder in OF_OTHERS) or \
        any((part / "include" / name).exists() for part in (ROOT / "components").iterdir())


def read_tree():
    return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for tree in TREES
            for file in (ROOT / tree).rglob("*") if file.suffix in (".cpp", ".hpp")}


# One violation each: file, its additional line, and part of the message.
PLANTED = [
    ("cli/src/model/model.cpp", '#include "run/run_driver.hpp"', "higher layer, cli/src/run"),
    ("cli/src/process/progress.cpp", '#include "model/model.hpp"', "higher layer, cli/src/model"),
    ("cli/src/run/run_driver.cpp", '#include "farfault/cli/command_line.hpp"', "higher layer, cli/src/commands"),
    ("cli/src/run/run_driver.cpp", " #  include <farfault/cli/sweep.hpp>", "higher layer, cli/src/sweep"),
    ("cli/src/sweep/sweep.cpp", '#include "show/completion.hpp"', "higher layer, cli/src/show"),
    ("cli/src/show/compare.cpp", '#include "show/report/html.hpp"', "higher layer, cli/src/show/report"),
    ("cli/src/trace/recording.cpp", '#include "../run/summary.hpp"', "by its path from src/"),
    ("cli/include/farfault/cli/progress.hpp", '#include "farfault/cli/simulation.hpp"', "higher layer, cli/src/run"),
    ("hdf5_schemas/format/src/reading/reader.cpp", '#include "farfault/analysis/explain.hpp"', "higher layer, hdf5_schemas/analysis"),
    ("hdf5_schemas/format/src/file/open.cpp", '#include "writing/layout.hpp"', "higher layer, hdf5_schemas/format/src/writing"),
    ("hdf5_schemas/format/shared/farfault/results/reading/open.hpp", '#include "farfault/results/writer.hpp"', "higher layer"),
    ("hdf5_schemas/analysis/src/report/report.cpp", '#include "farfault/cli/readable.hpp"', "higher layer, cli/src/process"),
    ("hdf5_schemas/analysis/src/report/report.cpp", "#include <hdf5.h>", "uses HDF5"),
    ("hdf5_schemas/format/shared/farfault/results/reading/handle.hpp", "#include <hdf5.h>", "uses HDF5"),
    ("cli/src/show/inspect.cpp", '#include "hdf5/serial/hdf5_hl.h"', "uses HDF5"),
    ("cli/src/show/inspect.cpp", '#include "show/absent.hpp"', "is not found"),
    ("cli/src/more/new.cpp", "", "belongs to no layer"),
    ("cli/src/new.cpp", "", "belongs to no layer"),
    ("cli/include/farfault/cli/new.hpp", "", "belongs to no layer"),
]
ALLOWED = [
    ("cli/src/commands/run.cpp", '#include "model/model.hpp"'),
    ("cli/src/show/compare.cpp", '#include "completion.hpp"'),
    ("cli/src/show/compare.cpp", '// #include "commands/command_set.hpp"'),
    ("cli/src/show/watch/watch.cpp", '#include "show/completion.hpp"\n#include <vector>'),
    ("hdf5_schemas/format/src/reading/walk.cpp", "#include <hdf5.h>"),
]


def main():
    tree = read_tree()
    check(len(tree) > 250, f"only {len(tree)} sources are found")
    for folder, _ in LAYERS:
        check(any(path.startswith(folder + "/") for path in tree), f"{folder} has no source")
    for name in PUBLIC:
        check(any(f"{folder}/{name}" in tree for folder in HEADERS), f"{name} of LAYERS does not exist")
    found = faults(tree)
    check(not found, "\n".join(found))
    before = len(found)
    for path, line, message in PLANTED:
        more = faults(tree | {path: tree.get(path, "") + "\n" + line + "\n"})
        check(len(more) == before + 1 and any(message in fault for fault in more), f"'{line}' in {path}: '{message}' is not found: {more[:2]}")
    for path, line in ALLOWED:
        check(len(faults(tree | {path: tree[path] + "\n" + line + "\n"})) == before, f"'{line}' in {path} is refused")
    check_openings()
    check_size()
    crowded = {f"cli/src/trace/new_{number}.cpp": "" for number in range(MOST_SOURCES)}
    check(any("at most 20" in fault for fault in faults(tree | crowded)), "a folder with too many sources is not found")
    print(checks.counts())
    return 1 if checks.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
