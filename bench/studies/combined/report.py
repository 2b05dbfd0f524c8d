# SPDX-License-Identifier: Apache-2.0
"""results.md, its plot, and results.json.xz with every counter of every cell."""
import math

import plot
import records
from configuration import toml_of
from interactions import SMALL, Grid, performance, classify, spread
from plot import factor
from provenance import sentence
from study import FOLDER, MECHANISMS, NAMES, PRESET, words_of
from tables import percent, show, table

# Columns of the tables of cells: heading, counter, format. results.json.xz has all counters.
COUNTERS = [
    ("L2 TLB hits", "l2_tlb_hit", percent), ("GMMU walks, k", "gmmu_walks", None), ("IOMMU walks, k", "iommu_walks", None),
    ("in translation", "in_translation", percent), ("in faults", "in_faults", percent), ("on links", "in_links", percent),
    ("remote accesses", "remote", percent), ("batches", "batches", int), ("pages migrated, k", "moved", None), ("evicted, k", "evicted", None),
    ("premature evictions, k", "came_again", None), ("coalesced", "coalesced", int), ("splintered", "splintered", int), ("blocks swapped out", "gave_way", int),
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
    return table(["", "alone", "mean", "minimum", "maximum", "with all others", "combinations with a gain", "with a loss"], rows)


def in_words(verdict, interaction):
    if verdict.words == "add" and abs(interaction) >= SMALL:
        return "additive within the noise"
    what, _, which = verdict.words.partition(":")
    text = {"neither does anything": "neither has an effect", "add": "additive", "useless": "gain lost with the other: ", "harmless": "loss avoided with the other: ",
            "help": "each gains more with the other", "hinder": "each gains less with the other"}.get(what, what)
    return text + ", ".join(NAMES[m] for m in which.split(",") if m)


def pairs_table(grid):
    rows = []
    everything = frozenset(grid.mechanisms)
    for i, a in enumerate(grid.mechanisms):
        for b in grid.mechanisms[i + 1:]:
            verdict, found = classify(grid, a, b), list(grid.interactions(a, b).values())
            rows.append([f"{NAMES[a]}, {NAMES[b]}", factor(grid.effect(a)), factor(grid.effect(b)), factor(grid.gain((a, b))), factor(grid.interaction(a, b)),
                         factor(grid.mean_interaction(a, b)), factor(min(found, default=None)), factor(max(found, default=None)),
                         factor(grid.interaction(a, b, everything - {a, b})), in_words(verdict, grid.interaction(a, b)) if verdict else "-"])
    header = ["", "first alone", "second alone", "both", "interaction", "mean", "minimum", "maximum", "with all others", "verdict without others"]
    return table(header, rows)


def useless_lines(grids):
    """Pairs in the bare machine in which one mechanism makes the other useless."""
    lines = []
    for gpus, grid in grids.items():
        for i, a in enumerate(grid.mechanisms):
            for b in grid.mechanisms[i + 1:]:
                verdict = classify(grid, a, b)
                if verdict and verdict.words.startswith("useless:"):
                    for m in verdict.words.partition(":")[2].split(","):
                        k = (a, b).index(m)
                        lines.append(f"- {gpus_words(gpus)}: {NAMES[m]} gains {factor(verdict.alone[k])} alone, {factor(verdict.beside[k])} "
                                     f"with {NAMES[(a, b)[1 - k]]}.")
    return lines or ["None."]


def best_lines(grids):
    lines = []
    for gpus, grid in grids.items():
        best = grid.best()
        if best is None or grid.of() is None:
            continue
        named = ", ".join(NAMES[m] for m in grid.mechanisms if m in best) or "no mechanism"
        singles = [v for v in (grid.effect(m) for m in best) if v is not None]
        lines.append(f"- {gpus_words(gpus)}: {named}: {factor(grid.gain(best))} times the bare machine's performance (product of its mechanisms alone: "
                     f"{factor(sum(singles))}). All six: {factor(grid.gain(grid.mechanisms))}.")
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
            rows.append(on + ["invalid"] + ["-"] * (len(header) - len(on) - 1))
            continue
        m = measured[key]
        ratios = [b / t for b, t in zip(bare["times_us"], m["times_us"])] if bare else [None] * len(m["times_us"])
        total = None if None in ratios else math.exp(sum(map(math.log, ratios)) / len(ratios))
        rows.append(on + [show(total)] + [show(r) for r in ratios] + [shown(m[name], how) for _, name, how in COUNTERS])
    return table(header, rows)


def settings_table():
    rows = [[NAMES[m], f"`{m}`", ", ".join(f"`{key} = {toml_of(value)}`" for key, value in on.items())] for m, on in MECHANISMS.items()]
    return table(["", "name in `--cells`", "settings"], rows, text=True)


def noise_lines(grids):
    """Noise of a cell, and the thresholds of effects and interactions."""
    return [f"- {gpus_words(gpus)}: a cell's performance varies by {percent(grid.noise)} (standard deviation). Noise thresholds: "
            f"{percent(math.expm1(grid.least_effect))} for an effect, {percent(math.expm1(grid.least_interaction))} for an interaction in one background, "
            f"{percent(math.expm1(grid.noise))} for its mean over all backgrounds."
            if grid.noise is not None else f"- {gpus_words(gpus)}: no cell was repeated, so the noise is unknown; the threshold is 2%."
            for gpus, grid in grids.items()]


def refused_lines(refused):
    by_reason = {}
    for (_, gpus, cell), why in refused.items():
        by_reason.setdefault(why, []).append(f"{words_of(cell)} on {gpus_words(gpus)}")
    return [f"- {len(which)} cells, such as {which[0]}: {why}." for why, which in by_reason.items()] or ["None: all combinations are valid."]


def write(folder, measured, again, refused, made, mixes):
    """measured: {(mix, GPUs, cell): measures}; again: {(mix, GPUs, cell, batch time): measures}; refused: {(mix, GPUs, cell): error message}."""
    folder.mkdir(parents=True, exist_ok=True)
    grids = grids_of(measured, again, refused)
    lines = ["# Six mechanisms combined", "", f"Written by `run`; do not edit. {sentence(made)}", ""]
    lines += [f"Preset `{PRESET}` with the settings of `study.py`. Applications: "
              + "; ".join(", ".join(f"`{w}` {toml_of(size)}" for w, size in mix) for mix in mixes.values()) + ".", ""]
    drawn = {gpus: grid for gpus, grid in grids.items() if grid.cells}
    if drawn:
        plot.draw(folder / "interactions.svg", drawn, made)
        lines += [f"![{plot.TITLE}](interactions.svg)", ""]
    for gpus, grid in grids.items():
        whole = 1 << len(grid.mechanisms)
        missing = whole - len(grid.cells) - len({cell for _, g, cell in refused if g == gpus})
        if missing and made["size"] == "full":
            lines += [f"**{gpus_words(gpus)}: {missing} of {whole} cells were not run; means, extremes and counts cover only the others.**", ""]
    discussion = FOLDER / "discussion.md"
    if made["size"] == "full" and made["migration"] == "migrate" and discussion.exists():
        lines += [discussion.read_text().rstrip(), ""]
    lines += ["## Mechanisms", *settings_table()]
    lines += ["## Each mechanism", "", "Performance as a factor: 1 / time, geometric mean over the applications. *Mean*, *minimum* and *maximum* are over all combinations of "
              "the other five. A *gain* or *loss* exceeds the noise threshold (at least 2%).", "", *noise_lines(grids), ""]
    for gpus, grid in grids.items():
        lines += [f"### {gpus_words(gpus)}", *effects_table(grid)]
    lines += ["## Pairs", "", "*Interaction*: performance of both, divided by the product of their individual speedups; 1: additive. *Mean*, *minimum* and *maximum* are over all "
              "combinations of the other four; *with all others*: with all four on.", ""]
    for gpus, grid in grids.items():
        lines += [f"### {gpus_words(gpus)}", *pairs_table(grid)]
    lines += ["## Lost gains", "", "Mechanisms that keep less than a quarter of their individual gain when combined with another one, without other mechanisms. Gains below the noise threshold do not count.", "", *useless_lines(grids), ""]
    lines += ["## Best combination", "", *best_lines(grids), ""]
    lines += ["## Invalid combinations", "", *refused_lines(refused), ""]
    lines += ["## Cells", "", "Performance over the bare machine, in total and per application; counters of the run. *In translation*, *in faults*, *on links*: shares of "
              "access time.", ""]
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
