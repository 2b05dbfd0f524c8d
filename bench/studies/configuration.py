# SPDX-License-Identifier: Apache-2.0
"""What the studies' study.py share: settings as TOML, and a user's mistake."""
import json


class StudyError(Exception):
    """One sentence for the user."""


def flat(tables, prefix=""):
    """Nested tables as one: {"gpu.sms": 36, ...}."""
    found = {}
    for name, value in tables.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def toml_of(value):
    """A value in TOML, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml_of(v)}" for key, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    return json.dumps(value)


def lines_of(settings):
    """Settings as lines of a configuration, or of a point of a sweep's list."""
    return [f"{key} = {toml_of(value)}" for key, value in settings.items()]
