# SPDX-License-Identifier: Apache-2.0
"""results.json.xz: every figure of every run of a study, compressed JSON.

The same figures give the same bytes. Fractions of a run have six significant digits (means nine), and its digest has 16 of 32 hexadecimal digits: more
would be most of the file. Read it with `xz -dc results.json.xz`, or with read().
"""
import json
import lzma
from pathlib import Path

NAME = "results.json.xz"


def rounded(value, digits):
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {name: inner[:16] if name == "digest" else rounded(inner, digits) for name, inner in value.items()}
    return [rounded(inner, digits) for inner in value] if isinstance(value, list | tuple) else value


def write(folder, **document):
    """Lists are written with one item per line. Replaces the file."""
    parts = []
    for name, value in document.items():
        if isinstance(value, list):
            text = "[\n" + ",\n".join("  " + json.dumps(item) for item in rounded(value, 6)) + "\n ]"
        else:
            text = json.dumps(rounded(value, 9), indent=1).replace("\n", "\n ")
        parts.append(f" {json.dumps(name)}: {text}")
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    unaligned = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}  # for text, without alignment
    (Path(folder) / NAME).write_bytes(lzma.compress(text.encode(), check=lzma.CHECK_CRC32, filters=[unaligned]))


def read(folder):
    return json.loads(lzma.decompress((Path(folder) / NAME).read_bytes()))
