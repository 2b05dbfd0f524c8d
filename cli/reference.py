#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a reference of a program's parameters and statistics, as Markdown pages.

cli/reference.py PROGRAM FOLDER [CONFIG ...]: queries PROGRAM, a farfault with or without extensions, and writes
FOLDER/parameters.md, and FOLDER/statistics.md with the statistics of the CONFIGs (files or presets; by default,
presets that together cover most statistics). Regenerate the pages for each version of the program.
"""
import json
import pathlib
import subprocess
import sys

CONFIGS = ("paper-gmmu-bypass", "paper-batch-aware", "paper-mosaic", "paper-mask", "dgx-a100")


def asked(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.rstrip() or f"{program} {' '.join(words)} exited with code {done.returncode}")
    return done.stdout


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;") or " "


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def groups(items, name_of):
    """Items grouped by the part of their name before the last separator, in order of first appearance."""
    found = {}
    for item in items:
        found.setdefault(name_of(item), []).append(item)
    return found.items()


def parameters(program):
    items = json.loads(asked(program, "params", "--json"))["parameters"]
    page = ["# Parameters\n"]
    for section, members in groups(items, lambda p: p["key"].rpartition(".")[0]):
        rows = [
            [f"`{p['key'].rpartition('.')[2]}`", f"`{p['default']}`" if p["default"] else "empty", cell(p["unit"]),
             cell(p["range"]), cell(p["text"]), cell("; ".join(p["only_with"])), cell(p["source"])]
            for p in members
        ]
        page += [f"## `{section}`\n", table(["Name", "Default", "Unit", "Range", "Description", "Only with", "Source of the default"], rows)]
    return "\n".join(page)


def statistics(program, configs):
    items = {}  # by path, from the first configuration that has it
    for config in configs:
        for s in json.loads(asked(program, "statistics", config, "--json"))["statistics"]:
            items.setdefault(s["path"], s)
    page = ["# Statistics\n", "Statistics and table columns of a result, by path. The configuration determines which of them a run records.\n"]
    for group, members in groups(items.values(), lambda s: s["path"].rpartition("/")[0]):
        rows = [
            [f"`{s['path'].rpartition('/')[2]}`", cell(s["unit"]), cell(s.get("kind", "column")), cell(s["text"])]
            for s in members
        ]
        page += [f"## `{group}`\n", table(["Name", "Unit", "Kind", "Description"], rows)]
    return "\n".join(page)


def main(words):
    if len(words) < 2:
        sys.exit("usage: cli/reference.py PROGRAM FOLDER [CONFIG ...]")
    program, folder, configs = words[0], pathlib.Path(words[1]), words[2:] or CONFIGS
    pages = {"parameters.md": parameters(program), "statistics.md": statistics(program, configs)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in pages.items():
        (folder / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
