#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Aggregates of more than four values name their members.

Usage: aggregates_test.py ANYTHING. In the C++ sources of the program, of the benchmarks and of the tests, a list in braces with more
than four values names them (`.member = value`). Exceptions: enumerators; arrays, vectors, sets, aliases of these, and arguments of
functions and constructors for a parameter that is a list of equal values; aggregates with a base class, whose initializer has no name;
and rows of tables, which begin with a string, or, within a list of rows, with a key and a string: parameters, statistics, columns, rules.
"""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import checks
from checks import check

TREES = ("bench", "cli", "components", "engine", "hdf5_schemas", "tests", "topologies", "workloads")
MOST = 4
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|\d[\w\'.]*|::|->'
                   r'|[-+*/%&|^!<>=]=|<<|&&|\|\||\S', re.S)
WORD = re.compile(r"[A-Za-z_]")
# Words of a declaration before a list of equal values, or before code.
NO_AGGREGATE = {"enum", "namespace", "class", "struct"}
# Functions and statements that take a list of equal values.
TAKE_LISTS = {"array", "for", "max", "min", "to_array"}
LISTS = {"array", "initializer_list", "set", "span", "vector"}
CONSTRUCTED = {"boost"}  # namespaces of classes whose constructors are called with lists
ALIAS = re.compile(r"using (\w+) = std::(array|vector)<[^;]*>;")
DERIVED = re.compile(r"struct (\w+)(?: final)? : \w")
STRUCT = re.compile(r"struct (?:alignas\(\w+\) )?(\w+)(?: final)?(?: :| \{)")
INCLUDE = re.compile(r'#include "(?:.*/)?(\w+\.hpp)"')
VARIABLE = re.compile(r"(?<=[(\s])(?:\w+::)*(\w+)(?:<[^(){};]*?>)?(?: const)?&{0,2}\s(\w+)(?=[,);]| =)")
COMMENT = re.compile(r"//[^\n]*")
FUNCTION = re.compile(r"(\w+)(?: = \[[^\]]*\])?$")  # and a lambda with a name


def declaration(tokens, at):
    """The words before token `at`, from the beginning of its statement or list on."""
    words = set()
    while at > 0 and tokens[at - 1][0] not in (";", "{", "}"):
        at -= 1
        words.add(tokens[at][0])
    return words


def type_before(tokens, at):
    """The type, without its arguments, of the value that begins at token `at`: of `T<...>{`, `T const& name = {` and `T name(`."""
    at -= 2 if tokens[at - 1][0] == "=" else 1
    if WORD.match(tokens[at][0]) and (WORD.match(tokens[at - 1][0]) or tokens[at - 1][0] in {"&", ">"}):
        at -= 1
        while tokens[at][0] in {"const", "&"}:
            at -= 1
    depth = 0
    while at > 0 and (depth := depth + (tokens[at][0] == ">") - (tokens[at][0] == "<")) > 0:
        at -= 1
    return tokens[at - (tokens[at][0] == "<")][0] if at > 0 else ""


def names_of(text):
    """The names that `text` declares: of arrays and vectors, as (name, kind); of structs; of variables and parameters, as (name, index,
    type). A parameter has the name of its function or class, and its index; a variable has no index."""
    text = COMMENT.sub("", text)
    variables = set()
    for variable in VARIABLE.finditer(text):
        depth = index = 0
        for at in range(variable.start() - 1, -1, -1):
            c = text[at]
            if c in "({[<;" and depth == 0:
                name = FUNCTION.search(text, max(0, at - 100), at) if c == "(" else None
                if name:
                    variables.add((name.group(1), index, variable.group(1)))
                elif c in "{;":
                    variables.add((variable.group(2), None, variable.group(1)))
                break
            depth += (c in ")}]>") - (c in "({[<")
            index += c == "," and depth == 0
    return set(ALIAS.findall(text)), set(STRUCT.findall(text)), variables


def included(path, files, by_name, seen):
    """Adds the headers that the file includes to `seen`, with the headers that they include."""
    for name in INCLUDE.findall(files[path]):
        for header in by_name.get(name, ()):
            if header not in seen:
                seen.add(header)
                included(header, files, by_name, seen)
    return seen


def positional(text, headers=()):
    """(line, first word, number of values) of each list of more than MOST values that names no members. `headers`: the names that
    each included header declares."""
    tokens = [(m.group(), m.start()) for m in TOKEN.finditer(text) if not m.group().startswith(("//", "/*"))]
    lists, structs, variables = (set().union(*names) for names in zip(*headers, names_of(text)))
    arrays = {name for name, of in lists if of == "array"} - structs | {"array"}
    lists = {name for name, _ in lists} - structs | LISTS
    takers = {(name, index) for name, index, of in variables if of in lists} - {
        (name, index) for name, index, of in variables if of in structs}
    derived = set(DERIVED.findall(text))
    open_, found = [], []
    for i, (token, at) in enumerate(tokens):
        before = tokens[i - 1][0] if i else ""
        if token in ("(", "[", "{"):
            calls = open_[-1]["callees"] if open_ and open_[-1]["token"] == "(" else ()
            first, second, third = ([t for t, _ in tokens[i + 1:i + 4]] + [""] * 3)[:3]
            exempt = token == "{" and (TAKE_LISTS & set(calls) or before in {")", "const", "override"} | lists or
                                       before == "=" and (tokens[i - 2][0], None) in takers or
                                       before in "(," and any((name, open_[-1]["commas"]) in takers for name in calls) or
                                       declaration(tokens, i) & NO_AGGREGATE or type_before(tokens, i) in lists or
                                       [t for t, _ in tokens[max(0, i - 3):i]] == ["[", "]", "="] or  # T name[] = {...}
                                       before in derived and (first, second) == ("{", "}"))
            if token == "{" and before in ("{", ",") and open_:
                open_[-1]["lists"] += 1
                open_[-1]["exempt"] = open_[-1]["exempt"] or first[0] == '"'  # a list of rows
                if before == "{":  # std::array<T, n>{{...}}
                    exempt = exempt or type_before(tokens, i - 1) in arrays
                exempt = exempt or open_[-1]["token"] == "{" and (second, third[:1]) == (",", '"')  # a row: a key and a string
            open_.append({"token": token, "at": at, "commas": 0, "lists": 0, "first": first, "callees": (before, type_before(tokens, i)),
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
    ("using Rows = std::vector<Row>; Rows const rows{{a, b, c, d, e}}; f(Rows{{a, b, c, d, e}});", True),
    ("using Steps = std::array<Step, 8>; f(Steps{{a, b, c, d, e}});", False),
    ("auto const x = std::min({a, b, c, d, e});", False),
    ("rows.push_back(Json::array({a, b, c, d, e}));", False),
    ("auto const all = std::to_array<int>({a, b, c, d, e});", False),
    ("auto const all = std::make_pair<Row>({a, b, c, d, e}, f);", True),
    ("VirtAddr const base[] = {a, b, c, d, e};", False),
    ("PageMove const moves[] = {{a, b, c, d, e}};", True),
    ('struct Table { explicit Table(std::vector<Text> cells); }; Table table({a, "b", "c", "d", "e"});', False),
    ('struct Table { explicit Table(Text cell); }; Table table({a, "b", "c", "d", "e"});', True),
    ("int sum(int first, std::vector<int> const& all, Row row); sum(a, {a, b, c, d, e}, r);", False),
    ("int sum(int first, std::vector<int> const& all, Row row); sum(a, all, {a, b, c, d, e});", True),
    ("struct Row { std::vector<int> all; Row next; }; Row const row{.all = {a, b, c, d, e}, .next = r};", False),
    ("struct Row { std::vector<int> all; Row next; }; Row const row{.all = all, .next = {a, b, c, d, e}};", True),
    ("struct Row { int a; }; void add(Row row); void add(std::vector<int> cells); add({a, b, c, d, e});", True),
    ("auto const sum = [&](std::initializer_list<int> all, int n) { return n; }; sum({a, b, c, d, e}, f);", False),
    ("using Steps = std::vector<int>; int sum(Steps const& all); Steps const x{a, b, c, d, e}; sum({a, b, c, d, e});", False),
    ("using Steps = std::vector<int>; struct Steps { int a, b, c, d, e; }; Steps const x{a, b, c, d, e};", True),
    ("CHECK(all == std::set<std::pair<int, int>>{a, b, c, d, e});", False),
    ("CHECK(all == Pair<std::vector<int>, int>{a, b, c, d, e});", True),
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
    by_name, names = {}, {}
    for path in files:
        if path.endswith(".hpp"):
            by_name.setdefault(path.rsplit("/", 1)[1], []).append(path)
            names[path] = names_of(files[path])
    found = [f"{path}:{line}: a list of {values} values, from '{first}' on, names no members" for path, text in files.items()
             for line, first, values in positional(text, [names[header] for header in included(path, files, by_name, set())])]
    check(not found, "\n".join(found))
    for text, is_fault in PLANTED:
        check(bool(positional(text)) == is_fault, f"'{text}' is {'not found' if is_fault else 'refused'}")
    print(checks.counts())
    return 1 if checks.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
