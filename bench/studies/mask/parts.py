# SPDX-License-Identifier: Apache-2.0
"""The parts of the study and the runs of each."""
import random

from study import (DESIGNS, LARGE_PAGES, PRESET, PUBLISHED, READINGS, SEED, SENSITIVITY, SIZES, SMS, STATIC, SYSTEM, TABLE_2, TLB_SIZES, Run, class_of, pairs,
                   splits, static_part)

COMPARED = ["shared_tlb", "mask", "ideal"]
# Table 4: the other GPUs and their numbers of SMs; and the published code's parameters.
GPUS = {"paper-mask-fermi": 15, "paper-mask-integrated": 6, "published-mask": SMS}
MIXES = {True: 2, False: 10}   # per number of applications (1 to 5), by quick
OF_EACH_CLASS = 5              # pairs per class for the figures with quick; otherwise all
SOME = 10                      # pairs of the other parts; with quick the first of each class
STEP = {True: 5, False: 1}     # SMs between consecutive splits; 1: all splits


def designs_of(preset):
    return PUBLISHED if preset == "published-mask" else DESIGNS


def first_of_each_class(drawn, number):
    return [p for i, p in enumerate(drawn) if sum(class_of(q) == class_of(p) for q in drawn[:i]) < number]


def mixes(size, number):
    """Random mixes of `size` applications, drawn like the pairs; none has low/low applications only."""
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
    """runs: part -> (what, mix, design) -> Run. The part "alone" has the single applications, the references of weighted speedups."""

    def __init__(self, names, quick, chosen):
        self.chosen = set(chosen)
        self.runs = {"alone": {}} | {name: {} for name in names}
        drawn = [p for p in pairs() if set(p) <= self.chosen]
        if quick:
            drawn = first_of_each_class(drawn, OF_EACH_CLASS)
        self.some = first_of_each_class(drawn, 1) if quick else drawn[:SOME]
        for name in names:
            getattr(self, name)(drawn, quick)

    def add(self, part, what, mix, design, settings, sms, preset=None):
        name = f"{part}, {what}, {'+'.join(mix)}, {design}"
        self.runs[part][what, mix, design] = Run(mix, name, settings, tuple(sms) if len(mix) > 1 else (), base=preset or PRESET)

    def alone(self, mix, sms, preset=None, system="", more=None):
        """Each application alone on the same number of SMs with SharedTLB: the reference of weighted speedups. `system` names the varied settings `more`."""
        for name, share in zip(mix, sms):
            settings = designs_of(preset)["shared_tlb"] | (more or {}) | {"gpu.sms": share}
            self.add("alone", f"{preset or system}{share}", (name,), "shared_tlb", settings, (), preset)

    def compare(self, part, what, mix, designs, more=None, sms=None, preset=None):
        for design in designs:
            self.add(part, what, mix, design, designs_of(preset)[design] | (more or {}), sms or equal(len(mix)), preset)

    def pairs(self, drawn, quick):
        for mix in drawn:
            self.alone(mix, equal(2))
            self.compare("pairs", "equal", mix, DESIGNS)
            for name in mix:
                self.add("pairs", "equal", (name,), STATIC, static_part(2) | {"gpu.sms": SMS // 2}, ())
                self.once(name)

    def once(self, name):
        """A single run of a program that otherwise runs several times: later runs have no cold misses."""
        own, repeats = SIZES[name][:2]
        if repeats > 1:
            settings = DESIGNS["shared_tlb"] | {"gpu.sms": SMS // 2}
            self.runs["alone"]["once", (name,), "shared_tlb"] = Run((name,), f"alone, once, {name}", settings, sizes={name: (own, 1)})

    def splits(self, drawn, quick):
        for mix in self.some:
            for sms in splits()[STEP[quick] - 1::STEP[quick]]:
                self.alone(mix, sms)
                self.compare("splits", f"{sms[0]}+{sms[1]}", mix, ("shared_tlb", "mask"), sms=sms)
                for name, share in zip(mix, sms):
                    self.add("splits", str(share), (name,), STATIC, static_part(2) | {"gpu.sms": share}, ())

    def number(self, drawn, quick):
        for size in range(1, 6):
            for mix in mixes(size, MIXES[quick]):
                if set(mix) <= self.chosen:
                    self.alone(mix, equal(size))
                    self.compare("number", size, mix, COMPARED)

    def generality(self, drawn, quick):
        for preset, sms in GPUS.items():
            for mix in self.some:
                self.alone(mix, equal(2, sms), preset)
                self.compare("generality", preset, mix, ["pw_cache"] + COMPARED, sms=equal(2, sms), preset=preset)

    def tlb_sizes(self, drawn, quick):
        for mix in self.some:
            self.alone(mix, equal(2))
            for entries in TLB_SIZES:
                self.compare("tlb_sizes", entries, mix, ("shared_tlb", "mask"), {"gpu.l2_tlb.entries": entries})

    def large_pages(self, drawn, quick):
        for mix in self.some:
            self.alone(mix, equal(2), system="2 MiB, ", more=LARGE_PAGES)
            self.compare("large_pages", "2 MiB", mix, COMPARED, LARGE_PAGES)

    def readings(self, drawn, quick):
        """Each reading has references in its own system; the first one, the preset's, shares them with all parts."""
        for mix in self.some:
            for reading in READINGS:
                self.alone(mix, equal(2), system=reading.name() if reading.settings else "", more=reading.settings)
                self.compare("readings", reading.name(), mix, COMPARED, reading.settings)

    def sensitivity(self, drawn, quick):
        for mix in self.some:
            self.alone(mix, equal(2))
            self.compare("sensitivity", "as it is", mix, ("shared_tlb", "mask"))
            for key, values in SENSITIVITY.items():
                for value in values:
                    self.add("sensitivity", f"{key}={value}", mix, "mask", {key: value}, equal(2))
            for key, values in SYSTEM.items():
                for value in values:
                    self.alone(mix, equal(2), system=f"{key}={value}", more={key: value})
                    self.compare("sensitivity", f"{key}={value}", mix, ("shared_tlb", "mask"), {key: value})
