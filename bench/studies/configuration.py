"""What the studies' study.py share: settings as a configuration file, and a user's mistake."""
import json


class StudyError(Exception):
    """One sentence for the user."""


def flat(tables, prefix=""):
    """Nested tables as one: {"gpu.sms": 36, ...}."""
    found = {}
    for name, value in tables.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def toml_of(title, preset, settings):
    """The lines of a file that includes the preset and sets these beyond it."""
    lines = [f"# {title}", f'include = ["{preset}"]']
    tables = {}
    for key, value in settings.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, []).append(f"{name} = {json.dumps(value)}")
    for table, entries in tables.items():
        lines += ["", f"[{table}]"] + entries
    return lines
