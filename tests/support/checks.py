# SPDX-License-Identifier: Apache-2.0
"""Counted checks. A check is one test, named by its place in the source text: executed once per row of a table, it passes if
it holds for every row. A failure is printed, and the test continues."""
import sys

_held = {}  # place of a check -> True if it has held each time


def check(holds, what):
    caller = sys._getframe(1)
    place = caller.f_code.co_filename, caller.f_lineno
    _held[place] = _held.get(place, True) and bool(holds)
    if not holds:
        print(f"FAILED: {what}")


def failed():
    """Number of tests that failed."""
    return sum(not held for held in _held.values())


def counts():
    return f"{len(_held) - failed()} passed, {failed()} failed"
