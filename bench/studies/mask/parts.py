# SPDX-License-Identifier: Apache-2.0
"""The parts of the study: which runs each is made of."""
import random

from study import DESIGNS, PRESET, SEED, SENSITIVITY, SHARED_TLB, SMS, STATIC, TABLE_2, Run, pairs, splits, static_part

COMPARED = ["shared_tlb", "mask", "ideal"]
# Table 4: the other GPUs, with their SMs.
GPUS = {"paper-mask-fermi": 15, "paper-mask-integrated": 6}
MIXES = {True: 3, False: 10}   # of 1 to 5 applications, by quick
PAIRS = {True: 12, False: 35}  # of the figures, by quick
SOME = {True: 3, False: 10}    # pairs of the other parts
STEP = {True: 5, False: 1}     # SMs from one split to the next; 1: all splits


def mixes(size, number):
    """Of so many applications, drawn as the pairs are; none of low/low ones alone."""
    draw = random.Random(SEED + size)
    names = [name for rates, of in TABLE_2.items() for name in of]
    found = []
    while len(found) < number:
        mix = tuple(draw.sample(sorted(names), size))
        if set(mix) - set(TABLE_2["low", "low"]) and mix not in found:
            found.append(mix)
    return found


def equal(applications, sms=SMS):
    return tuple(sms // applications + (1 if i < sms % applications else 0) for i in range(applications))


class Parts:
    """runs: part -> (what, mix, design) -> Run. The applications alone, to which weighted speedups are held, are the part "alone"."""

    def __init__(self, names, quick, chosen):
        self.chosen = set(chosen)
        self.runs = {"alone": {}} | {name: {} for name in names}
        drawn = [p for p in pairs() if set(p) <= self.chosen][:PAIRS[quick]]
        for name in names:
            getattr(self, name)(drawn, quick)

    def add(self, part, what, mix, design, settings, sms, preset=None):
        name = f"{part}, {what}, {'+'.join(mix)}, {design}"
        self.runs[part][what, mix, design] = Run(mix, name, settings, tuple(sms) if len(mix) > 1 else (), base=preset or PRESET)

    def alone(self, mix, sms, preset=None):
        """Each application on as many SMs, with SharedTLB: what a weighted speedup is held to."""
        for name, share in zip(mix, sms):
            self.add("alone", f"{preset or ''}{share}", (name,), "shared_tlb", SHARED_TLB | {"gpu.sms": share}, (), preset)

    def pairs(self, drawn, quick):
        for mix in drawn:
            sms = equal(2)
            self.alone(mix, sms)
            for design, settings in DESIGNS.items():
                self.add("pairs", "equal", mix, design, settings, sms)
            for name in mix:
                self.add("pairs", "equal", (name,), STATIC, static_part(2) | {"gpu.sms": SMS // 2}, ())

    def splits(self, drawn, quick):
        for mix in drawn[:SOME[quick]]:
            for sms in splits()[STEP[quick] - 1::STEP[quick]]:
                self.alone(mix, sms)
                for design in ("shared_tlb", "mask"):
                    self.add("splits", f"{sms[0]}+{sms[1]}", mix, design, DESIGNS[design], sms)

    def number(self, drawn, quick):
        for size in range(1, 6):
            for mix in mixes(size, MIXES[quick]):
                if set(mix) <= self.chosen:
                    self.alone(mix, equal(size))
                    for design in COMPARED:
                        self.add("number", size, mix, design, DESIGNS[design], equal(size))

    def generality(self, drawn, quick):
        for preset, sms in GPUS.items():
            for mix in drawn[:SOME[quick]]:
                self.alone(mix, equal(2, sms), preset)
                for design in ["pw_cache"] + COMPARED:
                    self.add("generality", preset, mix, design, DESIGNS[design], equal(2, sms), preset)

    def sensitivity(self, drawn, quick):
        for mix in drawn[:SOME[quick]]:
            self.alone(mix, equal(2))
            self.add("sensitivity", "as it is", mix, "mask", {}, equal(2))
            for key, values in SENSITIVITY.items():
                for value in values:
                    self.add("sensitivity", f"{key}={value}", mix, "mask", {key: value}, equal(2))
