# SPDX-License-Identifier: Apache-2.0
"""The parts of the study and the runs of each."""
from study import BOUND, COMPARED, DESIGNS, GRAPHS, MESSAGES, PAGES, REGISTERS, REGULAR, SCALE, SHORT, SLOW, THREE, TO, UE, Run

HEADLINE = COMPARED
SMS = [1, 4, 16]
EPOCHS = ["100us", "1ms"]
SHARES = [0.1, 0.25, 0.5, 0.75, 1]
HANDLING = [20, 30, 40, 50]  # us
SMALL = 14
LARGER = 2  # added to the scale
LARGE = ["bfs_ttc", "bfs_twc"]
PAIR = ["baseline", "to_ue"]
REAL = {"soc-Slashdot0902": "soc-Slashdot0902.mtx.gz", "cit-HepTh": "cit-HepTh.mtx.gz", "wing": "wing.graph", "astro-ph": "astro-ph.graph"}
# Parameters that paper and driver leave open or state in two ways: a lower and a higher value, or the alternatives.
ASSUMED = [
    ("gpu.sm.thread_oversubscription.blocks", "2", [1, 4]),
    ("gpu.sm.thread_oversubscription.reference", "highest", ["previous"]),
    ("gpu.sm.thread_oversubscription.decrease", "limits", ["one_less", "none"]),
    ("gpu.sm.thread_oversubscription.mean", "running", ["period"]),
    ("gpu.sm.thread_oversubscription.saves", "always", ["as_needed"]),
    ("gpu.sm.thread_oversubscription.warp_bytes", "80", [40, 160]),
    ("gpu.sm.thread_oversubscription.saved_in", "memory", ["shared_memory"]),
    ("driver.batch.eviction_order", "aged_lru", ["lru", "random"]),
    ("driver.batch.eviction_unit", "64 KiB", ["128KiB", "256KiB"]),
    ("driver.batch.clean_pages", "transferred", ["dropped"]),
    ("driver.batch.prefetch", "tree", ["none"]),
    ("driver.batch.tree.threshold", "50", [25, 100]),
    ("driver.batch.page_time", "0 ns", ["100ns"]),
    ("driver.batch.replay", "page", ["batch", "block", "once"]),
    ("driver.batch.unobtrusive.ahead", "1", [0, 2]),
    ("driver.batch.faults", "1024", [256]),
    ("gpu.l1_tlb.faulted_pages", "1024", [512, 2048, 56]),
    ("gpu.l1_tlb.faulted_accesses", "16384", [8192, 32768, 1024]),
    ("driver.migrations", "64", [32, 128]),
    ("gpu.l1_tlb.latency", "1", [2]),
    ("gpu.l2_tlb.latency", "4", [2, 8]),
    ("gpu.gmmu.walk_cache", "64", [32, 128]),
    ("gpu.crossbar_latency", "8", [4, 16]),
    ("gpu.l1_cache.latency", "1", [2]),
    ("gpu.l2_cache.latency", "14", [7, 28]),
    ("gpu.l2_cache.slices", "16", [8, 32]),
    ("gpu.dram.bandwidth", "32 GB/s", ["16GB/s", "64GB/s"]),
    ("gpu.copy_engine.window", "0", [64]),
    ("fabric.buffer", "0 B", ["64KiB"]),
    ("machine.topology", "15.75 and 17.325 GB/s", ["paper-batch-aware-equal", "paper-batch-aware-twice"]),
]
# Parameters of TO are varied at the size of the other parts, at which an SM gets more than two blocks of a kernel.
OF_TO = "gpu.sm.thread_oversubscription."
# Readings of TO: one setting of the table above, or several together.
TO_READINGS = {f"{key.removeprefix(OF_TO)}={value}": {key: value} for key, _, values in ASSUMED if key.startswith(OF_TO) for value in values} | {
    "lifetimes=all": {"driver.batch.lifetimes": "all"},
    "threshold=100": {OF_TO + "threshold": 100},
    "reference=previous, decrease=one_less": {OF_TO + "reference": "previous", OF_TO + "decrease": "one_less"},
}
# The rules that reduce the number of extra blocks are also run with BFS-TA and BC, in which TO migrates the most pages.
CONTROL = ("reference", "decrease", "mean", "lifetimes", "threshold")
SHRINK = ["bfs_ta", "bc"]
# Section 6.1: premature evictions with a fixed number of blocks.
PREMATURE = ["bfs_twc", "sssp_twc"]
BLOCKS = {2: 1, 3: 2}  # times the blocks that run without TO: extra blocks
# Parameters of the designs that the paper compares with.
OF_OTHERS = [
    ("driver.batch.sequential.bytes", "512 KiB", ["256KiB", "1MiB"], "sequential"),
    ("driver.batch.lru.epoch", "10 us", ["5us", "20us"], "lru"),
    ("fabric.compressed.ratio", "1.5", [1.25, 3], "pcie"),
    ("fabric.compressed.latency", "100 ns", ["50ns", "200ns"], "pcie"),
    ("gpu.memory_contents", "compressed", ["plain"], "etc"),
    ("gpu.compressed.ratio", "1.5", [1.25, 3], "etc"),
    ("gpu.compressed.latency", "10 ns", ["5ns", "20ns"], "etc"),
    ("gpu.sm.throttling.detection", "100000", [50000, 200000], "etc"),
    ("gpu.sm.throttling.execution", "400000", [200000, 800000], "etc"),
    ("gpu.sm.throttling.step", "1", [2, 4], "etc"),
]


class Parts:
    """runs: {part: {(what is varied, workload, design): run}}"""

    def __init__(self, scale, names, graphs):
        self.scale, self.runs = scale, {name: {} for name in names}
        for name in names:
            getattr(self, name)(graphs) if name == "real" else getattr(self, name)()

    def add(self, part, what, workload, design, settings, **more):
        more.setdefault("scale", self.scale)
        name = f"{part}, {what}, {workload}, {design}"
        self.runs[part][str(what), workload, design] = Run(workload, name, DESIGNS[design] | settings, **more)

    def keep(self, workloads):
        self.runs = {part: {key: run for key, run in runs.items() if key[1] in workloads} for part, runs in self.runs.items()}

    def headline(self):
        for w in GRAPHS:
            for d in HEADLINE:
                if w not in SLOW or d in ("unlimited", "baseline", "to", "ue", "to_ue"):
                    self.add("headline", 0.5, w, d, {})

    def shares(self):
        for w in GRAPHS:
            for d in ("baseline", "to", "ue", "to_ue"):
                if w not in SLOW:
                    self.add("shares", 0.75, w, d, {"memory.gpu_share": 0.75})
        for share in SHARES:
            for w in THREE:
                for d in ("baseline", "ue"):
                    self.add("shares", share, w, d, {"memory.gpu_share": share})

    def handling(self):
        for us in HANDLING:
            for w in THREE:
                for d in ("baseline", "to", "ue", "to_ue"):
                    self.add("handling", us, w, d, {"driver.batch.time": f"{us}us"})

    def switching(self):
        """Fig. 5: without faults. An SM has the registers of one block of the widest kernel, so a second block requires saving them."""
        for w in GRAPHS:
            if w in SLOW:
                continue
            registers = {"gpu.sm.registers": 1024 * REGISTERS[w]}
            self.add("switching", 0, w, "resident", registers)
            self.add("switching", 1, w, "resident", registers | TO |
                     {"gpu.sm.thread_oversubscription.trigger": "long_latency", "gpu.sm.thread_oversubscription.blocks": 1})

    def working_set(self):
        """Fig. 1: pages accessed per epoch, by number of SMs."""
        for w in THREE + list(REGULAR):
            for epoch in EPOCHS:
                for n in SMS:
                    self.add("working_set", f"{epoch}, {n}", w, "resident",
                             {"gpu.sms": n, "driver.batch.eviction_order": "lru", "driver.batch.lru.epoch": epoch})

    def small(self):
        for w in GRAPHS:
            if w in SLOW:
                continue
            scale = min(SMALL, self.scale)
            for d in ("unlimited", "baseline", "to", "ue", "to_ue"):
                self.add("small", 0.5, w, d, {}, scale=scale)
                if d != "unlimited":
                    self.add("small", 0.75, w, d, {"memory.gpu_share": 0.75}, scale=scale)

    def large(self):
        for w in LARGE:
            for d in ("unlimited", "baseline", "to", "ue", "to_ue"):
                self.add("large", 0.5, w, d, {}, scale=self.scale + LARGER)
        for w in PREMATURE:
            if w not in LARGE:
                self.add("large", 0.5, w, "baseline", {}, scale=self.scale + LARGER)
            for times, blocks in BLOCKS.items():
                self.add("large", f"{times}x", w, "to", {OF_TO + "blocks": blocks, OF_TO + "threshold": 100}, scale=self.scale + LARGER)

    def real(self, graphs):
        for name, file in REAL.items():
            if graphs is None or not (graphs / file).exists():
                continue
            for w in THREE:
                for share in (0.5, 0.75):
                    for d in ("baseline", "to", "ue", "to_ue"):
                        self.add("real", f"{name}, {share:.0%}", w, d, {"memory.gpu_share": share}, graph=graphs / file)

    def regular(self):
        for w in REGULAR:
            for d in ("unlimited", "baseline", "etc", "to", "ue", "to_ue", "ideal"):
                self.add("regular", 0.5, w, d, {})

    def readings(self):
        for message in MESSAGES:
            for w in SHORT:
                for d in ("baseline", "pcie", "to", "to_ue", "ideal"):
                    self.add("readings", message, w, d, {"driver.notify_latency": message})

    def bound(self):
        for w, size in BOUND.items():
            for share in (0.5, 0.75):
                for page in PAGES:
                    for d in ("ue", "ideal"):
                        self.add("bound", f"{share:g}, {page}", w, d, {"memory.gpu_share": share, "memory.page_size": page, "driver.batch.eviction_unit": page}, size=size)

    def sensitivity(self):
        smaller = {"scale": self.scale - 1}
        for w in THREE:
            for d in PAIR + ["sequential", "pcie", "etc"]:  # `lru` is among the varied eviction orders below
                self.add("sensitivity", "as it is", w, d, {}, **smaller)
        for key, _, values in ASSUMED:
            for value in values:
                for w in [] if key.startswith(OF_TO) else THREE:
                    for d in PAIR:
                        self.add("sensitivity", f"{key}={value}", w, d, {key: value}, **smaller)
        for what, settings in TO_READINGS.items():
            for w in THREE + (SHRINK if what.startswith(CONTROL) else []):
                for d in ("to", "to_ue"):
                    self.add("sensitivity", what, w, d, settings)
        for key, _, values, design in OF_OTHERS:
            for value in values:
                for w in THREE:
                    self.add("sensitivity", f"{key}={value}", w, design, {key: value}, **smaller)
