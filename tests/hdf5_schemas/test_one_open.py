#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files, groups, datasets and names are opened and looked up in open.cpp alone, which follows no link to elsewhere."""
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "hdf5_schemas" / "src"
# By name or path; HDF5 follows any link in it.
BANNED = re.compile(r"\bH5(?:[DGOT]open\w*|Fopen|Fis_hdf5|Fis_accessible|Lexists|Lget_\w+|Lvisit\w*|Ovisit\w*|[AO]\w*_by_\w+"
                    r"|Oexists\w*|Gget_\w+_by_\w+|Gget_objinfo|R(?:dereference|open)\w*|DSiterate\w*|LT\w+|TB\w+)\s*\(")
ALLOWED = {"open.cpp"}


def uses(text):
    """The banned calls of a source, without comments."""
    return BANNED.findall(re.sub(r"//.*", "", text))


def failures():
    for call in ("H5Dopen2(f, p, d)", "H5Gopen2 (f)", "H5Oopen(f)", "H5Lexists(f)", "H5Oget_info_by_name2(f)",
                 "H5Aexists_by_name(f)", "H5Fopen(f)", "H5LTread_dataset_int(f)"):
        if not uses(call):
            yield f"the rule does not see {call}"
    files = sorted(SOURCE.glob("*.cpp")) + sorted(SOURCE.glob("*.hpp"))
    if len(files) < 50:
        yield f"only {len(files)} sources in {SOURCE}"
    for file in files:
        if file.name in ALLOWED:
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for call in uses(line):
                yield f"{file.name}:{number}: {call.strip('( ')} outside open.cpp; use open_group, open_dataset, open_object or has"


found = list(failures())
for line in found:
    print(line)
print(f"{0 if found else 1} passed, {len(found)} failed")
sys.exit(1 if found else 0)
