# SPDX-License-Identifier: Apache-2.0
"""Effects of mechanisms and interactions of pairs, from the performance of the cells of a grid.

Performance of a cell: mean over its applications of log(1 / time); a difference of two is the logarithm of a speedup (geometric mean).
Background: a cell without the mechanism or mechanisms in question.
Effect of a mechanism in a background: performance with it minus performance without it.
Interaction of two mechanisms in a background: effect of both minus the sum of their individual effects. 0: they add up (as factors).
Above 0, each gains more with the other; below 0, less.
"""
import math
from dataclasses import dataclass

SMALL = math.log(1.02)  # smallest difference that counts, even without noise
LOST = 0.25             # a mechanism is useless if less than this share of its effect remains


def performance(times):
    """Performance over the applications of one or more runs; None if a time is missing."""
    return None if not times or any(t is None for t in times) else -sum(map(math.log, times)) / len(times)


def average(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def spread(repeats):
    """Standard deviation of a cell's performance due to noise. Each list has the performances of one cell; None if all have fewer than two."""
    squares, free = 0, 0
    for found in repeats:
        found = [p for p in found if p is not None]
        if len(found) > 1:
            squares += sum((p - average(found)) ** 2 for p in found)
            free += len(found) - 1
    return math.sqrt(squares / free) if free else None


class Grid:
    """cells: {tuple of mechanisms: performance or None}. noise: standard deviation of a cell's performance. An effect combines two
    performances and an interaction four; a value within two standard deviations of that combination counts as none."""

    def __init__(self, cells, mechanisms, noise=None):
        self.noise = noise
        self.least_effect = max(SMALL, 2 * math.sqrt(2) * (noise or 0))
        self.least_interaction = max(SMALL, 4 * (noise or 0))
        self.cells = {frozenset(cell): value for cell, value in cells.items() if value is not None}
        self.mechanisms = list(mechanisms)

    def of(self, *mechanisms):
        return self.cells.get(frozenset(mechanisms))

    def gain(self, cell, over=()):
        """Performance of a cell minus that of the cell `over`; None if one is missing."""
        a, b = self.cells.get(frozenset(cell)), self.cells.get(frozenset(over))
        return None if a is None or b is None else a - b

    def backgrounds(self, *without):
        """All cells without these mechanisms."""
        others = [m for m in self.mechanisms if m not in without]
        return [frozenset(m for i, m in enumerate(others) if n >> i & 1) for n in range(1 << len(others))]

    def effect(self, one, background=frozenset()):
        return self.gain(background | {one}, background)

    def effects(self, one):
        """{background: effect} over all measured backgrounds."""
        found = {b: self.effect(one, b) for b in self.backgrounds(one)}
        return {b: e for b, e in found.items() if e is not None}

    def interaction(self, one, other, background=frozenset()):
        both, alone = self.effect(one, background | {other}), self.effect(one, background)
        return None if both is None or alone is None else both - alone

    def interactions(self, one, other):
        found = {b: self.interaction(one, other, b) for b in self.backgrounds(one, other)}
        return {b: i for b, i in found.items() if i is not None}

    def mean_effect(self, one):
        return average(self.effects(one).values())

    def mean_interaction(self, one, other):
        return average(self.interactions(one, other).values())

    def best(self):
        """The cell with the highest performance; of equal cells, one with the fewest mechanisms."""
        return max(self.cells, key=lambda c: (self.cells[c], -len(c)), default=None)


@dataclass
class Verdict:
    """Verdict on a pair in one background: effects of each mechanism alone and with the other."""
    alone: tuple   # effect of the first, of the second
    beside: tuple  # the same, with the other one on
    words: str


def classify(grid, one, other, background=frozenset()):
    """Verdict on two mechanisms in a background; None if a cell is missing."""
    alone = tuple(grid.effect(m, background) for m in (one, other))
    beside = tuple(grid.effect(m, background | {o}) for m, o in ((one, other), (other, one)))
    if None in alone + beside:
        return None
    interaction = beside[0] - alone[0]
    if all(abs(e) < grid.least_effect for e in alone + beside):
        return Verdict(alone, beside, "neither does anything")
    if abs(interaction) < grid.least_interaction:
        return Verdict(alone, beside, "add")
    useless = [m for m, a, b in zip((one, other), alone, beside) if a >= grid.least_effect and b < LOST * a]
    if useless:
        return Verdict(alone, beside, "useless:" + ",".join(useless))
    healed = [m for m, a, b in zip((one, other), alone, beside) if a <= -grid.least_effect and abs(b) < grid.least_effect]
    if healed:
        return Verdict(alone, beside, "harmless:" + ",".join(healed))
    return Verdict(alone, beside, "help" if interaction > 0 else "hinder")
