# SPDX-License-Identifier: Apache-2.0
"""The names that the handbook defines, and where: `farfault docs WORD` and links of inline code read them.

words.tsv has a line for each name: name, page and anchor, kind, separated by tabs.
"""
import collections
import re

FILE = "words.tsv"

# kind: parameter, section, statistic, table, result, command, preset, workload or term
Name = collections.namedtuple("Name", "name page anchor kind")


def anchor_of(name):
    """The anchor of a name: lower case, a hyphen for each run of other characters than letters and digits.

    Sphinx forms the anchors of headings by the same rule. The program forms the anchors of parameters by it as well.
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def target(name):
    """The Markdown line that gives what follows the anchor of a name."""
    return f"({anchor_of(name)})="


def write(path, names):
    text = "".join(f"{n.name}\t{n.page}.html#{n.anchor}\t{n.kind}\n" for n in names)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def read(path):
    names = []
    for line in path.read_text(encoding="utf-8").splitlines():
        name, place, kind = line.split("\t")
        page, _, anchor = place.partition(".html#")
        names.append(Name(name, page, anchor, kind))
    return names
