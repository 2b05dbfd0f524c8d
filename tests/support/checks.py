# SPDX-License-Identifier: Apache-2.0
"""Checks that are counted: what fails is printed, and the test goes on."""
passed = failed = 0


def check(holds, what):
    global passed, failed
    passed, failed = (passed + 1, failed) if holds else (passed, failed + 1)
    if not holds:
        print(what)


def counts():
    return f"{passed} passed, {failed} failed"
