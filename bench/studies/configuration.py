# SPDX-License-Identifier: Apache-2.0
"""Shared by the studies' study.py: settings as TOML, and the exception for user errors."""
import json


class StudyError(Exception):
    """A user error; its text is one sentence."""


def flat(tables, prefix=""):
    """Flattens nested tables: {"gpu.sms": 36, ...}."""
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
    """Settings as lines of a configuration or of a sweep point."""
    return [f"{key} = {toml_of(value)}" for key, value in settings.items()]
