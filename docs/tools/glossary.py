# SPDX-License-Identifier: Apache-2.0
"""The terms of the glossary: first cells of its tables."""
import re

from words import Name, anchor_of

PAGE = "developing/glossary"


def terms_of(cell):
    """'base page, large page' and 'lane (engine)' -> the terms in a cell."""
    plain = re.sub(r" \(.*?\)", "", cell)
    return [t.strip() for t in re.split(r"[,;]", plain) if t.strip()]


def cells(text):
    """First cells of the rows of all tables, without the heads."""
    lines = text.splitlines()
    for above, line in zip([""] + lines, lines):
        if line.startswith("| ") and not line.startswith("| Term ") and above.startswith("|"):
            yield line.split("|")[1].strip()


def anchor(cell):
    return "term-" + anchor_of(cell)


def names(text):
    return [Name(term, PAGE, anchor(cell), "term") for cell in cells(text) for term in dict.fromkeys([cell, *terms_of(cell)])]
