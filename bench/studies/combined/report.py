# SPDX-License-Identifier: Apache-2.0
"""results.md, its plot, and results.json.xz with every counter of every cell."""
import math

import plot
import records
from configuration import toml_of
from interactions import SMALL, Grid, performance, says, spread
from plot import factor
from provenance import sentence
from study import FOLDER, MECHANISMS, NAMES, PRESET, words_of
from tables import percent, show, table

# Columns of the tables of cells: heading, counter, format. results.json.xz has all counters.
COUNTERS = [
    ("L2 TLB hits", "l2_tlb_hit", percent), ("walks, k", "gmmu_walks", None), ("at the IOMMU, k", "iommu_walks", None),
    ("in translation", "in_translation", percent), ("in faults", "in_faults", percent), ("on links", "in_links", percent),
    ("remote accesses", "remote", percent), ("batches", "batches", int), ("pages moved, k", "moved", None), ("evicted, k", "evicted", None),
    ("came again, k", "came_again", None), ("coalesced", "coalesced", int), ("splintered", "splintered", int), ("blocks gave way", "gave_way", int),
]


def gpus_words(n):
    return f"{n} GPU{'s' if n > 1 else ''}"


def grids_of(measured, again, refused):
    """{number of GPUs: Grid}, with performance over the applications of all mixes."""
    mixes = list(dict.fromkeys(mix for mix, _, _ in measured))

    def of(found, gpus, cell, *value):
        found = [found.get((mix, gpus, cell, *value)) for mix in mixes]
        return performance([t for m in found for t in m["times_us"]]) if all(found) else None

    grids = {}
    for gpus in sorted({gpus for _, gpus, _ in [*measured, *refused]}):
        cells = {cell: of(measured, gpus, cell) for cell in dict.fromkeys(c for _, g, c in measured if g == gpus)}
        values = dict.fromkeys(value for _, g, _, value in again if g == gpus)
        repeats = [[cells.get(cell)] + [of(again, gpus, cell, value) for value in values] for cell in dict.fromkeys(c for _, g, c, _ in again if g == gpus)]
        grids[gpus] = Grid(cells, MECHANISMS, spread(repeats))
    return grids


def effects_table(grid):
    rows = []
    for m in grid.mechanisms:
        found = list(grid.effects(m).values())
        all_others = grid.effect(m, frozenset(grid.mechanisms) - {m})
        rows.append([NAMES[m], factor(grid.effect(m)), factor(grid.mean_effect(m)), factor(min(found, default=None)), factor(max(found, default=None)),
                     factor(all_others), f"{sum(e >= grid.least_effect for e in found)} of {len(found)}", f"{sum(e <= -grid.least_effect for e in found)}"])
    return table(["", "alone", "mean", "least", "most", "with all others", "combinations in which it gains", "loses"], rows)


def in_words(verdict, interaction):
    if verdict.words == "add" and abs(interaction) >= SMALL:
        return "within chance they add"
    what, _, which = verdict.words.partition(":")
    text = {"add": "they add", "useless": "the other one makes useless: ", "harmless": "the other one takes its loss away: ",
            "help": "they help each other", "hinder": "they stand in each other's way"}.get(what, what)
    return text + ", ".join(NAMES[m] for m in which.split(",") if m)


def pairs_table(grid):
    rows = []
    everything = frozenset(grid.mechanisms)
    for i, a in enumerate(grid.mechanisms):
        for b in grid.mechanisms[i + 1:]:
            verdict, found = says(grid, a, b), list(grid.interactions(a, b).values())
            rows.append([f"{NAMES[a]}, {NAMES[b]}", factor(grid.effect(a)), factor(grid.effect(b)), factor(grid.gain((a, b))), factor(grid.interaction(a, b)),
                         factor(grid.mean_interaction(a, b)), factor(min(found, default=None)), factor(max(found, default=None)),
                         factor(grid.interaction(a, b, everything - {a, b})), in_words(verdict, grid.interaction(a, b)) if verdict else "-"])
    header = ["", "the first alone", "the second alone", "both", "interaction", "mean", "least", "most", "with all others", "with no others"]
    return table(header, rows)


def useless_lines(grids):
    """Pairs in the bare machine in which one mechanism makes the other useless."""
    lines = []
    for gpus, grid in grids.items():
        for i, a in enumerate(grid.mechanisms):
            for b in grid.mechanisms[i + 1:]:
                verdict = says(grid, a, b)
                if verdict and verdict.words.startswith("useless:"):
                    for m in verdict.words.partition(":")[2].split(","):
                        k = (a, b).index(m)
                        lines.append(f"- {gpus_words(gpus)}: {NAMES[m]} gains {factor(verdict.alone[k])} alone, {factor(verdict.beside[k])} "
                                     f"beside {NAMES[(a, b)[1 - k]]}.")
    return lines or ["None does."]


def best_lines(grids):
    lines = []
    for gpus, grid in grids.items():
        best = grid.best()
        if best is None or grid.of() is None:
            continue
        named = ", ".join(NAMES[m] for m in grid.mechanisms if m in best) or "no mechanism"
        singles = [v for v in (grid.effect(m) for m in best) if v is not None]
        lines.append(f"- {gpus_words(gpus)}: {named}: {factor(grid.gain(best))} of the bare machine's performance; its mechanisms alone, multiplied, "
                     f"{factor(sum(singles))}. All six: {factor(grid.gain(grid.mechanisms))}.")
    return lines


def shown(value, how):
    if value is None:
        return "-"
    return how(value) if how else show(value / 1000, 1)


def cells_table(gpus, grid, measured, refused, mix, mixes):
    header = [NAMES[m] for m in grid.mechanisms] + ["performance"] + [w for w, _ in mixes[mix]] + [heading for heading, _, _ in COUNTERS]
    rows = []
    bare = measured.get((mix, gpus, ()))
    of = [key for key in [*measured, *refused] if key[0] == mix and key[1] == gpus]
    for key in sorted(of, key=lambda k: (len(k[2]), [m not in k[2] for m in grid.mechanisms])):
        on = ["x" if m in key[2] else "" for m in grid.mechanisms]
        if key in refused:
            rows.append(on + ["cannot be"] + ["-"] * (len(header) - len(on) - 1))
            continue
        m = measured[key]
        ratios = [b / t for b, t in zip(bare["times_us"], m["times_us"])] if bare else [None] * len(m["times_us"])
        total = None if None in ratios else math.exp(sum(map(math.log, ratios)) / len(ratios))
        rows.append(on + [show(total)] + [show(r) for r in ratios] + [shown(m[name], how) for _, name, how in COUNTERS])
    return table(header, rows)


def settings_table():
    rows = [[NAMES[m], f"`{m}`", ", ".join(f"`{key} = {toml_of(value)}`" for key, value in on.items())] for m, on in MECHANISMS.items()]
    return table(["", "in words of `--cells`", "what is set"], rows, text=True)


def noise_lines(grids):
    """Noise of a cell, and the thresholds of effects and interactions."""
    return [f"- {gpus_words(gpus)}: a cell's performance varies by {percent(grid.noise)} (standard deviation); an effect is beyond chance from "
            f"{percent(math.expm1(grid.least_effect))}, the interaction of two in one background from {percent(math.expm1(grid.least_interaction))}, its mean over all of them "
            f"from {percent(math.expm1(grid.noise))}."
            if grid.noise is not None else f"- {gpus_words(gpus)}: no cell has been run again, so nothing is known of chance; 2% is taken."
            for gpus, grid in grids.items()]


def refused_lines(refused):
    by_reason = {}
    for (_, gpus, cell), why in refused.items():
        by_reason.setdefault(why, []).append(f"{words_of(cell)} on {gpus_words(gpus)}")
    return [f"- {len(which)} cells, such as {which[0]}: {why}." for why, which in by_reason.items()] or ["None: every combination runs."]


def write(folder, measured, again, refused, made, mixes):
    """measured: {(mix, GPUs, cell): measures}; again: {(mix, GPUs, cell, batch time): measures}; refused: {(mix, GPUs, cell): error message}."""
    folder.mkdir(parents=True, exist_ok=True)
    grids = grids_of(measured, again, refused)
    lines = ["# Six mechanisms at once", "", f"Written by `run`; do not edit. {sentence(made)}", ""]
    lines += [f"The preset `{PRESET}` with the settings of `study.py`; applications: "
              + "; ".join(", ".join(f"`{w}` {toml_of(size)}" for w, size in mix) for mix in mixes.values()) + ".", ""]
    drawn = {gpus: grid for gpus, grid in grids.items() if grid.cells}
    if drawn:
        plot.draw(folder / "interactions.svg", drawn, made)
        lines += [f"![{plot.TITLE}](interactions.svg)", ""]
    for gpus, grid in grids.items():
        whole = 1 << len(grid.mechanisms)
        missing = whole - len(grid.cells) - len({cell for _, g, cell in refused if g == gpus})
        if missing and made["size"] == "full":
            lines += [f"**{gpus_words(gpus)}: {missing} of {whole} cells have not been run; means, extremes and counts are over those that have.**", ""]
    discussion = FOLDER / "discussion.md"
    if made["size"] == "full" and made["migration"] == "migrate" and discussion.exists():
        lines += [discussion.read_text().rstrip(), ""]
    lines += ["## What is on and off", *settings_table()]
    lines += ["## Each mechanism", "", "Performance as a factor: 1 / time, the geometric mean of the applications. *Mean*, *least* and *most* are over all combinations of "
              "the other five. It *gains* or *loses* by more than chance, or 2%.", "", *noise_lines(grids), ""]
    for gpus, grid in grids.items():
        lines += [f"### {gpus_words(gpus)}", *effects_table(grid)]
    lines += ["## Pairs", "", "*Interaction*: performance of both, over the product of what each gains by itself; 1: they add. *Mean*, *least* and *most* are over all "
              "combinations of the other four; *with all others*: all four are on.", ""]
    for gpus, grid in grids.items():
        lines += [f"### {gpus_words(gpus)}", *pairs_table(grid)]
    lines += ["## Where one makes another useless", "", "Of what it gains alone, beyond chance, less than a quarter is left.", "", *useless_lines(grids), ""]
    lines += ["## The best combination", "", *best_lines(grids), ""]
    lines += ["## Combinations that cannot be", "", *refused_lines(refused), ""]
    lines += ["## Cells", "", "Performance over that of the bare machine, then of each application; counters of the run. *In translation*, *in faults*, *on links*: shares of "
              "the time of accesses.", ""]
    for mix in mixes:
        for gpus, grid in grids.items():
            lines += [f"### {mix}, {gpus_words(gpus)}", *cells_table(gpus, grid, measured, refused, mix, mixes)]
    (folder / "results.md").write_text("\n".join(lines).replace("\n\n\n", "\n\n"))
    records.write(folder, made=made, effects=effects_json(grids), refused=[as_row(key) | {"why": why} for key, why in refused.items()],
                  cells=[as_row(key) | m for key, m in measured.items()],
                  again=[as_row(key) | {"batch_time": key[3], "digest": m["digest"], "times_us": m["times_us"]} for key, m in again.items()])


def as_row(key):
    return {"mix": key[0], "gpus": key[1], "cell": words_of(key[2])}


def effects_json(grids):
    """Effects and interactions as logarithms of factors, by number of GPUs."""
    return {str(gpus): {"noise": grid.noise, "alone": {m: grid.effect(m) for m in grid.mechanisms}, "mean": {m: grid.mean_effect(m) for m in grid.mechanisms},
                        "interaction": {f"{a}, {b}": grid.interaction(a, b) for i, a in enumerate(grid.mechanisms) for b in grid.mechanisms[i + 1:]},
                        "mean_interaction": {f"{a}, {b}": grid.mean_interaction(a, b) for i, a in enumerate(grid.mechanisms)
                                             for b in grid.mechanisms[i + 1:]}} for gpus, grid in grids.items()}
