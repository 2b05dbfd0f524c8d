# SPDX-License-Identifier: Apache-2.0
"""Prepares the folder that Sphinx reads: the pages of docs/ and the generated pages.

tree.py PROGRAM TREE: writes TREE/docs, and links from TREE to the other folders of the source tree, so that relative paths of
pages resolve. Only files that differ are written: Sphinx then reads only the pages that have changed.
"""
import pathlib
import sys

import commands
import drawing
import glossary
import parameters
import presets
import program
import results
import statistics_pages
import stories
import words

DOCS = pathlib.Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
GENERATORS = (parameters, statistics_pages, results, commands, presets)


def own_pages():
    """{path in docs: content} of the written pages and their files."""
    found = {}
    for file in sorted(DOCS.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts and file != DOCS / "build":
            found[str(file.relative_to(DOCS))] = file.read_bytes()
    return found


def write(folder, files):
    """Makes `folder` contain exactly `files`."""
    for old in sorted(folder.rglob("*"), reverse=True):
        if old.is_dir() and not any(old.iterdir()):
            old.rmdir()
        elif not old.is_dir() and str(old.relative_to(folder)) not in files:
            old.unlink()
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_bytes() != content:
            file.write_bytes(content)


def link_source(tree):
    tree.mkdir(parents=True, exist_ok=True)
    for entry in ROOT.iterdir():
        link = tree / entry.name
        if entry.name not in ("docs", "build", "results", ".git") and not link.is_symlink():
            link.symlink_to(entry)
    for link in tree.iterdir():
        if link.is_symlink() and not link.exists():
            link.unlink()


def main(path, tree):
    asked = program.Program(path)
    files, defined = own_pages(), []
    for generator in GENERATORS:
        pages, names = generator.pages(asked)
        files.update({name: text.encode() for name, text in pages.items()})
        defined += names
    defined += glossary.names((DOCS / f"{glossary.PAGE}.md").read_text(encoding="utf-8"))
    tree = pathlib.Path(tree)
    link_source(tree)
    write(tree / "docs", files)
    write(tree / "drawings", {name + ".svg": drawing.svg(story).encode() for name, story in stories.stories(asked).items()})
    words.write(tree / words.FILE, defined)


if __name__ == "__main__":
    main(*sys.argv[1:])
