# SPDX-License-Identifier: Apache-2.0
"""Parses the configuration of a run.

The limits are checked before tomllib parses the text, because tomllib takes quadratic time and memory for a dotted key.
Characters inside quoted texts are not marks. For comparison, a configuration with 64 applications has 26 kB, 1,981
lines and 4,212 marks, with at most 2 nesting marks per line.
"""
import re
import tomllib

from .calls import charge
from .errors import ResultError, in_one_line

# Marks: ends of lines and these characters. tomllib takes up to 1.2 kB per mark.
MARKS, MOST_MARKS, BYTES_PER_MARK = ".[{,=\n", 1 << 15, 1280
NESTING, MOST_NESTING = ".[{", 16  # per line
MOST_CHARACTERS, MOST_UNQUOTED = 1 << 20, 4096  # MOST_UNQUOTED: per line
MOST_KEY = 1024  # characters of a dotted key, including the tables around it

# A quoted text on one line, or the opening quotes of a text of several lines.
TEXT = re.compile(r"""("{3}|'{3})|"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"?|'[^'\n]*+'?""")


def parsed(path, text):
    """The tables of the configuration `text`. path: file of the text."""
    damaged = f"{path}: its configuration is damaged: "
    if len(text) > MOST_CHARACTERS:
        raise ResultError(f"{damaged}it has {len(text)} characters; the limit is {MOST_CHARACTERS}")
    bare = TEXT.sub(r"\1", text)
    if '"""' in bare or "'''" in bare:
        raise ResultError(f"{damaged}it has a multi-line text")
    marks = _count(bare, MARKS)
    if marks > MOST_MARKS:
        raise ResultError(f"{damaged}it has {marks} lines, dots, commas, equals signs and brackets; the limit is {MOST_MARKS}")
    lines = bare.split("\n")
    longest = max(map(len, lines))
    if longest > MOST_UNQUOTED:
        raise ResultError(f"{damaged}a line has {longest} characters outside of quotes; the limit is {MOST_UNQUOTED}")
    nesting = max(_count(line, NESTING) for line in lines)
    if nesting > MOST_NESTING:
        raise ResultError(f"{damaged}a line has {nesting} dots and brackets; the limit is {MOST_NESTING}")
    charge(marks * BYTES_PER_MARK, "config")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ResultError(damaged + in_one_line(problem)) from None


def flat(path, config):
    """{dotted key: value} of a configuration. The key of a table in an array contains the table's name."""
    found = {}
    for key, value in _flattened(config):
        if len(key) > MOST_KEY:
            raise ResultError(f"{path}: its configuration is damaged: a key has {len(key)} characters; the limit is {MOST_KEY}")
        found[key] = value
    return found


def _count(text, marks):
    return sum(text.count(mark) for mark in marks)


def _flattened(table, prefix=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{key}.")
        elif isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            for i, v in enumerate(value):
                yield from _flattened(v, f"{prefix}{key}.{v.get('name', i)}.")
        else:
            yield prefix + key, value
