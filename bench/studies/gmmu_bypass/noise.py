# SPDX-License-Identifier: Apache-2.0
"""Noise: variation of results without a change of design, to which a reading's mean is compared.

Two measurements. The preset's reading is repeated with all PCIe latencies changed by 1% or 2%, which changes the order of accesses and
so the owners of pages. The distributed design runs on the page map of its first-touch run and on the one of bypass's run, which
shows the effect of ownership alone.
"""
from math import log, sqrt
from statistics import fmean, stdev

import figures
from figures import gain, percent
from measure import divide
from study import WORKLOADS
from variations import machine, simulation

FACTORS, QUICK = (0.98, 0.99, 1, 1.01, 1.02), (0.99, 1, 1.01)
TWO = ["distributed", "gmmu_bypass"]
LEAST = figures.TIE  # lower bound of the noise


class Noise:
    """self.mean[placement]: two standard deviations of a mean over the workloads. A mean closer to 1 is not a difference."""

    def __init__(self, workloads, placements, scale, base, quick):
        self.workloads, self.placements, self.factors = workloads, placements, QUICK if quick else FACTORS
        settings = [{} if f == 1 else machine(base / "machines" / f"latency-{f:g}.toml", factor=f) for f in self.factors]
        self.runs = {p: {w: [{d: simulation(w, d, p, scale, s, base) for d in TWO} for s in settings] for w in workloads}
                     for p in placements}
        self.others = {w: [simulation(w, "distributed", "recorded", scale, s, base, owners="gmmu_bypass") for s in settings]
                       for w in workloads if {"first_touch", "recorded"} <= set(placements)}

    def all_runs(self):
        return [run for p in self.runs.values() for w in p.values() for pair in w for run in pair.values()] + \
            [run for runs in self.others.values() for run in runs]

    def read(self, results):
        def ns(run):
            m = results.of(run)
            return m and m["kernel_ns"]

        def kept(values):
            return [v for v in values if v is not None]

        self.ratios = {p: {w: kept(divide(ns(r["distributed"]), ns(r["gmmu_bypass"])) for r in repeats) for w, repeats in by.items()}
                       for p, by in self.runs.items()}
        self.owners = {w: kept(divide(ns(own["distributed"]), ns(other)) for own, other in zip(self.runs["recorded"][w], others))
                       for w, others in self.others.items()}
        self.workload = {p: {w: one(ratios, self.owners.get(w, []) if p == "first_touch" else []) for w, ratios in by.items()}
                         for p, by in self.ratios.items()}
        self.mean = {p: of_mean(by.values()) for p, by in self.workload.items()}


def one(ratios, owners):
    """Relative noise of one workload: the spread of its repeats or the effect of page ownership, whichever is larger."""
    spread = stdev(map(log, ratios)) if len(ratios) > 1 else 0.0
    moved = sqrt(fmean(log(v) ** 2 for v in owners)) if owners else 0.0
    return max(spread, moved)


def of_mean(noises):
    """Two standard deviations of the mean of workloads with these noises."""
    noises = list(noises)
    return max(LEAST, 2 * sqrt(sum(n * n for n in noises)) / len(noises)) if noises else LEAST


def said(noise):
    """Sentence of the first paragraph."""
    moved = ", ".join(f"{m * 100:.1f}% ({p})" for p, m in noise.mean.items())
    owners = {w: max(abs(v - 1) for v in values) for w, values in noise.owners.items() if values}
    most = max(owners, key=owners.get) if owners else None
    tail = f"; page ownership alone changes {WORKLOADS[most]} by up to {owners[most] * 100:.0f}%" if most else ""
    return (f"Noise (two standard deviations of the mean, from {len(noise.factors)} repeats of the preset's reading with changed PCIe latencies): {moved}"
            f"{tail}. A mean within the noise counts as no difference.")


def section(noise):
    """Section of results.md."""
    head = ["", *[f"{p}: bypass / distributed" for p in noise.placements], "distributed: bypass's page map / its own"]
    lines = ["", "## Noise", "",
             f"The preset's reading {len(noise.factors)} times, with all PCIe latencies multiplied by " +
             ", ".join(f"{f:g}" for f in noise.factors) + ": mean (minimum to maximum). With `recorded` each repeat has its own page map. "
             "Last column: the distributed design on the page map of bypass's first-touch run, relative to its own map; any change "
             "is due to page ownership, not to the design.", "",
             "| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for w in noise.workloads:
        cells = [ranged(noise.ratios[p][w]) for p in noise.placements] + [ranged(noise.owners.get(w, []))]
        lines.append(f"| {WORKLOADS[w]} | " + " | ".join(cells) + " |")
    lines.append("| noise of the mean | " + " | ".join(percent(noise.mean[p]) for p in noise.placements) + " | |")
    return lines


def ranged(values):
    return f"{gain(fmean(values))} ({gain(min(values))} to {gain(max(values))})" if values else "-"
