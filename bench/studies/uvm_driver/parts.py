# SPDX-License-Identifier: Apache-2.0
"""The parts of the study and the runs of each."""
from study import GRAPHS, SHARES, STRIDED, WORKLOADS, Run

# Constants without a source, the preset's value, varied values. Software times: a tenth and ten times the preset's.
SOFTWARE = [
    ("driver.batch.interrupt_time", "5 us", ["500ns", "50us"]),
    ("driver.batch.time", "3 us", ["300ns", "30us"]),
    ("driver.batch.block_time", "25 us", ["2500ns", "250us"]),
    ("driver.batch.page_time", "2.5 us", ["250ns", "25us"]),
    ("driver.batch.prefetched_page_time", "156 ns", ["15600ps", "1560ns"]),
    ("driver.batch.first_touch_time", "20 us", ["2us", "200us"]),
    ("driver.notify_latency", "500 ns", ["50ns", "5us"]),
]
# The others: half and twice.
ASSUMED = SOFTWARE + [
    ("driver.migrations", "4096", [2048]),  # twice exceeds the parameter's range
    ("gpu.gmmu.fault_buffer", "1024", [512, 2048]),
    ("gpu.gmmu.sms_per_utlb", "2", [1, 4]),
    ("gpu.gmmu.walkers", "64", [32, 128]),
    ("gpu.gmmu.walk_cache", "64", [32, 128]),
    ("gpu.gmmu.pending", "256", [128, 512]),
    ("gpu.l1_tlb.waiters", "256", [128, 512]),
    ("gpu.l1_tlb.faulted_accesses", "1024", [512, 2048]),
]
# Assumed, but without effect in this study's runs: one GPU, faults in batches, no thread-block policy that adapts, no access counters.
UNUSED = ["driver.fault_latency", "driver.allocation_latency", "driver.batch.replay", "driver.batch.least_stay", "driver.batch.lifetimes",
          "driver.counters.interrupt_time"]
# Values with a source, varied: effect of a mechanism, or a possible difference between the model and a driver.
OTHERS = [
    ("driver.batch.replay", "batch_flush", ["batch", "block", "once", "page"]),
    ("driver.batch.faults", "256", [128, 512, 1024]),
    ("driver.batch.tree.threshold", "51", [25, 50, 75]),
    ("driver.batch.eviction_schedule", "serialized", ["ideal"]),
    ("driver.batch.eviction_unit", "2 MiB", ["64KiB"]),
    ("gpu.gmmu.faults_per_utlb", "56", [28, 112, 0]),
    ("gpu.l1_tlb.faulted_pages", "56", [28, 112]),
    ("memory.page_size", "4 KiB", ["64KiB"]),
]
UPDATES = "workload.random_access.updates"
VARIED_SHARES = [1, 0.8]
# Kim et al. measured on a Titan Xp, which has 30 SMs; the preset's V100 has 80.
TITAN_XP = {"gpu.sms": 30}
# Other readings of the checks: the preset's number of SMs; the values before the fit; a prefetched page that takes as long as a faulted one; no interrupt time,
# with the preset's messages and with messages of ten times the preset's time.
READINGS = {
    "80 SMs": {"gpu.sms": 80},
    "before the fit": {"driver.batch.interrupt_time": "0ns", "driver.batch.time": "10us", "driver.batch.block_time": "5us", "driver.batch.page_time": "100ns",
                       "driver.batch.prefetched_page_time": "100ns"},
    "prefetched as faulted": {"driver.batch.prefetched_page_time": "2500ns"},
    "no interrupt time": {"driver.batch.interrupt_time": "0ns"},
    "messages of 5 us": {"driver.batch.interrupt_time": "0ns", "driver.notify_latency": "5us"},
}


def cell(share):
    return f"{share:.0%}"


class Parts:
    """{part: {(what is varied, workload, share): run}}"""

    def __init__(self, size, names, quick=False):
        """`quick`: varies only software times and the replay, with all memory."""
        self.size, self.quick, self.runs = size, quick, {name: {} for name in names}
        for name in names:
            getattr(self, name)()

    def add(self, part, what, workload, share, settings):
        name = f"{part}, {what}, {workload}, {cell(share)}"
        self.runs[part][str(what), workload, cell(share)] = Run(workload, name, {"memory.gpu_share": share} | settings, self.size)

    def driver(self):
        for w in WORKLOADS:
            for share in SHARES:
                self.add("driver", "tree", w, share, {})
                self.add("driver", "none", w, share, {"driver.batch.prefetch": "none"})

    def checks(self):
        for w in GRAPHS:
            self.add("checks", "preset", w, 1, TITAN_XP)
        for what, settings in READINGS.items():
            for w in ["kcore"] if self.quick else GRAPHS:
                self.add("checks", what, w, 1, TITAN_XP | settings)
        off = {"driver.batch.prefetch": "none"}
        for what in ("before the fit", "messages of 5 us"):
            for w in ("vectoradd", "sgemm"):
                self.add("checks", what, w, 1, READINGS[what] | off)
        for what in ("preset", "no interrupt time", "messages of 5 us"):
            for w in STRIDED:
                self.add("checks", what, w, 1, READINGS.get(what, {}) | off)

    def assumed(self):
        self.vary("assumed", SOFTWARE if self.quick else ASSUMED)

    def others(self):
        if self.quick:
            return self.vary("others", OTHERS[:1])
        self.vary("others", OTHERS)
        for share in VARIED_SHARES:
            self.add("others", f"{UPDATES}=true", "random_access", share, {UPDATES: True})

    def vary(self, part, varied):
        for key, _, values in varied:
            for value in values:
                for w in WORKLOADS:
                    for share in VARIED_SHARES[:1] if self.quick else VARIED_SHARES:
                        self.add(part, f"{key}={value}", w, share, {key: value})
