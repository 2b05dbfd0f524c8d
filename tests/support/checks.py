# SPDX-License-Identifier: Apache-2.0
"""Counted checks: a failed one is printed, and the test continues."""
passed = failed = 0


def check(holds, what):
    global passed, failed
    passed, failed = (passed + 1, failed) if holds else (passed, failed + 1)
    if not holds:
        print(what)


def counts():
    return f"{passed} passed, {failed} failed"
