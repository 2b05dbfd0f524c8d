# SPDX-License-Identifier: Apache-2.0
"""Small runs in which a parameter acts: settings by key, and the values to try.

A parameter's run has the settings of the first rule of RULES whose pattern matches its key; if no value has an effect, of the next ones.
Parameters of a workload have a last one: the workload's inputs in WORKLOADS. The conditions of the parameter ("only with
gpu.router.policy = ...") are added to them.
"""
# Machines of two and four GPUs with two SMs each, and a program that accesses pages of all GPUs at random.
TWO = {"machine.topology": "two-gpu", "gpu.sms": "2"}
RANDOM = {"workload.name": "random_access", "workload.random_access.size": "1 MiB", "workload.random_access.threads": "1024",
          "workload.random_access.accesses": "8", "workload.random_access.updates": "true", "workload.random_access.block": "64"}
# Caches and TLBs that are too small for it.
SMALL = {"gpu.l1_cache.size": "4 KiB", "gpu.l2_cache.size": "64 KiB", "gpu.l1_tlb.entries": "8", "gpu.l1_tlb.ways": "4", "gpu.l2_tlb.entries": "32",
         "gpu.l2_tlb.ways": "8", "gpu.gmmu.walk_cache": "4", "iommu.tlb_entries": "8", "iommu.tlb_ways": "4", "iommu.walk_cache": "4",
         "gpu.scalar_cache.size": "1 KiB", "gpu.scalar_cache.tlb_entries": "4", "cpu.llc.size": "64 KiB"}
MEMORY = TWO | RANDOM | SMALL
# Few warps, so that an added latency is not hidden.
CHASE = TWO | SMALL | {"workload.name": "pointer_chase", "workload.pointer_chase.elements": "512", "workload.pointer_chase.hops": "512"}
ON_CPU = MEMORY | {"memory.placement": "cpu", "workload.random_access.threads": "512"}
TLBS = {"gpu.l1_tlb": "gpu.l1_tlb.{}", "gpu.l2_tlb": "gpu.l2_tlb.{}", "gpu.scalar_cache": "gpu.scalar_cache.tlb_{}", "iommu": "iommu.tlb_{}"}
# Compressed entries that reach few pages, so that most pages need another base.
NARROW = {name.format(f"compressed.{delta}_delta"): "2" for name in TLBS.values() for delta in ("virtual", "physical")}
# Fewer entries for large pages than pages.
FEW_LARGE = {name.format("by_page_size.large_entries"): "4" for name in TLBS.values()}
# Neighbouring pages have neighbouring frames.
RANGES = {"memory.placement": "contiguous"}
# All translations use the IOMMU.
# A level in front of another one.
TWO_LEVELS = {key: value for key, value in MEMORY.items() if not key.startswith("gpu.l2_tlb.")} | {
    "gpu.translation.level": '[{{name = "l2_tlb", entries = 8, ways = 4, interleave = "4 KiB"}}, {{name = "far_tlb", entries = 32, ways = 8}}]'}
# Two chiplets with a TLB bank each.
CHIPLETS = {key: value for key, value in MEMORY.items() if not key.startswith("gpu.l2_tlb.")} | {
    "gpu.l2_cache.partitions": "2", "gpu.l2_cache.miss_path": "direct", "gpu.l2_cache.partition_block": "8 KiB", "memory.placement": "interleave",
    "gpu.gmmu.shared_by": "tlb", "gpu.gmmu.walk_cache": "0",
    "gpu.translation.level": '[{{name = "l2_tlb", banks = 2, hash = "turns", interleave = "2 MiB", far_latency = 300, entries = 8, ways = 4}}]'}
# Unbalanced after a few requests.
BALANCED = CHIPLETS | {f"gpu.translation.level.l2_tlb.{key}": value for key, value in {
    "balance": "mgvm", "mgvm.requests": "16", "mgvm.hit_rate": "0", "mgvm.share": "0", "mgvm.epochs": "1"}.items()}
CENTRAL = MEMORY | {"gpu.router.policy": "centralized"}
MIGRATE = MEMORY | {"memory.remote_touch": "migrate"}
# Every region is accessed often, by both GPUs.
COUNTED = MEMORY | {"memory.remote_touch": "access_counters", "gpu.access_counters.threshold": "16"}
FIRST_TOUCH = MEMORY | {"memory.placement": "first_touch"}
AT_GPU = MIGRATE | {"memory.fault_path": "gpu"}
TRANSPOSE = {"workload.name": "transpose", "workload.transpose.width": "256", "workload.transpose.height": "128"}
# Faults in batches, with room for half of the pages.
BATCHES = TRANSPOSE | {
    "machine.topology": "single-gpu", "memory.placement": "cpu", "memory.remote_touch": "migrate", "memory.fault_path": "gpu",
    "memory.gpu_share": "0.5", "driver.batch.replay": "batch", "driver.migrations": "64", "driver.batch.eviction_unit": "16 KiB",
    "driver.batch.time": "2 us", "driver.batch.block_time": "1 us", "driver.batch.first_touch_time": "2 us",
    "driver.batch.sequential.bytes": "16 KiB", "driver.batch.faults": "16", "gpu.sms": "4", "gpu.l1_tlb.entries": "4", "gpu.l1_tlb.ways": "4",
    "gpu.l2_tlb.entries": "16", "gpu.l2_tlb.ways": "4", "gpu.gmmu.fault_buffer": "64"}
# Blocks that do not fit into an SM all at once, so that some can be swapped out.
SWAPPED = BATCHES | {"driver.batch.replay": "page", "gpu.sm.max_blocks": "2", "gpu.sm.registers": "16384", "workload.transpose.height": "256",
                     "gpu.sm.thread_oversubscription.period": "1000", "gpu.sm.throttling.detection": "1000", "gpu.sm.throttling.execution": "2000"}
# Extra blocks shrink at every decrease of the mean page lifetime, which later iterations cause.
SHRINKING = {k: v for k, v in SWAPPED.items() if ".transpose." not in k} | {
    "workload.name": "stencil2d", "workload.stencil2d.rows": "256", "workload.stencil2d.cols": "256", "workload.stencil2d.iterations": "3",
    "gpu.sm.thread_oversubscription.period": "20000", "gpu.sm.thread_oversubscription.threshold": "0"}
# Batches of two GPUs that take pages from each other, and access some pages of each subtree.
TWO_BATCHES = MIGRATE | {"memory.fault_path": "gpu", "memory.placement": "cpu", "driver.batch.replay": "batch", "driver.migrations": "2048",
                         "driver.batch.time": "2 us"}
LARGE = TWO | SMALL | {
    "workload.name": "random_access", "workload.random_access.size": "16 MiB", "workload.random_access.threads": "1024",
    "workload.random_access.block": "64", "memory.large_pages": "all", "memory.page_size": "64 KiB"}
COALESCED = TRANSPOSE | {
    "machine.topology": "single-gpu", "gpu.sms": "4", "memory.page_size": "64 KiB", "memory.placement": "first_touch", "gpu.dram.capacity": "64 MiB",
    "memory.page_sizes": "in_place_coalescer", "memory.frame_allocation": "contiguity_conserving", "workload.transpose.width": "1024",
    "workload.transpose.height": "1024", "gpu.l1_tlb.entries": "4", "gpu.l1_tlb.ways": "4", "gpu.l2_tlb.entries": "16", "gpu.l2_tlb.ways": "4"}
COMPACTED = COALESCED | {"workload.allocates": "true", "memory.compaction": "cac", "memory.fragmentation_index": "1.0",
                         "memory.fragmentation_occupancy": "0.1"}
COMPUTE = TWO | {"workload.name": "backprop", "workload.backprop.inputs": "2048"}
SPECIAL = TWO | {"workload.name": "blackscholes", "workload.blackscholes.options": "8192", "workload.blackscholes.blocks": "64"}
SHARED = TWO | {"workload.name": "fft", "workload.fft.size": "64 KiB"}
# Two blocks after another on each GPU, which read the same coefficients: 16 KiB.
SCALAR = TWO | SMALL | {"workload.name": "fir", "workload.fir.size": "2 KiB", "workload.fir.taps": "4096", "workload.fir.block": "64",
                        "gpu.sms": "1", "gpu.sm.max_blocks": "1"}
# Four filters with four pages of coefficients each, in address spaces of their own.
FILTERS = SMALL | {"config": "{filters}"}
# Kernels that read one table of weights each.
LAYERS = TWO | SMALL | {"workload.name": "nn", "workload.nn.images": "1"}
# Coefficients of the cache's size, with two more lines.
SCALAR_CACHE = SCALAR | {"workload.fir.taps": "1024", "gpu.scalar_cache.size": "4 KiB"}
# Warps that read different lines and pages.
SCALAR_MISSES = TWO | SMALL | {"workload.name": "spmv", "workload.spmv.side": "6"}
# More lines of code than the cache holds; warps that loop over one page more than its TLB holds.
INSTRUCTIONS = TWO | {
    "workload.name": "backprop", "workload.backprop.inputs": "2048", "gpu.instruction_cache.size": "1 KiB", "gpu.instruction_cache.tlb_entries": "2",
    "gpu.instruction_cache.code": "64 KiB"}
CODE_PAGES = {k: v for k, v in INSTRUCTIONS.items() if ".backprop." not in k} | {"workload.name": "fir", "workload.fir.size": "16 KiB", "workload.fir.taps": "1024", "workload.fir.block": "64",
                             "gpu.instruction_cache.code": "12 KiB"}
MIXED_BUFFERS = TWO | SMALL | {"workload.name": "atax", "workload.atax.rows": "96", "workload.atax.cols": "96"}
COPIES = TWO | {"workload.name": "vectoradd", "workload.vectoradd.elements": "32768", "workload.copies": "true"}
GENERIC = RANDOM | {"machine.topology": "generic", "machine.generic.gpus": "2", "gpu.sms": "2"}
MESH = GENERIC | {"machine.generic.fabric": "nvlink_mesh"}
# {name} stands for a file that files() writes.
CLUSTER = RANDOM | {"machine.topology": "{node}", "gpu.sms": "1", "machine.cluster.machines": "8", "memory.scope": "cluster",
                    "workload.random_access.threads": "2048"}
OPEN_NICS = CLUSTER | {"machine.topology": "two-gpu", "machine.cluster.machines": "2"}
TREE = CLUSTER | {"machine.cluster.radix": "4"}
DRAGONFLY = CLUSTER | {"machine.cluster.shape": "dragonfly", "machine.cluster.routers_per_group": "2", "machine.cluster.nics_per_router": "1",
                       "machine.cluster.global_links_per_router": "2"}
TORUS = CLUSTER | {"machine.cluster.shape": "torus", "machine.cluster.x": "2", "machine.cluster.y": "2", "machine.cluster.z": "2"}


def on(machine):
    """Two to eight GPUs of a file, with pages on all of them."""
    return RANDOM | {"machine.topology": f"{{{machine}}}", "gpu.sms": "1"}


# Two applications in two address spaces on the same GPUs.
APPLICATIONS = {"config": "{two_applications}"}
EPOCHS = {"gpu.l2_tlb.tokens.epoch": "1000", "gpu.l2_cache.translation_aware_bypass.epoch": "1000", "gpu.l2_cache.translation_aware_bypass.sampled": "4",
          "gpu.dram.address_space_aware.epoch": "1000", "cpu.dram.address_space_aware.epoch": "1000", "gpu.router.gmmu_bypass.epoch": "1 us"}
SHARED_GPU = APPLICATIONS | SMALL | EPOCHS
# Data of one application stay in the L2 cache, page tables of the other one do not.
BYPASSED = SHARED_GPU | {"gpu.gmmu.walk_cache": "0", "gpu.l2_cache.slices": "1", "gpu.l2_cache.mshrs": "2", "gpu.dram.channels": "1",
                         "application.a.random_access.size": "64 MiB",
                         "application.a.random_access.threads": "512", "application.b.random_access.size": "16 KiB",
                         "application.b.random_access.threads": "4096", "application.b.random_access.updates": "false"}

# (pattern of keys, settings, values to try before the general ones). A key uses the rules that match, in this order.
RULES = [
    (r"limits\..*", on("mi200") | {"workload.name": "bfs", "workload.bfs.graph": "{graph}"}, []),
    (r"machine\.topology", TWO | RANDOM, ["single-gpu"]),
    (r"machine\.generic\..*", MESH, []),
    (r"machine\.cluster\.(radix|switch_bandwidth)", TREE, ["8", "1 GB/s"]),
    (r"machine\.cluster\.(routers|nics|global).*", DRAGONFLY, ["4", "3"]),
    (r"machine\.cluster\.[xyz]", TORUS, ["4"]),
    (r"machine\.cluster\..*", CLUSTER, ["4"]),
    (r"memory\.(placement)", MEMORY, []),
    (r"memory\.recorded\.map", MEMORY | {"memory.recorded.map": "{map_a}"}, ["{map_b}"]),
    (r"memory\.page_size", MIGRATE, ["64 KiB"]),
    (r"memory\.(train|frame_allocation|interleaved.*|random.*|remote_touch|migrate\..*)", MIGRATE, []),
    (r"memory\.duplicate_after\..*",
     AT_GPU | {"memory.remote_touch": "duplicate_after", "gpu.access_counters.threshold": "16", "gpu.router.policy": "centralized"}, ["1"]),
    (r"memory\.access_counters\..*", AT_GPU | {"memory.remote_touch": "access_counters", "gpu.access_counters.threshold": "16"}, ["faults", "moves"]),
    (r"memory\.grit\..*", AT_GPU | {"memory.remote_touch": "grit", "gpu.access_counters.threshold": "16"}, ["1"]),
    (r"memory\.train", COPIES, []),
    (r"memory\.(page_sizes|large_pages|large_page_size)", LARGE, ["large_only", "none", "1 GiB"]),
    (r"memory\.first_touch_copy", FIRST_TOUCH | {"workload.name": "vectoradd", "workload.vectoradd.elements": "4096"}, []),
    (r"memory\.first_touch_.*", FIRST_TOUCH, []),
    (r"memory\.fault_path", MIGRATE, []),
    (r"memory\.scope", CLUSTER | {"machine.cluster.machines": "2"}, ["node"]),
    (r"memory\.(gpu_share)|gpu\.memory_contents|gpu\.compressed\..*", BATCHES, []),
    (r"memory\.cac_bulk_copy\..*", COMPACTED | {"memory.compaction": "cac_bulk_copy"}, []),
    (r"memory\.(compaction.*|cac.*|moves_stall_gpu|fragmentation.*)", COMPACTED, []),
    (r"memory\.moves_stall_gpu", COMPACTED | {"memory.page_sizes": "migrating_coalescer"}, []),
    (r"gpu\.(sms|clock|warp_width|line_bytes|crossbar_latency|translation_latency)", MEMORY, ["128"]),
    (r"gpu\.sm\.thread_oversubscription\.saves", SWAPPED | {"gpu.sm.registers": "65536"}, []),
    (r"gpu\.sm\.thread_oversubscription\.(threshold|mean|decrease)", SHRINKING, ["5"]),
    (r"gpu\.sm\.thread_oversubscription\.reference", SHRINKING | {"gpu.sm.thread_oversubscription.decrease": "one_less"}, []),
    (r"gpu\.sm\.(thread_blocks|thread_oversubscription\..*|throttling\..*|virtual_thread\..*)", SWAPPED, []),
    (r"gpu\.sm\.(special_lanes|issue|warp_order)", SPECIAL, []),
    (r"gpu\.sm\.shared_bytes", TWO | TRANSPOSE | {"workload.transpose.width": "512"}, ["16384"]),
    (r"gpu\.sm\..*", COMPUTE, []),
    (r"gpu\.sm\..*", SHARED, []),
    (r".*by_page_size\.large_ways", LARGE | FEW_LARGE | {"gpu.router.policy": "centralized"}, ["1", "2"]),
    (r"(gpu\.(l1|l2)_tlb|iommu).*compressed\.(rebas.*|base)", CENTRAL | NARROW, []),
    (r"(gpu\.(l1|l2)_tlb|iommu).*range\.fetched_pages", CENTRAL | RANGES, ["0"]),
    (r"gpu\.l1_tlb\.range\.range_entries", CENTRAL | RANGES, ["1"]),
    (r"(gpu\.(l1|l2)_tlb|iommu).*range\.range_entries", CENTRAL | FIRST_TOUCH, []),
    (r"gpu\.(l1_tlb|l2_tlb)\.(.*large_.*)", LARGE, []),
    (r"gpu\.l1_tlb\.misses", MEMORY, []),
    (r"gpu\.l1_tlb\.waiters", MEMORY | {"gpu.l1_tlb.mshrs": "1024"}, ["128"]),
    (r"gpu\.l1_cache\.waiters", MEMORY | {"gpu.l1_cache.mshrs": "1024", "gpu.l1_tlb.entries": "512"}, ["128"]),
    (r"gpu\.l1_tlb\.(faulted_pages|faulted_accesses)", MIGRATE, []),
    (r"gpu\.l2_tlb\.(fill|tokens\..*)", SHARED_GPU, []),
    (r"gpu\.translation\.level\.sms", TWO_LEVELS, ["1"]),
    (r"gpu\.translation\.level\.groups", TWO_LEVELS, ["2"]),
    (r"gpu\.translation\.level\.(banks|request_latency)", TWO_LEVELS, []),
    (r"gpu\.translation\.level\.(far_latency)", CHIPLETS, []),
    (r"gpu\.translation\.level\.balance", BALANCED | {"gpu.translation.level.l2_tlb.balance": "fixed"}, ["mgvm"]),
    (r"gpu\.translation\.level\.mgvm\..*", BALANCED, ["1", "1000"]),
    (r"gpu\.(blocks|l2_cache\.partition_block)|memory\.page_tables", CHIPLETS, []),
    (r"gpu\.translation\.level\.(interleave|hash)", TWO_LEVELS | {"gpu.translation.level.l2_tlb.banks": "4"}, []),
    (r"gpu\.l2_tlb\.tokens\.invalidation", MIGRATE | EPOCHS, []),
    (r"gpu\.scalar_cache\.(size|ways|replacement|random\.seed)", SCALAR_CACHE, ["16 KiB", "1"]),
    (r"gpu\.scalar_cache\.(mshrs|tlb_mshrs)", SCALAR_MISSES, ["1"]),
    # The array for large pages has several sets, the one for base pages a single one.
    (r"gpu\.scalar_cache\.tlb_compressed\.sets_per_base", LAYERS | {
        "memory.page_sizes": "large_only", "gpu.scalar_cache.tlb_compressed.large_entries": "8", "gpu.scalar_cache.tlb_compressed.large_ways": "2"}, []),
    (r"gpu\.scalar_cache\.tlb_(compressed|by_page_size)\.large_.*", FILTERS | {"memory.page_sizes": "large_only"}, ["2"]),
    (r"gpu\.scalar_cache\.tlb_compressed\.ratio", SCALAR | RANGES | {"gpu.scalar_cache.tlb_entries": "2"}, ["1"]),
    (r"gpu\.scalar_cache\.tlb_compressed\.virtual_delta", SCALAR | {"gpu.scalar_cache.tlb_entries": "2"}, ["1"]),
    (r"gpu\.scalar_cache\.tlb_(compressed\..*|replacement|random\.seed)", FILTERS | RANGES, []),
    (r"gpu\.scalar_cache\..*range\..*", SCALAR | RANGES, ["0"]),
    (r"gpu\.scalar_cache\..*large_.*", SCALAR | {"memory.large_pages": "all"}, []),
    (r"gpu\.scalar_cache\..*", SCALAR, []),
    (r"gpu\.instruction_cache\.code", INSTRUCTIONS, ["64 B"]),
    (r"gpu\.instruction_cache\.tlb_mshrs", CODE_PAGES | {"gpu.sms": "4", "gpu.instruction_cache.tlb_entries": "1"}, ["1"]),
    (r"gpu\.instruction_cache\.tlb_.*", CODE_PAGES, []),
    (r"gpu\.instruction_cache\..*", INSTRUCTIONS, []),
    (r"gpu\.l2_cache\.walk_queue", SHARED_GPU | {"gpu.l2_cache.mshrs": "2"}, ["8"]),
    (r"gpu\.l2_cache\.translation_aware_bypass\.(sampled|own_mshrs)", BYPASSED, ["1"]),
    (r"gpu\.l2_cache\.translation_aware_bypass\.overtakes", BYPASSED | {"gpu.l2_cache.translation_aware_bypass.own_mshrs": "16"}, []),
    (r"gpu\.(dram|l2_cache)\.(address_space_aware|translation_aware_bypass)\..*", SHARED_GPU, []),
    (r"gpu\.dram\.address_space_aware\..*", SHARED_GPU | {"gpu.dram.channels": "1", "gpu.dram.address_space_aware.silver": "2"}, []),
    (r"gpu\.dram\.frfcfs_batched\..*", MEMORY | {"gpu.dram.channels": "1"}, ["9", "1"]),
    (r"gpu\.dram\.t_refi", MEMORY | {"gpu.dram.t_rfc": "100 ns"}, ["1 us"]),
    (r"gpu\.dram\..*", CHASE, []),
    (r"gpu\.copy_engine\..*", MIGRATE, ["4"]),
    (r"gpu\.access_counters\.granularity", COUNTED, ["64 KiB"]),
    (r"gpu\.access_counters\.(counters|notifications)", COUNTED | {"gpu.access_counters.granularity": "64 KiB"}, ["1"]),
    (r"gpu\.access_counters\..*", COUNTED, []),
    (r"gpu\.copy_engine\..*", COPIES, ["4"]),
    (r"gpu\.gmmu\.shared_by", TWO_LEVELS | {
        "gpu.gmmu.walkers": "1", "gpu.translation.level": '[{{name = "l2_tlb", groups = 2, entries = 8, ways = 4}}]'}, ["group"]),
    (r"gpu\.gmmu\.(fault_buffer)", AT_GPU, ["1"]),
    (r"gpu\.gmmu\.(faults_per_utlb|sms_per_utlb)", BATCHES | {"gpu.gmmu.faults_per_utlb": "2"}, ["4"]),
    (r"gpu\.gmmu\.walk_reads_first_entry", COALESCED | {"gpu.gmmu.walk_cache": "0"}, []),
    (r"gpu\.gmmu\.table_writes", COALESCED, []),
    (r"gpu\.gmmu\.walk_cache.*", MEMORY | {"workload.random_access.size": "64 MiB"}, []),
    (r"gpu\.page_walk_cache\..*", MEMORY | {"workload.random_access.size": "8 MiB", "gpu.gmmu.walk_cache": "0", "gpu.page_walk_cache.size": "1 KiB",
                                            "gpu.page_walk_cache.ways": "4"}, []),
    (r"gpu\.router\..*", MEMORY | EPOCHS, []),
    (r"gpu\..*", MEMORY, []),
    (r"iommu\.fault_buffer", MIGRATE, ["1"]),
    (r"iommu\..*large_.*", LARGE | {"gpu.router.policy": "centralized"}, []),
    (r"iommu\.walk_reads_first_entry", COALESCED | {"gpu.router.policy": "centralized", "iommu.walk_cache": "0", "iommu.tlb_entries": "0"}, []),
    (r"iommu\.walk_cache.*", CENTRAL | {"workload.random_access.size": "32 MiB"}, []),
    (r"iommu\..*", CENTRAL, []),
    (r"cpu\.dram\.t_refi", ON_CPU | {"cpu.dram.t_rfc": "100 ns"}, ["1 us"]),
    (r"cpu\.dram\.frfcfs_batched\..*", ON_CPU | {"cpu.dram.channels": "1"}, ["9", "2"]),
    (r"cpu\.dram\.address_space_aware\..*", SHARED_GPU | {"memory.placement": "cpu", "cpu.dram.channels": "1",
                                                         "cpu.dram.address_space_aware.silver": "2"}, []),
    (r"cpu\..*", ON_CPU | EPOCHS, []),
    (r"nic\.latency", CLUSTER, []),
    (r"driver\.(fault_latency|faults_at_a_time|notify_latency|migrations)", MIGRATE, []),
    (r"driver\.allocation_latency", COPIES | {"workload.allocates": "true"}, []),
    (r"driver\.batch\.lifetimes", SWAPPED | {"gpu.sm.thread_blocks": "thread_oversubscription", "workload.transpose.height": "1024",
                                             "gpu.sm.thread_oversubscription.threshold": "1"}, []),
    (r"driver\.batch\.workers", TWO_BATCHES, ["1"]),
    (r"driver\.batch\.least_stay", TWO_BATCHES, ["100 us"]),
    (r"driver\.batch\.thrashing_.*", TWO_BATCHES, []),
    (r"driver\.batch\.tree\.threshold", TWO_BATCHES | {"workload.random_access.size": "4 MiB", "workload.random_access.threads": "256"}, ["100"]),
    (r"driver\.batch\..*", BATCHES, []),
    (r"driver\.counters\..*", COUNTED | {"gpu.access_counters.granularity": "64 KiB"}, ["1"]),
    (r"host\..*", MEMORY, []),
    (r"fabric\.(copies|compressed\..*)", COPIES, []),
    (r"fabric\.fault_bytes", AT_GPU, ["256"]),
    (r"fabric\.(network_.*)", TREE, ["256", "64 B", "flow"]),
    (r"fabric\.nvlink_.*", MESH, []),
    (r"fabric\.buffer", MEMORY, ["1 KiB"]),
    (r"fabric\.(inbound|memory_credits)", MEMORY, ["1"]),
    (r"fabric\..*", MEMORY, []),
    (r"links\.(scale\.)?pcie.*", GENERIC, []),
    (r"links\.nvlink_(latency|bandwidth)|links\.scale\.nvlink\..*", MESH, []),
    (r"links\.nvlink1_bandwidth", on("pascal"), []),
    (r"links\.nvlink5_bandwidth|links\.gpus_per_host|links\.nvlinks_per_domain_gpu", on("domain"), ["1"]),
    (r"links\.xgmi_(latency|bandwidth)|links\.scale\.xgmi\..*", on("mi200"), []),
    (r"links\.xgmi_mi100_bandwidth", on("mi100"), []),
    (r"links\.xgmi_mi300_bandwidth", on("mi300"), []),
    (r"links\.(scale\.)?cpu_interconnect.*", on("sockets"), []),
    (r"links\.network_.*", OPEN_NICS, []),
    (r"links\.scale\.network\..*", CLUSTER, []),
    (r"links\.scale\.by_name", MEMORY, ["gpu0-root latency=3"]),
    (r"routing\.message", on("routes"), ["1 B"]),
    (r"run\.sample_.*", MEMORY, ["1 us"]),
    (r"run\.seed", TWO | {"workload.name": "bfs", "workload.bfs.rmat.scale": "7"}, []),
    (r"workload\.name", TWO | RANDOM, ["vectoradd"]),
    (r"workload\.size", TWO | {"workload.name": "pointer_chase"}, ["small"]),
    (r"workload\.small_buffers", MIXED_BUFFERS, ["16 KiB"]),
    (r"workload\.(copies|allocates)", TWO | {"workload.name": "vectoradd", "workload.vectoradd.elements": "4096"}, []),
    (r"workload\.fwt\.log2_filter", {"workload.copies": "true"}, []),
    (r"workload\.exchange\.(from|to)", TWO | {"workload.exchange.pattern": "pair", "workload.exchange.parts": "4",
                                              "machine.topology": "paper-gmmu-bypass", "memory.placement": "contiguous"}, ["3", "2"]),
    (r"workload\.exchange\..*", TWO, []),
    (r"workload\.pointer_chase\.streams", {"workload.pointer_chase.chains": "4"}, ["2"]),
    (r"workload\.(gc_.*|kcore|pr_graphbig|sssp_twc)\.block", {}, ["64"]),
    (r"workload\.(bc|bfs_.*)\.block", {"workload.WORKLOAD.rmat.scale": "11"}, ["512", "64"]),
    (r"workload\.(bfs_dwc|gc_dtc)\.worklist", {}, ["128", "256"]),
    (r"workload\.fw\.max_weight", {"workload.fw.rmat.scale": "6", "workload.fw.steps": "0"}, ["0"]),
    # Bins of more than one range, which is what shared memory holds.
    (r"workload\.histogram\.scattered", {"workload.histogram.rows": "64", "workload.histogram.bins": "98304"}, ["1"]),
    (r"workload\.kmeans\.sample", {"workload.kmeans.size": "32 KiB", "workload.kmeans.clusters": "8", "workload.kmeans.max_rounds": "20"}, ["16"]),
    (r"workload\.pointer_chase\.order", CHASE, []),
    (r"workload\..*\.graph", {}, ["{graph}"]),
    (r"workload\.trace\.file", {}, ["{trace_b}"]),
    (r"application\.space", APPLICATIONS | {"application.b.space": "1"}, ["1"]),
    (r"application\.workload", APPLICATIONS, ["stream"]),
    (r"application\.gpus", APPLICATIONS | {"application.a.sms": "1", "application.b.sms": "1"}, ["0"]),
    (r"application\.sms", APPLICATIONS | {"application.a.sms": "equal"}, ["all"]),
    (r"application\.(start)", APPLICATIONS, ["3 us"]),
    (r"application\.size", APPLICATIONS | {"application.a.workload": "pointer_chase"}, ["small"]),
    (r"application\.small_buffers", APPLICATIONS | SMALL | {"application.a.workload": "atax", "application.a.atax.rows": "96",
                                                            "application.a.atax.cols": "96"}, ["16 KiB"]),
    (r"application\..*", APPLICATIONS, []),
]

# Small inputs of each workload.
GRAPH = {"rmat.scale": "7", "rmat.edge_factor": "4"}
WORKLOADS = {
    "aes": {"size": "8 KiB"}, "atax": {"rows": "96", "cols": "96"}, "backprop": {"inputs": "256"}, "bc": GRAPH, "bc_pannotia": GRAPH, "bfs": GRAPH,
    "bfs_dwc": GRAPH, "bfs_rodinia": GRAPH, "bfs_ta": GRAPH, "bfs_tf": GRAPH, "bfs_ttc": GRAPH, "bfs_twc": GRAPH, "bh": {"bodies": "128"},
    "bicg": {"rows": "96", "cols": "96"}, "blackscholes": {"options": "2048", "blocks": "8"}, "cfd": {"side": "2", "iterations": "1"}, "color": GRAPH,
    "conv2d": {"rows": "48", "cols": "48"}, "convolution": {"width": "64", "height": "32"}, "dwt": {"image_width": "96", "image_height": "96", "levels": "2"},
    "exchange": {"bytes": "128 KiB", "parts": "2"}, "fft": {"size": "16 KiB"}, "fir": {"size": "16 KiB"},
    "fw": {"rmat.scale": "5", "rmat.edge_factor": "4", "steps": "4"}, "fwt": {"log2_data": "10"}, "gc_dtc": GRAPH, "gc_ttc": GRAPH,
    "gups": {"table": "64 KiB", "blocks": "4", "updates": "8"},
    "heartwall": {"frame_rows": "64", "frame_cols": "64", "points": "4", "pattern_half": "2", "search_half": "4", "frames": "1"},
    "histogram": {"cols": "64", "rows": "16", "bins": "24576"}, "histogram256": {"words": "8192", "partial_histograms": "4"},
    "hotspot": {"rows": "32", "cols": "32"}, "kcore": GRAPH,
    "kmeans": {"size": "8 KiB", "features": "4", "clusters": "3", "max_rounds": "2", "sample": "64"}, "laplace3d": {"nx": "32", "ny": "8", "nz": "4"},
    "lud": {"side": "48"}, "lulesh": {"side": "3", "steps": "1"}, "maxpool": {"size": "16 KiB", "height": "16", "width": "16"}, "mis": GRAPH, "mst": GRAPH,
    "mummer": {"reference": "1024", "queries": "128"}, "mvt": {"side": "96"}, "nn": {"images": "1"}, "nw": {"length": "64"}, "pagerank": GRAPH,
    "pathfinder": {"cols": "512", "rows": "8", "pyramid_height": "3"}, "pointer_chase": {"elements": "128", "hops": "256"},
    "pr_graphbig": GRAPH | {"max_rounds": "3"}, "pr_pannotia": GRAPH, "qtc": {"points": "64", "clusters": "2"},
    "random_access": {"size": "64 KiB", "threads": "256", "accesses": "4"}, "ray": {"width": "16", "height": "16"},
    "reduction": {"size": "8 KiB", "iterations": "1"}, "relu": {"size": "16 KiB"}, "sad": {"width": "32", "height": "32"},
    "scalar_product": {"vectors": "8", "length": "128", "blocks": "4"}, "scan": {"size": "8 KiB", "iterations": "1"}, "sgemm": {"m": "32", "n": "32", "k": "32"},
    "sgemm_parboil": {"m": "128", "n": "16", "k": "16"}, "spmv": {"side": "3"}, "srad": {"rows": "32", "cols": "32", "iterations": "1"}, "sssp_twc": GRAPH,
    "stencil2d": {"rows": "32", "cols": "64", "iterations": "2"}, "stencil3d": {"x": "32", "y": "8", "z": "17"},
    "stencil_parboil": {"nx": "16", "ny": "8", "nz": "4"}, "stream": {"bytes": "32 KiB"},
    "streamcluster": {"points": "128", "dimensions": "4", "fewest": "2", "most": "4", "evaluations": "4", "block": "64"}, "trace": {"file": "{trace_a}"},
    "transpose": {"width": "64", "height": "64"}, "triad": {"size": "4 KiB", "smallest": "512 B"}, "vectoradd": {"elements": "4096"},
}
