#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Only open.cpp opens and looks up files, groups, datasets and names, and it follows no link out of the file.

Checks all C++ sources except the tests: no call that resolves a name, a path or a reference outside of open.cpp, and no use
of HDF5 outside of hdf5_schemas/format.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = {"engine": 50, "components": 150, "topologies": 40, "workloads": 100, "hdf5_schemas": 80, "cli": 100, "bench": 3}  # minimum
                                                                                                                             # number
                                                                                                                             # of
                                                                                                                             # sources
SUFFIXES = {".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp"}
# Calls by name, path or reference: HDF5 follows any link in a path. Calls that create links or mount files.
BANNED = re.compile(r"\bH5(?:[DGOT]open|F(?:open|reopen|is_hdf5|is_accessible|mount|unmount)|L(?:exists|get_|visit|iterate|copy|move|create_|register|unpack)"
                    r"|O(?:visit|exists|copy|link|get_info)|[AO]\w*_by_|Aopen_name|G(?:get_\w*(?:_by_|objinfo|linkval|comment)|iterate|link|move|unlink|set_comment)"
                    r"|R(?!create)[a-z]|P[sg]et_(?:virtual|elink|external\b)|DSiterate|LT|TB|IM|PT|LD[a-z])\w*")
ANY = re.compile(r"\bH5[A-Z]{1,2}[a-z]\w*|\bH5::")
INCLUDE = re.compile(r"#\s*include\s*[<\"](?:[^>\"]*/)?(?:hdf5|H5)\w*\.h\w*")
# Sources with banned calls: all of them, or these.
ALLOWED = {"hdf5_schemas/format/src/file/open.cpp": None, "hdf5_schemas/format/src/writing/table.cpp": {"H5Lmove"}}
INCLUDING = "hdf5_schemas/format/src/"  # the only folder that includes HDF5


def uses(text, rule=BANNED):
    """The matches of a rule in a source, without comments."""
    return rule.findall(re.sub(r"//.*", "", text))


def mistakes(name, text):
    """The violations in a source. name: its path in the tree."""
    allowed = ALLOWED.get(name, set())
    for number, line in enumerate(text.splitlines(), 1):
        if not name.startswith(INCLUDING) and uses(line, INCLUDE):
            yield f"{name}:{number}: includes HDF5; use farfault/results/"
        if not name.startswith(INCLUDING):
            for call in uses(line, ANY):
                yield f"{name}:{number}: {call} outside of hdf5_schemas/format; use farfault/results/"
        elif allowed is not None:
            for call in set(uses(line)) - allowed:
                yield f"{name}:{number}: {call} outside of open.cpp; use open_group, open_dataset, open_object or has"


def planted():
    """Sources with one violation each, which the rule must find."""
    for call in ("H5Dopen2(f, p, d)", "H5Gopen2 (f)", "H5Oopen(f)", "H5Oopen_by_addr(f, a)", "H5Topen2(f)", "H5Lexists(f)", "H5Oget_info_by_name2(f)",
                 "H5Aexists_by_name(f)", "H5Aopen_by_name(f)", "H5Aopen_by_idx(f)", "H5Aiterate_by_name(f)", "H5Fopen(f)", "H5Fmount(f)", "H5Freopen(f)",
                 "H5LTread_dataset_int(f)", "H5TBread_table(f)", "H5Giterate(f)", "H5Literate_by_name(f)", "H5Literate2(f)", "H5Lvisit_by_name2(f)",
                 "H5Ovisit3(f)", "H5Ocopy(f)", "H5Olink(f)", "H5Lcopy(f)", "H5Lmove(f)", "H5Lcreate_external(f)", "H5Lcreate_soft(f)", "H5Glink2(f)",
                 "H5Gmove(f)", "H5Gget_objinfo(f)", "H5Gget_linkval(f)", "H5Rdereference2(f)", "H5Ropen_object(f)", "H5Rget_region(f)",
                 "H5Pset_external(p)", "H5Pset_virtual(p)", "H5DSiterate_scales(d)", "auto const f = &H5Dopen2;"):
        yield "hdf5_schemas/format/src/reading/reader.cpp", call
    yield "hdf5_schemas/format/src/writing/table.cpp", "H5Lcopy(f)"
    yield "hdf5_schemas/analysis/include/farfault/analysis/report.hpp", "#include <hdf5.h>"
    for folder in FOLDERS:
        yield f"{folder}/src/planted.cpp", "#include <hdf5.h>"
        yield f"{folder}/src/planted.cpp", '# include "hdf5/serial/hdf5_hl.h"'
        yield f"{folder}/src/planted.cpp", "#include <H5Cpp.h>"
        yield f"{folder}/src/planted.cpp", "H5Dopen2(f, p, d)"
    yield "cli/src/planted.cpp", "H5Dread(d)"
    yield "hdf5_schemas/analysis/src/planted.cpp", "H5Aexists(d, n)"
    yield "cli/src/planted.cpp", "H5::H5File f(name)"


def failures():
    for name, text in planted():
        if not list(mistakes(name, text)):
            yield f"the rule does not find {text} in {name}"
    for name, text in (("hdf5_schemas/format/src/writing/table.cpp", "H5Lmove(g)"), ("hdf5_schemas/format/src/writing/layout.cpp", "H5Rcreate(r)"),
                       ("hdf5_schemas/format/src/reading/walk.cpp", "H5Dread(d); H5Aopen(d, n)  // not H5Dopen2(")):
        yield from mistakes(name, text)
    for folder, least in FOLDERS.items():
        files = sorted(f for f in (ROOT / folder).rglob("*") if f.suffix in SUFFIXES)
        if len(files) < least:
            yield f"{folder} has {len(files)} sources, not at least {least}"
        for file in files:
            yield from mistakes(str(file.relative_to(ROOT)), file.read_text(encoding="utf-8"))


found = list(failures())
for line in found:
    print(line)
print(f"{0 if found else 1} passed, {len(found)} failed")
sys.exit(1 if found else 0)
