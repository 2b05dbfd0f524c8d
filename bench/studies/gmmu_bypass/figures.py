# SPDX-License-Identifier: Apache-2.0
"""The paper's figures from measured runs: rows, averages, and the statements of its text, each judged by a stated rule."""
import json
from statistics import fmean, geometric_mean
from statistics import median as middle

from measure import divide
from study import FOLDER, WORKLOADS

PAPER = json.loads((FOLDER / "paper.json").read_text())

# Thresholds of the verdicts. The tables show the figures next to each verdict.
TIE = 0.005     # designs with a smaller difference in time are equal
SIMILAR = 0.02  # "similar or slightly higher": at most this much slower
HEADROOM = 0.01  # minimum gain of ideal over distributed
SIZE = 2.0      # a gain between 1/2 and twice the paper's has the paper's size

# name -> (figure, unit, text, function of one workload's measures by design)
SERIES = {
    "centralized_over_distributed": ("3", "ratio", "centralized / distributed", lambda d: speed(d, "centralized", "distributed")),
    "oracle_over_distributed": ("3", "ratio", "ideal / distributed", lambda d: speed(d, "oracle", "distributed")),
    "bypass_over_distributed": ("5", "ratio", "bypass / distributed", lambda d: speed(d, "gmmu_bypass", "distributed")),
    "bypass_over_centralized": ("5", "ratio", "bypass / centralized", lambda d: speed(d, "gmmu_bypass", "centralized")),
    "bypass_of_oracle": ("5", "ratio", "bypass / ideal", lambda d: speed(d, "gmmu_bypass", "oracle")),
    "accuracy_above_t1": ("6", "share", "accuracy above T1", lambda d: of(d, "gmmu_bypass", "accuracy_above_t1")),
    "accuracy_below_t2": ("6", "share", "accuracy below T2", lambda d: of(d, "gmmu_bypass", "accuracy_below_t2")),
    "epochs_above_t1": ("6", "share", "epochs above T1", lambda d: of(d, "gmmu_bypass", "epochs_above_t1")),
    "epochs_below_t2": ("6", "share", "epochs below T2", lambda d: of(d, "gmmu_bypass", "epochs_below_t2")),
    "gmmu_walks": ("7", "ratio", "GMMU walks, bypass / distributed", lambda d: counts(d, "gmmu_walks")),
    "iommu_walks": ("7", "ratio", "IOMMU walks, bypass / distributed", lambda d: counts(d, "iommu_walks")),
    "all_walks": ("7", "ratio", "all walks, bypass / distributed", lambda d: counts(d, "gmmu_walks", "iommu_walks")),
    "sent_to_both": ("7", "share", "requests sent to both, share of bypass's walks", lambda d: duplicates(d)),
}


def of(designs, design, name):
    return designs[design][name] if design in designs else None


def speed(designs, one, other):
    """Speedup of `one`: time of the other divided by its own."""
    return divide(of(designs, other, "kernel_ns"), of(designs, one, "kernel_ns"))


def counts(designs, *names):
    if "gmmu_bypass" not in designs or "distributed" not in designs:
        return None
    return divide(sum(designs["gmmu_bypass"][n] for n in names), sum(designs["distributed"][n] for n in names))


def duplicates(designs):
    """Requests with two walks (one is a duplicate) as a share of all walks of bypass."""
    d = designs.get("gmmu_bypass")
    return divide(d["undecided"], d["gmmu_walks"] + d["iommu_walks"]) if d else None


def mean(values):
    """Arithmetic mean of the measured values; None if there are none."""
    values = [v for v in values if v is not None]
    return fmean(values) if values else None


def median(values):
    """Median of the measured values; None if there are none."""
    values = [v for v in values if v is not None]
    return middle(values) if values else None


def gmean(values):
    values = [v for v in values if v]
    return geometric_mean(values) if values else None


def series(runs):
    """{series: {workload: value}} of one placement; `runs` is {workload: {design: measures}}."""
    return {name: {w: f(runs[w]) for w in runs} for name, (_, _, _, f) in SERIES.items()}


def totals(runs, *names):
    """Walks of all workloads together: bypass / distributed."""
    both = [d for d in runs.values() if "gmmu_bypass" in d and "distributed" in d]
    return divide(sum(d["gmmu_bypass"][n] for d in both for n in names),
                  sum(d["distributed"][n] for d in both for n in names))


def rows(results):
    """Rows of results.json.xz: figure, placement, workload, series, unit, measured, paper."""
    out = []
    for placement, runs in results.items():
        per_workload = series(runs)
        for name, (figure, unit, _, _) in SERIES.items():
            stated = {w: PAPER["workloads"].get(w, {}).get(name, {}).get("value") for w in runs}
            for w in runs:
                out.append(row(figure, placement, WORKLOADS[w], name, unit, per_workload[name][w], stated[w]))
            average = PAPER["averages"].get(name, {}).get("value")
            out.append(row(figure, placement, "average", name, unit, mean(per_workload[name].values()), average))
            out.append(row(figure, placement, "median", name, unit, median(per_workload[name].values()), None))
            if unit == "ratio":
                out.append(row(figure, placement, "geometric mean", name, unit, gmean(per_workload[name].values()), None))
        for w, designs in runs.items():
            for design, measures in designs.items():
                for name in ("kernel_ns", "gmmu_walks", "iommu_walks"):
                    unit = "ns" if name == "kernel_ns" else "count"
                    out.append(row("raw", placement, WORKLOADS[w], f"{design}.{name}", unit, measures[name], None))
    return out


def row(figure, placement, workload, name, unit, measured, paper):
    return {"figure": figure, "placement": placement, "workload": workload, "series": name, "unit": unit,
            "measured": measured, "paper": paper}


def claims(runs):
    """Verdicts on the paper's statements with one placement: (figure, kind, statement, measured, verdict).

    A verdict is True, False, or None if a required run is missing. Kinds: direction, order, size.
    """
    s = series(runs)
    out = []

    def each(figure, kind, statement, name, names, holds, show):
        values = {w: s[name][w] for w in names if s[name].get(w) is not None}
        bad = [w for w, v in values.items() if not holds(v)]
        text = ", ".join(f"{WORKLOADS[w]} {show(v)}" for w, v in values.items()) or "-"
        out.append((figure, kind, statement, text, None if not values else not bad))

    def average(figure, statement, name):
        measured, paper = mean(s[name].values()), PAPER["averages"][name]["value"]
        share = SERIES[name][1] == "share"
        if measured is None:
            return out.append((figure, "size", statement, "-", None))
        near = abs(measured - paper) <= 0.1 if share else same_size(measured - 1, paper - 1)
        if name == "bypass_of_oracle":  # at least as close to the ideal as in the paper
            near = near or paper <= measured
        shown = percent(measured) if share or name == "bypass_of_oracle" else gain(measured)
        out.append((figure, "size", statement, shown, near))

    def same_size(measured, paper):
        return measured * paper > 0 and 1 / SIZE <= measured / paper <= SIZE

    everything = list(runs)
    each("3", "direction", "distributed beats centralized for MT, FFT, KM, ST", "centralized_over_distributed",
         PAPER["distributed_wins"], lambda v: v < 1 - TIE, gain)
    each("3", "direction", "centralized beats distributed for RL, FIR, MP", "centralized_over_distributed",
         PAPER["centralized_wins"], lambda v: v > 1 + TIE, gain)
    measured = mean(s["centralized_over_distributed"].values())
    out.append(("3", "direction", "distributed beats centralized on average", "-" if measured is None else gain(measured),
                None if measured is None else measured < 1 - TIE))
    each("3", "direction", "ideal is never slower than distributed", "oracle_over_distributed", everything,
         lambda v: v > 1 - TIE, gain)
    each("5", "direction", "bypass beats distributed for RL, FIR, MP", "bypass_over_distributed",
         PAPER["centralized_wins"], lambda v: v > 1 + TIE, gain)
    each("5", "direction", "bypass is similar or slightly better for the others", "bypass_over_distributed",
         [w for w in everything if w not in PAPER["centralized_wins"]], lambda v: v > 1 - SIMILAR, gain)
    worst = {w: max((speed(d, x, "oracle") or 0, x) for x in d) for w, d in runs.items() if "oracle" in d}
    beaten = [f"{WORKLOADS[w]} by {design} {gain(v)}" for w, (v, design) in worst.items() if v > 1 + TIE]
    out.append(("5", "order", "ideal is the best of the four designs for all workloads",
                ("beaten: " + ", ".join(beaten)) if beaten else "never beaten" if worst else "-",
                not beaten if worst else None))
    average("5", "bypass over distributed: +6% on average", "bypass_over_distributed")
    average("5", "bypass over centralized: +106% on average", "bypass_over_centralized")
    average("5", "bypass reaches 96% of ideal on average", "bypass_of_oracle")
    each("5", "size", "ST: bypass +11%", "bypass_over_distributed", ["stencil2d"],
         lambda v: same_size(v - 1, 0.11), gain)
    accurate = [s["accuracy_above_t1"].get(w) for w in PAPER["accurate_above_t1"]]
    inaccurate = [s["accuracy_above_t1"].get(w) for w in PAPER["inaccurate_above_t1"]]
    accurate, inaccurate = [v for v in accurate if v is not None], [v for v in inaccurate if v is not None]
    order = min(accurate) > max(inaccurate) if accurate and inaccurate else None
    shown = f"{percent(min(accurate))} to {percent(max(accurate))}; others {percent(min(inaccurate))} to " \
            f"{percent(max(inaccurate))}" if order is not None else "-"
    out.append(("6", "order", "above T1, MT, FFT, KM, ST are predicted better than the others", shown, order))
    average("6", "accuracy above T1: 66% on average", "accuracy_above_t1")
    below = {w: v for w, v in s["accuracy_below_t2"].items() if v is not None}
    fft = below.pop("fft", None)
    order = fft < min(below.values()) if fft is not None and below else None
    out.append(("6", "order", "below T2, FFT is predicted worst",
                "FFT " + ("-" if fft is None else percent(fft)) + "; others " +
                (f"{percent(min(below.values()))} to {percent(max(below.values()))}" if below else "-"), order))
    average("6", "accuracy below T2: 75% on average", "accuracy_below_t2")
    each("7", "direction", "fewer GMMU walks than distributed", "gmmu_walks", everything,
         lambda v: v < 1 + TIE, gain)
    average("7", "GMMU walks: -21% on average", "gmmu_walks")
    average("7", "IOMMU walks: +29% on average", "iommu_walks")
    grown = {w: v for w, v in s["iommu_walks"].items() if v is not None}
    most = max(grown, key=grown.get) if grown else None
    out.append(("7", "order", "ST has the largest increase of IOMMU walks",
                "-" if most is None else f"{WORKLOADS[most]} {gain(grown[most])}" +
                (f", ST {gain(grown['stencil2d'])}" if "stencil2d" in grown else ""),
                most == "stencil2d" if "stencil2d" in grown and len(grown) > 1 else None))
    each("7", "size", "ST: all walks +14%", "all_walks", ["stencil2d"], lambda v: same_size(v - 1, 0.14), gain)
    return out


def gain(ratio):
    """1.06 -> +6.0%"""
    return f"{(ratio - 1) * 100:+.1f}%"


def gained(bypass, ideal):
    """Text of bypass over distributed: "no headroom" if even ideal gains nothing. A loss is still shown."""
    if bypass is None:
        return "-"
    if ideal is None or ideal >= 1 + HEADROOM:
        return gain(bypass)
    return "no headroom" if bypass > 1 - SIMILAR else f"no headroom, {gain(bypass)}"


def agreeing(stated):
    """Lower and upper bound of ratios that have the paper's size."""
    return 1 + (stated - 1) / SIZE, 1 + (stated - 1) * SIZE


def paper(name):
    """The paper's average of a series, or None. Ideal over distributed follows from two other averages."""
    stated = {n: entry["value"] for n, entry in PAPER["averages"].items()}
    if name == "oracle_over_distributed":
        return stated["bypass_over_distributed"] / stated["bypass_of_oracle"]
    return stated.get(name)


def percent(share):
    return f"{share * 100:.1f}%"
