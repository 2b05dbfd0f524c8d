# SPDX-License-Identifier: Apache-2.0
"""Effects of mechanisms and of pairs of them, from the performance of the cells of a grid.

The performance of a cell is the mean over its applications of the logarithm of 1 / time; a difference of two is the logarithm of a
speed-up (geometric mean). The *effect* of a mechanism in a cell without it, its background: the performance with it minus that without
it. The *interaction* of two in a cell without both: the effect of both minus the two effects of each by itself; 0: they add, as factors.
Above 0, each does more where the other is; below 0, less.
"""
import math
from dataclasses import dataclass

SMALL = math.log(1.02)  # what is called nothing, however little chance there is
LOST = 0.25             # of an effect: where no more of it is left, the mechanism is called useless


def performance(times):
    """Of the applications of one run or more; None where one has no time."""
    return None if not times or any(t is None for t in times) else -sum(map(math.log, times)) / len(times)


def average(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def spread(repeats):
    """Standard deviation of the performance of a cell by chance, from lists of performances of one cell each; None where no cell has two."""
    squares, free = 0, 0
    for found in repeats:
        found = [p for p in found if p is not None]
        if len(found) > 1:
            squares += sum((p - average(found)) ** 2 for p in found)
            free += len(found) - 1
    return math.sqrt(squares / free) if free else None


class Grid:
    """cells: {cell, a tuple of mechanisms in the order of `mechanisms`: performance}; those that are missing have none. noise: the
    standard deviation of a cell's performance, of which an effect is the difference of two, and an interaction that of four: what is not
    beyond two standard deviations of such a difference is called nothing."""

    def __init__(self, cells, mechanisms, noise=None):
        self.noise = noise
        self.least_effect = max(SMALL, 2 * math.sqrt(2) * (noise or 0))
        self.least_interaction = max(SMALL, 4 * (noise or 0))
        self.cells = {frozenset(cell): value for cell, value in cells.items() if value is not None}
        self.mechanisms = list(mechanisms)

    def of(self, *mechanisms):
        return self.cells.get(frozenset(mechanisms))

    def gain(self, cell, over=()):
        """Of a cell over another one."""
        a, b = self.cells.get(frozenset(cell)), self.cells.get(frozenset(over))
        return None if a is None or b is None else a - b

    def backgrounds(self, *without):
        """All cells that have none of these."""
        others = [m for m in self.mechanisms if m not in without]
        return [frozenset(m for i, m in enumerate(others) if n >> i & 1) for n in range(1 << len(others))]

    def effect(self, one, background=frozenset()):
        return self.gain(background | {one}, background)

    def effects(self, one):
        """In all backgrounds that have been measured."""
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
        """The cell with the highest performance; in doubt, of the fewest mechanisms."""
        return max(self.cells, key=lambda c: (self.cells[c], -len(c)), default=None)


@dataclass
class Verdict:
    """Of a pair in the bare machine: the effects of each alone and beside the other."""
    alone: tuple   # of the first, of the second
    beside: tuple  # where the other one is
    words: str


def says(grid, one, other, background=frozenset()):
    """What two mechanisms do to each other in a background, in words; None where a cell is missing."""
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
