#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Aggregates of more than four values name their members.

Usage: aggregates_test.py ANYTHING. In the C++ sources of the program and of the benchmarks, a list in braces with more than four values
names them (`.member = value`). Exceptions: enumerators; arrays, vectors, aliases of these, and arguments of functions and constructors
that take a list of equal values; aggregates with a base class, whose initializer has no name; and rows of tables, which begin with a
string, or, within a list of rows, with a key and a string: parameters, statistics, columns, rules.
"""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import checks
from checks import check

TREES = ("bench", "cli", "components", "engine", "hdf5_schemas", "topologies", "workloads")
MOST = 4
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|\d[\w\'.]*|::|->'
                   r'|[-+*/%&|^!<>=]=|<<|&&|\|\||\S', re.S)
# Words of a declaration before a list of equal values, or before code.
NO_AGGREGATE = {"array", "to_array", "vector", "enum", "namespace", "class", "struct"}
# Functions and statements that take a list of equal values, or of the cells of a row.
TAKE_LISTS = {"for", "min", "max", "add", "insert", "report", "exclude_unused"}
# Classes with a constructor that takes a list of equal values.
BUILT_FROM_LISTS = {"HtmlTable"}
CONSTRUCTED = {"boost"}  # namespaces of classes whose constructors are called with lists
ALIAS = re.compile(r"using (\w+) = std::(?:array|vector)<[^;]*>;")
DERIVED = re.compile(r"struct (\w+)(?: final)? : \w")


def declaration(tokens, at):
    """The words before token `at`, from the beginning of its statement or list on."""
    words = set()
    while at > 0 and tokens[at - 1][0] not in (";", "{", "}"):
        at -= 1
        words.add(tokens[at][0])
    return words


def positional(text, lists):
    """(line, first word, number of values) of each list of more than MOST values that names no members. `lists`: names of array types
    in headers."""
    tokens = [(m.group(), m.start()) for m in TOKEN.finditer(text) if not m.group().startswith(("//", "/*"))]
    lists = lists | set(ALIAS.findall(text))
    derived = set(DERIVED.findall(text))
    open_, found = [], []
    for i, (token, at) in enumerate(tokens):
        before = tokens[i - 1][0] if i else ""
        if token in ("(", "[", "{"):
            call = open_[-1]["callee"] if open_ and open_[-1]["token"] == "(" else ""
            first, second, third = ([t for t, _ in tokens[i + 1:i + 4]] + [""] * 3)[:3]
            exempt = token == "{" and (call in TAKE_LISTS or before in {")", "const", "override"} | lists or
                                       declaration(tokens, i) & NO_AGGREGATE or
                                       before == "(" and tokens[i - 3][0] in BUILT_FROM_LISTS or
                                       [t for t, _ in tokens[max(0, i - 3):i]] == ["[", "]", "="] or  # T name[] = {...}
                                       before in derived and (first, second) == ("{", "}"))
            if token == "{" and before in ("{", ",") and open_:
                open_[-1]["lists"] += 1
                open_[-1]["exempt"] = open_[-1]["exempt"] or first[0] == '"'  # a list of rows
                if before == "{":  # std::array<T, n>{{...}}
                    exempt = exempt or tokens[i - 2][0] in lists or "array" in declaration(tokens, i - 1)
                exempt = exempt or open_[-1]["token"] == "{" and (second, third[:1]) == (",", '"')  # a row: a key and a string
            open_.append({"token": token, "at": at, "commas": 0, "lists": 0, "first": first, "callee": before,
                          "exempt": exempt or first[0] == '"' or first in CONSTRUCTED})
        elif token in (")", "]", "}") and open_:
            level = open_.pop()
            values = level["commas"] + (before not in (",", "{"))
            if level["token"] == "{" and not level["exempt"] and values > MOST and level["lists"] < values:
                found.append((text.count("\n", 0, level["at"]) + 1, level["first"], values))
        elif open_ and token == ",":
            open_[-1]["commas"] += 1
        elif open_ and (token == ";" or token == "." and before in ("{", ",")):
            open_[-1]["exempt"] = True
    return found


# Lists of five values: the text, and whether it is a fault.
PLANTED = [
    ("cx.send(move, i, PageMove{page, frame, number, step, size}, ready);", True),
    ("s.moves[n] = {m, from, to, cx.now(), Time{}};", True),
    ("S f() { return {a, f(b, c), d, e, g}; }", True),
    ("s.records.push_back({a, b, c, d, e});", True),
    ("work.push({{a, b}, c, d, e, f});", True),
    ("Message const m{a, {b, c}, d, e, f,};", True),
    ("// PageMove{a, b, c, d, e}\nPageMove{a, {b, c, f, g}, d, e};", False),
    ("PageMove{.page = a, .frame = b, .move = c, .step = d, .size = e};", False),
    ('rows = {{"page", "index", "Page", ColumnType::u64, 0}, {"at", "ps", "Time", ColumnType::u64, 0}};', False),
    ("enum class Kind : std::uint8_t { a, b, c, d, e };", False),
    ("std::vector<Cell> cells{a, b, c, d, e};", False),
    ("using Steps = std::array<Step, 8>; Row const row{.name = a, .steps = Steps{a, b, c, d, e}};", False),
    ("Row const row{.name = a, .steps = Steps{a, b, c, d, e}};", True),
    ("using Place = std::vector<Step>::const_iterator; f(Place{a, b, c, d, e});", True),
    ("for (auto x : {a, b, c, d, e}) f(x);", False),
    ("for (auto x : all) f({a, b, c, d, x});", True),
    ("std::array<Cell, 5> const cells{{a, b, c, d, e}};", False),
    ("std::vector<Row> const rows{{a, b, c, d, e}};", True),
    ("auto const x = std::min({a, b, c, d, e});", False),
    ("VirtAddr const base[] = {a, b, c, d, e};", False),
    ("PageMove const moves[] = {{a, b, c, d, e}};", True),
    ('HtmlTable table({a, "b", "c", "d", "e"});', False),
    ('Cell cell({a, "b", "c", "d", "e"});', True),
    ("struct Next : Visit { int b, c, d, e; }; visit(Next{{}, b, c, d, e});", False),
    ("struct Next { int a, b, c, d, e; }; visit(Next{{}, b, c, d, e});", True),
    ("struct Next : Visit { Next(int, int, int, int, int); }; visit(Next{a, b, c, d, e});", True),
    ('std::array<Row, 2> const rows{{{a, "b", c, d, e}, {b, "c", d, e, f}}};', False),
    ('rows.push_back({a, "b", c, d, e});', True),
    ("std::array<Row, 2> const rows{{{a, b, c, d, e}, {b, c, d, e, f}}};", True),
    ("void f(int a, int b) const { g(a, b), g(b, a), g(a, a), g(b, b), g(a, b); }", False),
]


def main():
    files = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for tree in TREES for file in sorted((ROOT / tree).rglob("*"))
             if file.suffix in (".cpp", ".hpp")}
    check(len(files) > 200, f"only {len(files)} sources are found")
    lists = {name for path, text in files.items() if path.endswith(".hpp") for name in ALIAS.findall(text)}
    found = [f"{path}:{line}: a list of {values} values, from '{first}' on, names no members" for path, text in files.items()
             for line, first, values in positional(text, lists)]
    check(not found, "\n".join(found))
    for text, is_fault in PLANTED:
        check(bool(positional(text, set())) == is_fault, f"'{text}' is {'not found' if is_fault else 'refused'}")
    print(checks.counts())
    return 1 if checks.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
