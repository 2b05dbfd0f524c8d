#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The handbook's sequence diagrams have exactly the messages of the trace and the tables that they are drawn from, in order.

drawings_test.py BUILD_FOLDER/anything. The trace is read here without the generator's code.
"""
import importlib.util
import pathlib
import sys
import xml.etree.ElementTree as tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "docs/tools")]
import checks
from checks import check

for module, package in (("h5py", "python3-h5py"), ("docutils", "python3-sphinx")):
    if importlib.util.find_spec(module) is None:
        print(f"skipped: {package} is missing")
        sys.exit(77)
import drawing
import program
import stories

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/x").resolve().parent


def drawn(svg, kind):
    """The attributes of the drawing's messages or stages, and where they are drawn."""
    found = []
    for group in tree.fromstring(svg).iter("{http://www.w3.org/2000/svg}g"):
        if group.get("class") == kind:
            line = next(group.iter("{http://www.w3.org/2000/svg}" + ("line" if kind == "message" else "rect")))
            found.append((group.attrib, {k: float(v) for k, v in line.attrib.items() if k in ("x1", "x2", "y1", "x", "y")}))
    return found


def access_in_trace(trace, sm, begin, first_stage):
    """The slices of the access at an SM whose first stage begins at a time: whole, and stages in order."""
    numbers = [s.args["access"] for s in trace.slices
               if "address" in s.args and s.ts == begin and trace.component(s.track) == sm]
    for number in numbers:
        own = [s for s in trace.slices if s.args.get("access") == number]
        whole = next(s for s in own if "address" in s.args)
        stages = sorted((s for s in own if "address" not in s.args), key=lambda s: s.ts)
        if stages[0].name == first_stage:
            yield whole, stages


def handovers(trace, whole, stages):
    """(time, from, to) of each change of the component, and of the response at the end."""
    places = [trace.component(s.track) for s in stages]
    found = [(s.ts, a, b) for s, a, b in zip(stages[1:], places, places[1:]) if a != b]
    sm = trace.component(whole.track)
    return found + ([(whole.ts + whole.dur, places[-1], sm)] if places[-1] != sm else [])


def is_access_of(svg, trace):
    """True if an access of the trace has exactly the drawing's stages and messages."""
    parts = [(int(a["data-at"]), int(a["data-end"]), a["data-on"], a["data-text"]) for a, _ in drawn(svg, "stage")]
    messages = [(int(a["data-at"]), a["data-from"], a["data-to"]) for a, _ in drawn(svg, "message")]
    return any([(s.ts, s.ts + s.dur, trace.component(s.track), s.name) for s in stages] == parts and handovers(trace, whole, stages) == messages
               for whole, stages in access_in_trace(trace, parts[0][2], parts[0][0], parts[0][3]))


def is_batch_of(svg, recorded):
    """True if a batch of the result has exactly the drawing's messages."""
    messages = [(int(a["data-at"]), a["data-from"], a["data-to"], a["data-text"]) for a, _ in drawn(svg, "message")]
    ended = sorted(s.ts + s.dur for s in recorded.trace.slices if s.name == "fault" and "access" in s.args and "address" not in s.args)
    for batch in recorded.tables["fault_batches"]:
        gpu = batch["gpu"]
        own = [m for m in recorded.tables["migrations"] if batch["began"] <= m["started"] and m["finished"] <= batch["ended"]]
        arrivals = sorted(m["finished"] for m in recorded.tables["migrations"] if m["to"] == gpu)
        wanted = {(batch["first_fault"], f"{gpu} SMs", f"{gpu}.gmmu", "first page fault")}
        for m in own:
            pages = sum(o["started"] == m["started"] and o["from"] == m["from"] for o in own)
            plural = "s" if pages > 1 else ""
            wanted |= {(m["started"], "driver", m["from"], f"unmap {pages} page{plural}"),
                       (m["unmapped"], m["from"], "driver", f"unmapped {pages} page{plural}"),
                       (m["finished"], m["from"], m["to"], f"page {m['page']:#x} " + ("copied" if m["to"] == gpu else "evicted"))}
            if m["to"] == gpu:
                later = [t for t in arrivals if t > m["finished"]]
                resumed = [t for t in ended if m["finished"] <= t and (not later or t < later[0])]
                if resumed:
                    wanted.add((resumed[0], f"{gpu}.gmmu", f"{gpu} SMs", f"{len(resumed)} accesses resumed"))
        duplicates = f"{batch['duplicates']} duplicate" + ("" if batch["duplicates"] == 1 else "s")
        wanted.add((batch["began"], f"{gpu}.gmmu", "driver", f"{batch['raw_faults']} faults read, {duplicates}"))
        if set(messages) == wanted and len(messages) == len(wanted) and [m[0] for m in messages] == sorted(m[0] for m in messages):
            return True
    return False


def rows_are_in_order(svg):
    rows = sorted(((place.get("y1", place.get("y")), int(a["data-at"] if "data-from" in a else a["data-end"]))
                   for kind in ("message", "stage") for a, place in drawn(svg, kind)))
    return [at for _, at in rows] == sorted(at for _, at in rows)


def arrows_join_their_lifelines(svg):
    at = {}
    for a, place in drawn(svg, "message"):
        for actor, x in ((a["data-from"], place["x1"]), (a["data-to"], place["x2"])):
            if at.setdefault(actor, x) != x:
                return False
    return len(set(at.values())) == len(at)


def changed(story):
    """The story with one message less, at another time, to another component, and with two messages exchanged."""
    where = [i for i, s in enumerate(story.steps) if isinstance(s, stories.Message)]
    i, j = where[0], where[1]
    yield story._replace(steps=story.steps[:i] + story.steps[i + 1:])
    for other in (story.steps[i]._replace(at=story.steps[i].at + 1), story.steps[i]._replace(receiver=story.steps[i].sender)):
        yield story._replace(steps=story.steps[:i] + [other] + story.steps[i + 1:])
    swapped = list(story.steps)
    swapped[i], swapped[j] = swapped[j], swapped[i]
    yield story._replace(steps=swapped)


def main():
    asked = program.Program(BUILD / "farfault")
    runs = {name: stories.Recorded(asked, words) for name, words in stories.RUNS.items()}
    found = stories.stories_of(runs)
    check(set(found) == {"l1_tlb_hit", "page_walk", "far_fault", "batch", "eviction"}, f"an access of each kind is drawn: {set(found)}")
    for name, (run, story) in found.items():
        holds = (lambda svg: is_batch_of(svg, runs[run])) if name in ("batch", "eviction") else (lambda svg: is_access_of(svg, runs[run].trace))
        svg = drawing.svg(story)
        check(holds(svg), f"{name}: the drawing has exactly the messages of the trace, in order")
        check(rows_are_in_order(svg), f"{name}: rows are in the order of time")
        check(arrows_join_their_lifelines(svg), f"{name}: each component has one lifeline, and arrows join them")
        for number, other in enumerate(changed(story)):
            check(not holds(drawing.svg(other)), f"{name}: change {number} of the drawing is found")
    kinds = {name: [a["data-text"] for a, _ in drawn(drawing.svg(story), "stage")] for name, (_, story) in found.items()}
    check("walk" not in kinds["l1_tlb_hit"] and "walk" in kinds["page_walk"] and "fault" in kinds["far_fault"] and "fault" not in kinds["page_walk"],
          f"each access has the stages that its name states: {kinds}")
    check("evicted" in drawing.svg(found["eviction"][1]) and "evicted" not in drawing.svg(found["batch"][1]), "only the eviction evicts")
    print(checks.counts())
    return 0 if checks.counts().endswith(" 0 failed") else 1


if __name__ == "__main__":
    sys.exit(main())
