# SPDX-License-Identifier: Apache-2.0
"""The directive `states`: a state diagram as SVG, in the colours of the page.

    ```{states} Title
    :enum: path/of/a/header.hpp Name

    enumerator: name of the state
    enumerator -> enumerator: cause
    ```

States are one below the other. With `enum`, they must be exactly the enumerators of that enum, in any order, so a state that is
added to the code and not to the page is an error. Each transition has its data in the attributes data-from, data-to and data-text.
"""
import collections
import html
import pathlib
import re

Transition = collections.namedtuple("Transition", "start end text")
WIDTH, GAP, LINE, CHARACTER, LANE, MARGIN = 150, 40, 18, 6.2, 14, 8


def enumerators(source, name):
    """The enumerators of `enum class name` in the text of a C++ source, in order; None if the enum is missing."""
    found = re.search(rf"\benum class {re.escape(name)}\b[^{{;]*{{(.*?)}}", source, re.S)
    if found is None:
        return None
    body = re.sub(r"//[^\n]*|/\*.*?\*/", "", found[1], flags=re.S)
    return [entry.partition("=")[0].strip() for entry in body.split(",") if entry.strip()]


def parse(lines):
    """({state: label}, [Transition]) of a block. ValueError: one sentence."""
    states, transitions = {}, []
    for line in filter(None, map(str.strip, lines)):
        head, colon, text = (part.strip() for part in line.partition(":"))
        if not colon or not text:
            raise ValueError(f"'{line}' has no text after a colon")
        start, arrow, end = (part.strip() for part in head.partition("->"))
        if not arrow:
            states[head] = text
            continue
        for name in (start, end):
            if name not in states:
                raise ValueError(f"'{line}' names the state '{name}', which is not declared above it")
        transitions.append(Transition(start, end, text))
    return states, transitions


def check_against(states, declared, where):
    """ValueError if the states are not the enumerators."""
    if declared is None:
        raise ValueError(f"{where} does not exist")
    missing, unknown = [d for d in declared if d not in states], [s for s in states if s not in declared]
    if missing or unknown:
        raise ValueError(f"{where} has the enumerators {', '.join(declared)}; the block lacks {', '.join(missing) or 'none'} "
                         f"and adds {', '.join(unknown) or 'none'}")


def words(x, y, text, anchor="start", size=12):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}">{html.escape(text)}</text>'


def head(x, y, dx, dy):
    """An arrow head at a point, for a line in the direction (dx, dy)."""
    side, back = 4, 7
    return f'M{x - back * dx - side * dy:g} {y - back * dy - side * dx:g}L{x:g} {y:g}L{x - back * dx + side * dy:g} {y - back * dy + side * dx:g}'


class Side:
    """The transitions drawn on one side of the column: down on the right (1), up on the left (-1)."""

    def __init__(self, sign, transitions):
        self.sign, self.transitions = sign, transitions
        self.exits = collections.defaultdict(list)
        for t in transitions:
            self.exits[t.start].append(t)
        self.room = max((len(t.text) * CHARACTER + 18 for t in transitions), default=0)
        self.ends, self.lanes = {}, {}

    def place(self, boxes):
        """Heights of both ends of each transition, and a lane for it that no other transition uses between them."""
        for name, leaving in self.exits.items():
            for i, t in enumerate(leaving):
                self.ends[t] = boxes[name][0] + 13 + LINE * (i + 1), boxes[t.end][0] + 9
        used = []
        for t in sorted(self.transitions, key=lambda t: abs(self.ends[t][1] - self.ends[t][0])):
            low, high = sorted(self.ends[t])
            lane = next((i for i, spans in enumerate(used) if all(high < a or b < low for a, b in spans)), len(used))
            used += [[]] if lane == len(used) else []
            used[lane].append((low, high))
            self.lanes[t] = lane
        self.width = self.room + LANE * len(used) + MARGIN


def svg(title, states, transitions):
    names = list(states)
    number = {name: i for i, name in enumerate(names)}
    straight = {t.start: t for t in transitions if number[t.end] == number[t.start] + 1}
    rest = [t for t in transitions if straight.get(t.start) is not t]
    right = Side(1, [t for t in rest if number[t.end] > number[t.start]])
    left = Side(-1, [t for t in rest if number[t.end] <= number[t.start]])
    wide = max(WIDTH, *(len(label) * 1.1 * CHARACTER + 16 for label in states.values()))
    top, boxes = MARGIN, {}
    for name in names:
        boxes[name] = (top, 26 + LINE * max(len(right.exits[name]), len(left.exits[name])))
        top += boxes[name][1] + GAP
    right.place(boxes)
    left.place(boxes)
    beyond = max((len(t.text) * CHARACTER + 10 - wide / 2 for t in straight.values()), default=0) + MARGIN
    middle = left.width + wide / 2
    width, height = middle + wide / 2 + max(right.width, beyond), top - GAP + MARGIN
    out = [f'<svg class="drawing" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
           f'role="img" font-family="sans-serif" fill="currentColor" stroke="none">', f"<title>{html.escape(title)}</title>"]

    def transition(t, path, x, y, anchor):
        out.append(f'<g class="transition" data-from="{html.escape(t.start)}" data-to="{html.escape(t.end)}" data-text="{html.escape(t.text)}">')
        out.append(f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.2"/>')
        out.append(words(x, y, t.text, anchor, 11) + "</g>")

    for name, label in states.items():
        y, tall = boxes[name]
        out.append(f'<g class="state" data-name="{html.escape(name)}"><rect x="{middle - wide / 2:g}" y="{y:g}" width="{wide:g}" '
                   f'height="{tall:g}" rx="6" fill="currentColor" fill-opacity="0.06" stroke="currentColor" stroke-opacity="0.6"/>')
        out.append(words(middle, y + tall / 2 + 4, label, "middle") + "</g>")
    for name, t in straight.items():
        y0, y1 = sum(boxes[name]), boxes[t.end][0]
        transition(t, f"M{middle:g} {y0:g}V{y1:g}{head(middle, y1, 0, 1)}", middle + 8, (y0 + y1) / 2 + 4, "start")
    for side in (right, left):
        edge = middle + side.sign * wide / 2
        for t in side.transitions:
            y0, y1 = side.ends[t]
            x = edge + side.sign * (side.room + LANE * side.lanes[t])
            path = f"M{edge:g} {y0:g}H{x:g}V{y1:g}H{edge:g}{head(edge, y1, -side.sign, 0)}"
            transition(t, path, edge + side.sign * 6, y0 - 4, "start" if side.sign > 0 else "end")
    out.append("</svg>")
    return "\n".join(out) + "\n"


def directive():
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives

    class States(Directive):
        has_content = True
        required_arguments = 1
        final_argument_whitespace = True
        option_spec = {"enum": directives.unchanged_required}

        def run(self):
            env = self.state.document.settings.env
            env.note_dependency(__file__)
            try:
                states, transitions = parse(self.content)
                if "enum" in self.options:
                    header, _, name = self.options["enum"].partition(" ")
                    file = pathlib.Path(env.srcdir).parent / header
                    env.note_dependency(str(file))
                    declared = enumerators(file.read_text(encoding="utf-8"), name) if file.is_file() else None
                    check_against(states, declared, f"enum {name} of {header}")
            except ValueError as e:
                raise self.error(f"state diagram '{self.arguments[0]}': {e}")
            return [nodes.raw("", f'<div class="drawing-frame">{svg(self.arguments[0], states, transitions)}</div>', format="html")]

    return States


def setup(app):
    app.add_directive("states", directive())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
