# SPDX-License-Identifier: Apache-2.0
"""Exceptions of this package, and their texts."""

# Limits of a message: names in a list, characters of a quoted text.
NAMES, LETTERS = 40, 300


class ResultError(ValueError):
    """The file is damaged, belongs to another program, or lacks the requested data.

    The message is one line of one sentence without control characters, whatever names and texts the file contains."""

    def __init__(self, sentence):
        super().__init__(printable(sentence))


class Misuse(TypeError):
    """The caller passed an argument of the wrong type."""


class Misplaced(IndexError):
    """The caller requested an element outside an array."""


def unknown(path, what, name, there, so_far=False):
    """The error for a name that the file lacks. Lists the names that it has (so far, for a run that has not ended)."""
    listed = some_of(there) if len(there) else "none"
    return ResultError(f"{path}: it has no {what} {in_one_line(repr(name))}; available{' so far' if so_far else ''}: {listed}")


def some_of(names):
    """The names as a list in a sentence. A long list is cut and ends with the number of names."""
    names = list(names)
    more = f", ... ({len(names)} in all)" if len(names) > NAMES else ""
    return ", ".join(in_one_line(n) for n in names[:NAMES]) + more


def in_one_line(problem):
    """The text in one line, without control characters, cut after LETTERS characters."""
    text = str(problem).strip(chr(34))
    return printable(text if len(text) <= LETTERS else text[:LETTERS] + "...")


def printable(text):
    """The text with spaces instead of control characters."""
    return "".join(c if c.isprintable() else " " for c in str(text))
