# SPDX-License-Identifier: Apache-2.0
"""The parts of the study and the runs of each."""
from study import APPLICATIONS, DESIGNS, GPU_MMU, SMS, Run, heterogeneous

# Fig. 4: "the load-to-use latency with 2MB large pages (318 us)", "with 4KB base pages (55 us)" (section 3.2). The paper does not state
# the number of faults in flight. The published code serves one at a time (memory_owner.cc, remove_page_fault); 16 and 256 have no source.
IN_FLIGHT = [1, 16, 256]
FAULTS = {"memory.placement": "first_touch"}
FAULT = {"gpu_mmu": FAULTS, "large": FAULTS | {"driver.fault_latency": "318us"}}
# Splits of the SMs between two applications: SMs between consecutive splits.
STEP = 5

COMPARED = ["gpu_mmu", "mosaic", "ideal"]
# Parts with weighted speedups, which need the applications alone.
SPEEDUPS = ["homogeneous", "heterogeneous", "launch", "tlb_sizes", "sensitivity", "fragmentation", "migrating"]
# The host allocates a program's memory at its start, copies its data, and frees the memory at the end.
PROGRAM = {"copies": True, "allocates": True}
COPIES = {True: [1, 2, 5], False: [1, 2, 3, 4, 5]}  # by quick
EVERY = {True: 3, False: 1}                         # distance in the list of the applications in long parts, by quick
MIXES = {True: 5, False: 25}                        # of each size, by quick
LAUNCHED = {True: 2, False: 25}                     # the same for Fig. 12
LAUNCHED_COPIES = {True: [1, 2], False: [1, 2, 3, 4, 5]}
SPLIT = {True: 2, False: 25}                        # mixes of two
# Mixes of the TLB sizes: two applications that gain much, two that gain little, and a mix.
SIZED = {True: [("SC",), ("HISTO",), ("NW", "HISTO")], False: [("3DS",), ("SC",), ("BP",), ("HISTO",), ("NW", "HISTO")]}
ENTRIES = [
    ("gpu.l1_tlb.entries", "Fig. 14a", [8, 16, 32, 64, 128, 256]),
    ("gpu.l2_tlb.entries", "Fig. 14b", [64, 128, 256, 512, 1024, 4096]),
    ("gpu.l1_tlb.by_page_size.large_entries", "Fig. 15a", [4, 8, 16, 32, 64]),
    ("gpu.l2_tlb.by_page_size.large_entries", "Fig. 15b", [32, 64, 128, 256, 512]),
]
# Parameters that the paper does not state: halved and doubled, or the alternatives.
ASSUMED = [
    ("gpu.gmmu.walk_reads_first_entry", "true", [False]),
    ("gpu.gmmu.table_writes", "8", [4, 16]),
    ("gpu.l1_tlb.mshrs", "64", [1, 32, 128]),
    ("gpu.l2_tlb.mshrs", "64", [32, 128]),
    ("gpu.l2_tlb.latency", "10", [5, 20]),
    ("gpu.translation_latency", "4", [2, 8]),
    ("gpu.crossbar_latency", "50", [8, 25, 100]),
    ("gpu.dram.controller_latency", "29.4 ns", ["14706ps", "58824ps"]),
    ("gpu.sm.issue", "one", ["one_of_each_kind"]),
    ("gpu.l1_cache.mshrs", "128", [64, 256]),
    ("gpu.dram.bandwidth", "53.6 GB/s", ["26784MB/s", "107136MB/s"]),
    ("gpu.dram.queue", "64", [32, 128]),
    ("gpu.sm.max_warps", "48", [24, 64]),
    ("gpu.sm.simds", "4", [1, 2]),
    ("gpu.sm.dependent_latency", "4", [2, 10]),
    ("gpu.dram.row", "4 KiB", ["2KiB"]),
    ("gpu.dram.t_wtr", "3 ns", ["0ns"]),
    ("gpu.scalar_cache.sms", "1", [4]),
    ("gpu.l2_tlb.ports", "2", [1]),
    ("gpu.l2_cache.mshrs", "128", [64]),
    ("host.launch_latency", "1 ns", ["5400ns"]),
]
# Section 6.4: memory divided by data, as in the paper: 3 GB to 81.5 MB, the average of an application (section 3.2), or to
# 217 MB, the average of a workload of several applications (section 5).
MEMORY_OF_DATA = {1: 3072 / 81.5, 2: 3072 / 217}


def memory_of(applications):
    return MEMORY_OF_DATA[min(applications, 2)]


DATA = {"3DS": 32.0, "SC": 5.9, "HISTO": 8.2, "CONS": 54.0, "NW": 32.0}  # MiB of the buffers
FRAGMENTED = {True: [("SC",), ("HISTO",), ("NW", "HISTO")], False: [("3DS",), ("SC",), ("HISTO",), ("CONS",), ("NW", "HISTO")]}
INDEX = [0, 0.5, 0.9, 0.97, 0.98, 0.99, 1]
OCCUPANCY = [0.01, 0.1, 0.25, 0.35, 0.5, 0.75]
COMPACTING = ["no_cac", "mosaic", "cac_bc", "ideal_cac"]
# Thresholds of compaction, for Table 2, with the quotation or source of each.
SPLINTERS = "section 4.4: \"If the number of allocated base pages falls below a predetermined threshold\""
THRESHOLD_OF = {
    0.8: f"{SPLINTERS}, \"configurable\"; section 6.4: \"when the large page frame occupancy is very high (e.g., above 75%), CAC compacts the pages effectively\"; the preset",
    0.5: f"{SPLINTERS}; one half, without section 6.4",
    1.0: f"{SPLINTERS}; every large page that is not full",
}
THRESHOLDS = [0.5, 1.0]
NO_SOURCE = "none; sensitivity only"
# Parameter, value of the preset, {value: quotation or source}.
ASSUMED_OF_COMPACTION = [
    ("memory.compaction_threshold", "0.8", {value: THRESHOLD_OF[value] for value in THRESHOLDS}),
    ("memory.cac_bulk_copy.time", "80 ns", {"40ns": "half of \"e.g., 80 ns\" (section 4.4)", "160ns": "twice \"e.g., 80 ns\" (section 4.4)"}),
    ("memory.cac_bulk_copy.at_a_time", "1", {2: NO_SOURCE, 6: "published code, dram.cc: one copy per channel, of six"}),
    ("gpu.l2_cache.interleave", "256 B", {
        "4KiB": "a base page in one row: \"a single bulk memory operation\" (section 4.4)",
        "2MiB": "section 4.4: \"we restrict CAC to migrate base pages between only large page frames that reside within the same memory channel\""}),
    ("driver.migrations", "16", {4: NO_SOURCE, 64: NO_SOURCE}),
    ("driver.allocation_latency", "1 ns", {"100ns": NO_SOURCE}),
    ("gpu.copy_engine.window", "auto", {16: NO_SOURCE, 256: NO_SOURCE}),
]
# Several of them together: {name: settings}.
TOGETHER = {"gpu.l2_cache.interleave=2MiB, memory.cac_bulk_copy.at_a_time=6": {"gpu.l2_cache.interleave": "2MiB", "memory.cac_bulk_copy.at_a_time": 6}}
VARIED = {True: [("SC",), ("HISTO",)], False: [("3DS",), ("SC",), ("HISTO",), ("NW", "HISTO")]}


def capacity_for(mix):
    """Memory for the mix; its upper eighth holds page tables."""
    return f"{round(sum(DATA[name] for name in mix) * memory_of(len(mix)) * 8 / 7)}MiB"


def ways_of(key, entries):
    """The L1 TLB is fully associative."""
    return {"gpu.l1_tlb.ways": entries} if key == "gpu.l1_tlb.entries" else {}


class Parts:
    """runs: {part: {(what is varied, mix, design): run}}. The part "alone" has the single applications, the references of weighted speedups."""

    def __init__(self, names, quick, applications):
        self.quick, self.applications = quick, applications
        self.runs = {"alone": {}} | {name: {} for name in names}
        for name in names:
            getattr(self, name)()
        for name, of in sorted({(name, len(key[1])) for part in SPEEDUPS for key in self.runs.get(part, {}) for name in key[1]}):
            self.alone(name, of)
        for name in sorted({name for key in self.runs.get("splits", {}) for name in key[1]}):
            self.alone(name, 1)

    def alone(self, name, of):
        """An application alone with GPU-MMU, on its share of the SMs as one of `of` applications."""
        for sms in sorted({SMS // of + (1 if i < SMS % of else 0) for i in range(of)}):
            self.runs["alone"][str(sms), (name,), "gpu_mmu"] = Run((name,), f"alone, {sms}, {name}", GPU_MMU, (sms,))

    def add(self, part, what, mix, design, settings=None, **more):
        if not set(mix) <= set(self.applications):
            return
        name = f"{part}, {what}, {'+'.join(mix)}, {design}"
        self.runs[part][str(what), mix, design] = Run(mix, name, DESIGNS[design] | (settings or {}), **more)

    def some(self):
        return list(APPLICATIONS)[::EVERY[self.quick]]

    def page_sizes(self):
        """Fig. 3."""
        for name in APPLICATIONS:
            for design in ("large", "ideal", "gpu_mmu"):
                self.add("page_sizes", 1, (name,), design)

    def homogeneous(self):
        for copies in COPIES[self.quick]:
            for name in APPLICATIONS if copies < 5 else self.some():
                for design in COMPARED:
                    self.add("homogeneous", copies, (name,) * copies, design)

    def heterogeneous(self):
        for n, mixes in heterogeneous().items():
            for mix in mixes[:MIXES[self.quick]]:
                for design in COMPARED:
                    self.add("heterogeneous", n, mix, design)

    def faults(self):
        """Fig. 4: demand paging, each page at its first touch."""
        for copies in ([1, 2, 5] if not self.quick else [1]):
            for name in self.some():
                for n in IN_FLIGHT:
                    for design, settings in FAULT.items():
                        self.add("faults", f"{copies}, {n}", (name,) * copies, design, settings | {"driver.faults_at_a_time": n})
                self.add("faults", f"{copies}, none", (name,) * copies, "gpu_mmu")

    def launch(self):
        """Fig. 12: the host copies an application's data to the GPU before its first kernel and the results back."""
        mixes = [(name,) * copies for copies in LAUNCHED_COPIES[self.quick] for name in (APPLICATIONS if copies == 1 else self.some())]
        mixes += [m for drawn in heterogeneous().values() for m in drawn[:LAUNCHED[self.quick]]]
        for mix in mixes:
            for design in ("gpu_mmu", "mosaic"):
                self.add("launch", len(mix), mix, design, program=PROGRAM)
            self.add("launch", f"{len(mix)}, none", mix, "gpu_mmu")

    def fragmented(self, part, what, mix, designs, settings):
        """Programs allocate their data at their start, in fragmented memory."""
        for design in designs:
            self.add(part, what, mix, design, {"gpu.dram.capacity": capacity_for(mix)} | settings, program={"allocates": True})

    def fragmentation(self):
        """Fig. 16 and Table 2."""
        for mix in FRAGMENTED[self.quick]:
            for index in INDEX:
                self.fragmented("fragmentation", f"index={index}", mix, COMPACTING + ["gpu_mmu"], {"memory.fragmentation_index": index})
            for occupancy in OCCUPANCY:
                settings = {"memory.fragmentation_index": 1, "memory.fragmentation_occupancy": occupancy}
                self.fragmented("fragmentation", f"occupancy={occupancy}", mix, COMPACTING + ["cac_no_stall", "gpu_mmu"], settings)
                for threshold in THRESHOLDS:
                    self.fragmented("fragmentation", f"occupancy={occupancy}, threshold={threshold}", mix, ["no_cac", "mosaic"],
                                    settings | {"memory.compaction_threshold": threshold})
            for key, _, values in ASSUMED_OF_COMPACTION:
                for value in values:
                    self.fragmented("fragmentation", f"{key}={value}", mix, ["no_cac", "mosaic", "cac_bc"], {"memory.fragmentation_index": 1, key: value})
            for name, settings in TOGETHER.items():
                self.fragmented("fragmentation", name, mix, ["no_cac", "mosaic", "cac_bc"], {"memory.fragmentation_index": 1} | settings)

    def migrating(self):
        """Section 4.3: coalescing with moved base pages, and in place. Frames of two applications that allocate at the same time
        alternate."""
        for name in self.some():
            for design in ("gpu_mmu", "migrating", "mosaic"):
                self.add("migrating", 2, (name,) * 2, design, program={"allocates": True})

    def splits(self):
        """The oracle: the best of all static splits."""
        for mix in heterogeneous()[2][:SPLIT[self.quick]]:
            for first in range(STEP, SMS, STEP):
                for design in ("gpu_mmu", "mosaic"):
                    self.add("splits", first, mix, design, sms=(first, SMS - first))

    def tlb_sizes(self):
        """Figs. 14 and 15."""
        for mix in SIZED[self.quick]:
            for key, _, values in ENTRIES:
                for value in values:
                    for design in ("gpu_mmu", "mosaic"):
                        self.add("tlb_sizes", f"{key}={value}", mix, design, {key: value} | ways_of(key, value))

    def sensitivity(self):
        """All data is resident from the start: an ideal TLB would miss on pages that programs allocate."""
        for mix in VARIED[self.quick]:
            for design in COMPARED:
                self.add("sensitivity", "as it is", mix, design)
            for key, _, values in ASSUMED:
                for value in values:
                    for design in COMPARED:
                        self.add("sensitivity", f"{key}={value}", mix, design, {key: value})
