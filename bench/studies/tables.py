# SPDX-License-Identifier: Apache-2.0
"""Cells and tables of the pages that studies write, in Markdown. None stands for what was not measured."""


def average(values):
    """Of those that were measured."""
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def ratio(a, b):
    return a / b if a is not None and b else None


def show(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def percent(value, digits=1):
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def table(header, body, text=False):
    """Its lines; the columns behind the first one are numbers, or text."""
    align = ["---"] + ["---" if text else "---:"] * (len(header) - 1)
    return [""] + ["| " + " | ".join(map(str, r)) + " |" for r in [header, align] + body] + [""]
