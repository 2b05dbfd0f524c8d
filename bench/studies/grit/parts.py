# SPDX-License-Identifier: Apache-2.0
"""The parts of the study and the runs of each."""
from study import POLICIES, SHARE, WORKLOADS, Run

THRESHOLDS = [2, 4, 8, 16]
# Time of a batch of faults, and of a service of access counters.
COSTS = ["2us", "20us", "200us"]
BASE_COST = "20us"
COUNTING = ["access_counters", "grit"]  # policies with access counters
# Readings, and differences from the paper: settings and their source.
READINGS = {
    "memory of all GPUs": ({"memory.gpu_share": SHARE}, '"70% of the memory footprint" read as the memory of the four GPUs together'),
    "20 us per page": ({"driver.batch.time": "1ns", "driver.batch.page_time": "20us"},
                       "20 us for each page that faults or is counted, one after the other, instead of for each batch of faults"),
    "blocks in rotation": ({"host.block_order": "round_robin"}, "MGPUSim until March 2021: one block at a time for each GPU"),
    "mapped at the start": ({"memory.access_counters.first_access": "mapped"}, "no fault at the first access"),
}
# Policies on which a reading has an effect; the others have the runs of the part `policies`.
ONLY = {"mapped at the start": ["access_counters"]}
LARGER = "larger data"


class Parts:
    """{part: {(what is varied, workload, policy): run}}"""

    def __init__(self, size, names, workloads=WORKLOADS):
        self.size, self.workloads, self.runs = size, list(workloads), {name: {} for name in names}
        for name in names:
            getattr(self, name)()

    def add(self, part, what, policies, settings, size=None):
        for w in self.workloads:
            for p in policies:
                self.runs[part][what, w, p] = Run(w, p, f"{part}, {what}, {w}, {p}", settings, size or self.size)

    def policies(self):
        self.add("policies", "4", POLICIES, {})
        self.add("policies", "no prediction", ["grit"], {"memory.grit.predicts": False})
        for n in THRESHOLDS:
            if n != 4:
                self.add("policies", str(n), ["grit"], {"memory.grit.faults": n})

    def costs(self):
        for time in COSTS:
            if time != BASE_COST:
                for p in POLICIES:
                    service = {"driver.counters.interrupt_time": time} if p in COUNTING else {}
                    self.add("costs", time, [p], {"driver.batch.time": time} | service)

    def readings(self):
        for what, (settings, _) in READINGS.items():
            self.add("readings", what, ONLY.get(what, POLICIES), settings)
        self.add("readings", LARGER, POLICIES, {}, {"small": "default", "default": "larger"}[self.size])
