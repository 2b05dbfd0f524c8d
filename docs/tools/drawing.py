# SPDX-License-Identifier: Apache-2.0
"""Draws a story as a sequence diagram: SVG in the colours of the page, without scripts or fonts; the directive `drawing` shows it.

Rows are equally spaced, because times differ by orders of magnitude. The time of each row is on the left, from the first one.
Each message and stage has its exact data in attributes data-at, data-from, data-to and data-text.
"""
import html
import pathlib

from docutils import nodes
from docutils.parsers.rst import Directive
from stories import Message

LEFT, ROW, HEAD = 66, 30, 46
WIDTH = 670  # of all columns: a page is 736 wide


def duration(ps):
    """'1.53 us': three digits."""
    for size, unit in ((1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")):
        if ps >= size:
            return f"{ps / size:.3g} {unit}" if ps < 1000 * size else f"{ps / size:.0f} {unit}"
    return f"{ps} ps"


def attributes(**values):
    return "".join(f' data-{name}="{html.escape(str(value))}"' for name, value in values.items())


def text(x, y, words, anchor="start", size=12):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}">{html.escape(words)}</text>'


def arrow(x0, x1, y):
    tip = -7 if x1 > x0 else 7
    return (f'<line x1="{x0:g}" y1="{y:g}" x2="{x1:g}" y2="{y:g}"/>'
            f'<path d="M{x1 + tip:g} {y - 4:g}L{x1:g} {y:g}L{x1 + tip:g} {y + 4:g}" fill="none"/>')


def svg(story):
    column = min(150, WIDTH // len(story.actors))
    place = {actor: LEFT + column * (i + 0.5) for i, actor in enumerate(story.actors)}
    width, height = LEFT + column * len(story.actors) + 20, HEAD + ROW * (len(story.steps) + 1)
    start = min(s.at if isinstance(s, Message) else s.begin for s in story.steps)
    out = [f'<svg class="drawing" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
           f'role="img" font-family="sans-serif" fill="currentColor" stroke="none">', f"<title>{html.escape(story.title)}</title>"]
    for actor, x in place.items():
        out.append(text(x, 18, actor, "middle", 13))
        out.append(f'<line x1="{x:g}" y1="26" x2="{x:g}" y2="{height - 8:g}" stroke="currentColor" stroke-opacity="0.35"/>')
    for i, step in enumerate(story.steps):
        y = HEAD + ROW * i + 10
        if isinstance(step, Message):
            x0, x1 = place[step.sender], place[step.receiver]
            out.append(f'<g class="message"{attributes(at=step.at, **{"from": step.sender}, to=step.receiver, text=step.text)}>')
            out.append(text(LEFT - 10, y + 4, duration(step.at - start), "end", 11))
            out.append(f'<g stroke="currentColor" stroke-width="1.3">{arrow(x0, x1, y)}</g>')
            out.append(text((x0 + x1) / 2, y - 5, step.text, "middle", 11))
        else:
            x = place[step.actor]
            out.append(f'<g class="stage"{attributes(at=step.begin, end=step.end, on=step.actor, text=step.text)}>')
            out.append(f'<rect x="{x - 4:g}" y="{y - 11:g}" width="8" height="22" fill="currentColor" fill-opacity="0.55"/>')
            is_last = step.actor == story.actors[-1]  # no room on the right of the last column
            out.append(text(x + (-9 if is_last else 9), y + 4, f"{step.text} {duration(step.end - step.begin)}", "end" if is_last else "start", 11))
        out.append("</g>")
    out.append("</svg>")
    return "\n".join(out) + "\n"


class Drawing(Directive):
    """```{drawing} NAME```: the drawing drawings/NAME.svg next to the pages' folder."""

    required_arguments = 1

    def run(self):
        env = self.state.document.settings.env
        file = pathlib.Path(env.srcdir).parent / "drawings" / (self.arguments[0] + ".svg")
        if not file.is_file():
            known = sorted(f.stem for f in file.parent.glob("*.svg"))
            raise self.error(f"unknown drawing {self.arguments[0]!r}; docs/tools/stories.py has: {', '.join(known)}")
        env.note_dependency(str(file))
        return [nodes.raw("", f'<div class="drawing-frame">{file.read_text(encoding="utf-8")}</div>', format="html")]


def setup(app):
    app.add_directive("drawing", Drawing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
