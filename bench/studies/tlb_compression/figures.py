# SPDX-License-Identifier: Apache-2.0
"""Speedups, differences of rates and their means, from the measures of the runs."""
import math

from study import TABLE_2, HIGH
from tables import average, ratio

AS_IT_IS = "as it is"


def points(value, digits=1):
    """A difference of two shares in percentage points."""
    return "-" if value is None else f"{100 * value:+.{digits}f}"


def letter(rate):
    return "-" if rate is None else "H" if rate >= HIGH else "L"


def geometric(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def difference(a, b):
    return None if a is None or b is None else a - b


class Figures:
    """Figures of {(what, benchmark, design): measures} by part. Missing measures are None; means skip them."""

    def __init__(self, measured):
        self.measured = measured

    def of(self, part, what, benchmark, design, name):
        found = self.measured.get(part, {}).get((what, benchmark, design))
        return found[name] if found else None

    def benchmarks(self, part):
        return list(dict.fromkeys(k[1] for k in self.measured.get(part, {})))

    def whats(self, part):
        return list(dict.fromkeys(k[0] for k in self.measured.get(part, {})))

    def speedup(self, part, what, benchmark, design, over="plain", base=None):
        """Cycles of `over`, with the setting `base`, divided by the design's."""
        return ratio(self.of(part, base or what, benchmark, over, "cycles"), self.of(part, what, benchmark, design, "cycles"))

    def change(self, part, what, benchmark, design, name="l2_hit", over="plain", base=None):
        """Change of a rate vs. `over`: absolute and relative."""
        ours, theirs = self.of(part, what, benchmark, design, name), self.of(part, base or what, benchmark, over, name)
        return difference(ours, theirs), difference(ratio(ours, theirs), 1)

    def walks(self, part, what, benchmark, design, over="plain"):
        """Walks of the design divided by the walks of `over`."""
        return ratio(self.of(part, what, benchmark, design, "walks"), self.of(part, what, benchmark, over, "walks"))

    def mean_speedup(self, part, what, design, among=TABLE_2, over="plain", mean=average, base=None):
        return mean([self.speedup(part, what, b, design, over, base) for b in self.benchmarks(part) if b in among])

    def mean_change(self, part, what, design, among=TABLE_2, name="l2_hit", over="plain", base=None):
        found = [self.change(part, what, b, design, name, over, base) for b in self.benchmarks(part) if b in among]
        return tuple(average([f[i] for f in found]) for i in range(2))

    def mean(self, part, what, design, name, among=TABLE_2):
        return average([self.of(part, what, b, design, name) for b in self.benchmarks(part) if b in among])
