#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""State diagrams of the handbook (docs/tools/states.py).

Usage: states_test.py ANYTHING. Their states are the enumerators of the named enums, and each transition is drawn once.
"""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs/tools"), str(ROOT / "tests/support")]
import checks
import states
from checks import check

BLOCK = re.compile(r"^```\{states\} (.*?)\n(.*?)^```", re.S | re.M)
ENUM = "enum class Phase : int {\n  idle,  // no work, not read\n  busy = 4,\n  /* at the end, */ done\n};\nenum class Other { x };\n"


def refusal(call, *arguments):
    try:
        call(*arguments)
    except ValueError as e:
        return str(e)
    return ""


def drawn(picture):
    return re.findall(r'data-from="(\w+)" data-to="(\w+)" data-text="([^"]*)"', picture)


check(states.enumerators(ENUM, "Phase") == ["idle", "busy", "done"], "the enumerators of an enum are read without comments and values")
check(states.enumerators(ENUM, "Missing") is None, "an enum that does not exist has no enumerators")
check(refusal(states.check_against, {"idle": "Idle", "gone": "Gone"}, ["idle", "busy"], "enum Phase of a.hpp")
      == "enum Phase of a.hpp has the enumerators idle, busy; the block lacks busy and adds gone",
      "states that are not the enumerators are refused with both lists")
check(refusal(states.parse, ["idle: Idle", "idle -> busy: work arrives"])
      == "'idle -> busy: work arrives' names the state 'busy', which is not declared above it", "a transition to an undeclared state is refused")
check(refusal(states.parse, ["idle"]) == "'idle' has no text after a colon", "a state without a label is refused")

LINES = ["a: A", "b: B", "c: C", "a -> b: next", "a -> c: past b", "c -> a: back & up", "c -> b: back"]
picture = states.svg("Title", *states.parse(LINES))
check(sorted(drawn(picture)) == [("a", "b", "next"), ("a", "c", "past b"), ("c", "a", "back &amp; up"), ("c", "b", "back")],
      "each transition is drawn once, and its text is escaped")
check(re.findall(r'class="state" data-name="(\w+)"', picture) == ["a", "b", "c"], "states are drawn in the order of the block")
lanes = re.findall(r"M[-\d.]+ ([\d.]+)H([-\d.]+)V([\d.]+)H", states.svg("Title", *states.parse(
    ["a: A", "b: B", "c: C", "b -> b: again", "b -> a: up", "c -> b: up"])))
spans = [(x, *sorted((float(y), float(end)))) for y, x, end in lanes]
check(len(spans) == 3 and all(p[0] != q[0] or p[2] < q[1] or q[2] < p[1] for i, p in enumerate(spans) for q in spans[:i]),
      "no two transitions share a part of a line")
edges = [float(x) for x in re.findall(r"[MH](-?[\d.]+)", picture)]
width = float(re.search(r'width="([\d.]+)" height', picture)[1])
check(0 <= min(edges) and max(edges) <= width, "lines stay within the drawing")

wrong, diagrams = [], 0
for page in sorted((ROOT / "docs").rglob("*.md")):
    for title, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        diagrams += 1
        option, _, content = body.partition("\n\n") if body.startswith(":") else ("", "", body)
        known, _ = states.parse(content.splitlines())
        if option:
            header, name = option.removeprefix(":enum:").split()
            text = (ROOT / header).read_text(encoding="utf-8") if (ROOT / header).is_file() else ""
            found = refusal(states.check_against, known, states.enumerators(text, name), f"enum {name} of {header}")
            wrong += [f"{page.relative_to(ROOT)}: '{title}': {found}"] if found else []
print("\n".join(wrong), end="\n" if wrong else "")
check(not wrong and diagrams > 0, "the states of each diagram are the enumerators of its enum")
print(checks.counts())
sys.exit(checks.failed() != 0)
