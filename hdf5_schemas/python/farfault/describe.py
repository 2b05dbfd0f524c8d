# SPDX-License-Identifier: Apache-2.0
"""Short text representations of a run and a sweep, for notebooks and prompts."""
import textwrap
from collections import Counter

from .errors import NAMES, in_one_line, some_of
from .units import time_text


def describe(run):
    nodes = Counter(run.machine.nodes["kind"])
    engine = run.engine
    lines = [("machine", some_of(f"{n} {kind}" for kind, n in sorted(nodes.items()))),
             ("workload", some_of(_workloads(run.config))),
             ("made by", in_one_line(f"farfault {run.version}, commit {engine.get('commit')}, on {engine.get('host')}")),
             *_ranks(engine),
             ("timeseries", some_of(run.kinds)), ("tables", some_of(run.tables)), ("summary", some_of(run.scopes))]
    return _paragraph(f"<farfault.Run {run.path}: {_state(run)}>", lines)


def _ranks(engine):
    """Events per exchange and wait share of a run with several MPI ranks."""
    events, waited = engine.get("events_per_exchange"), engine.get("rank_wait_share")
    if not (isinstance(events, float) and isinstance(waited, float)):
        return []
    return [("ranks", in_one_line(f"{engine.get('ranks')}, {events:.1f} events per exchange, {waited:.1%} of the time waiting"))]


def describe_sweep(sweep):
    table = sweep.table([])
    states = Counter(table["state"])
    lines = [(in_one_line(p), some_of(dict.fromkeys(table[p]))) for p in sweep.parameters[:NAMES]]
    if len(sweep.parameters) > NAMES:
        lines.append(("...", f"{len(sweep.parameters)} parameters in all"))
    if sweep.baseline:
        lines.append(("baseline", in_one_line(sweep.baseline)))
    runs = some_of(f"{n} {state}" for state, n in sorted(states.items()))
    return _paragraph(f"<farfault.Sweep {sweep.path}: {len(table)} runs ({runs}), {len(sweep.figures)} figures>", lines)


def _state(run):
    if run.finished:
        end = run.figures(["end"]).get("end")
        return in_one_line(run.end_reason + ("" if end is None else f" after {time_text(end)}") + f", digest {run.digest}")
    if run.end_reason == "running":
        return "the run is in progress or was killed; data up to its last flush"
    return f"the run was stopped early ({in_one_line(run.end_reason)})"


def _workloads(config):
    applications = config.get("application", [])
    if isinstance(applications, dict):
        applications = list(applications.values())
    names = [a.get("workload", a.get("name", "?")) for a in applications]
    return names or [config.get("workload", {}).get("name", "?")]


def _paragraph(heading, lines):
    width = 2 + max((len(name) for name, _ in lines), default=0)
    return "\n".join([heading, *(textwrap.fill(text or "none", 110, initial_indent=f"  {name:<{width}}",
                                               subsequent_indent=" " * (width + 4)) for name, text in lines)])
