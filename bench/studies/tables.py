# SPDX-License-Identifier: Apache-2.0
"""Cells and tables of the studies' Markdown pages. None: not measured."""


def average(values):
    """Mean of the measured values."""
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def ratio(a, b):
    return a / b if a is not None and b else None


def show(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def percent(value, digits=1):
    return "-" if value is None else f"{100 * value:.{digits}f}%"


def table(header, body, text=False):
    """Lines of a table. Columns after the first are right-aligned numbers or, with `text`, text."""
    align = ["---"] + ["---" if text else "---:"] * (len(header) - 1)
    return [""] + ["| " + " | ".join(map(str, r)) + " |" for r in [header, align] + body] + [""]
