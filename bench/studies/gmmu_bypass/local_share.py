# SPDX-License-Identifier: Apache-2.0
"""Tests if the local share of walks separates the workloads for which the paper has centralized ahead from the ones with distributed ahead."""
from figures import PAPER, percent
from study import WORKLOADS


def shares(runs):
    """{workload: local share of distributed's walks} from {workload: {design: measures}}."""
    found = {w: (d.get("distributed") or {}).get("local_walks") for w, d in runs.items()}
    return {w: v for w, v in found.items() if v is not None}


def apart(found):
    """(largest share of distributed's losers, smallest share of its winners), or None if a group is missing."""
    losers = [found[w] for w in PAPER["centralized_wins"] if w in found]
    winners = [found[w] for w in PAPER["distributed_wins"] if w in found]
    return (max(losers), min(winners)) if losers and winners else None


def sentence(found, where):
    groups = apart(found)
    if not groups:
        return ""
    high, low = groups
    groups = "RL, FIR and MP (distributed behind in the paper)", "MT, FFT, KM and ST (distributed ahead)"
    if high < low:
        return (f"With {where}, the local share of distributed's walks separates the paper's groups: at most {percent(high)} for {groups[0]} "
                f"and at least {percent(low)} for {groups[1]}.")
    return (f"With {where}, the local share of distributed's walks does not separate the paper's groups: up to {percent(high)} for "
            f"{groups[0]} and down to {percent(low)} for {groups[1]}.")


def section(results, footprint, found):
    """Section of results.md. `found`: the readings, or None."""
    columns = {f"{p}, {footprint}": shares(runs) for p, runs in results.items() if p in ("recorded", "first_touch")}
    if found:
        for words in ("preset", "contiguous blocks"):
            columns[f"first_touch, readings, {words}"] = shares(found.measured.get((words, "first_touch"), {}))
    columns = {name: share for name, share in columns.items() if share}
    if not columns:
        return []
    side = {w: "centralized" for w in PAPER["centralized_wins"]} | {w: "distributed" for w in PAPER["distributed_wins"]}
    lines = ["", "## Local share of distributed's walks", "",
             "GMMU walks for remote pages fail, so distributed should be behind centralized if few walks are local. The paper does not state "
             "local shares.", "",
             "| | ahead in the paper | " + " | ".join(columns) + " |",
             "| --- | --- |" + " ---: |" * len(columns)]
    for w in WORKLOADS:
        if any(w in share for share in columns.values()):
            cells = [percent(share[w]) if w in share else "-" for share in columns.values()]
            lines.append(f"| {WORKLOADS[w]} | {side.get(w, '-')} | " + " | ".join(cells) + " |")
    said = [sentence(share, f"`{name}`") for name, share in columns.items()]
    return lines + ["", " ".join(s for s in said if s)]
