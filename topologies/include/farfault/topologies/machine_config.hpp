// SPDX-License-Identifier: Apache-2.0
// All parameters of a machine, section by section, and the rules between them.
//
// - bind() reads a configuration; check() reports settings that are incompatible, fit_to() excludes
// parameters
//   without effect on the selected machine.
// - Errors: ConfigErrors with file, line, key, value and rule; Config::reject_errors() throws.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/compute/dispatcher.hpp"
#include "farfault/compute/host.hpp"
#include "farfault/compute/instruction_cache.hpp"
#include "farfault/compute/read_only_cache.hpp"
#include "farfault/compute/sm.hpp"
#include "farfault/engine/config.hpp"
#include "farfault/fabric/nic.hpp"
#include "farfault/memory/copy_engine.hpp"
#include "farfault/memory/dram_channel.hpp"
#include "farfault/memory/l2_slice.hpp"
#include "farfault/memory/memory_cache.hpp"
#include "farfault/memory/memory_contents.hpp"
#include "farfault/memory/memory_layout.hpp"
#include "farfault/memory/page_walk_cache.hpp"
#include "farfault/paging/memory_scope.hpp"
#include "farfault/paging/page_decision.hpp"
#include "farfault/paging/page_placement.hpp"
#include "farfault/paging/page_sizes.hpp"
#include "farfault/paging/paging_driver.hpp"
#include "farfault/topologies/generators.hpp"
#include "farfault/topologies/link_defaults.hpp"
#include "farfault/topologies/link_scale.hpp"
#include "farfault/topologies/machine.hpp"
#include "farfault/topologies/read_only_caches.hpp"
#include "farfault/topologies/routing.hpp"
#include "farfault/topologies/translation_levels.hpp"
#include "farfault/translation/fault_path.hpp"
#include "farfault/translation/gmmu.hpp"
#include "farfault/translation/iommu.hpp"
#include "farfault/translation/l2_tlb.hpp"

namespace farfault::topologies {

enum class BlockPlaces : std::uint8_t { any_sm, by_partition };
// The partition of a node of a GPU's page tables.
enum class TablePlaces : std::uint8_t { in_order, with_data, with_tlb };

struct GpuParams {
  std::uint32_t sms = 0;
  Frequency clock{1'000'000'000};
  std::uint32_t warp_width = 64;
  std::uint32_t line_bytes = 64;
  std::uint32_t crossbar_latency = 8;
  std::uint32_t translation_latency = 4;
  BlockPlaces blocks = BlockPlaces::any_sm;
  PolicyChoice<MemoryContents> memory_contents{"plain"};
  bool blocks_by_partition() const { return blocks == BlockPlaces::by_partition; }
  void describe(ParamTable& t);
};

struct CpuParams {
  Frequency clock{2'000'000'000};
  void describe(ParamTable& t);
};

struct CpuCacheParams : SlicedCacheParams {
  CpuCacheParams();
  void describe(ParamTable& t);
};

struct CpuDramParams : DramParams {
  CpuDramParams();
  void describe(ParamTable& t);
};

struct MemoryParams {
  ByteSize page_size{4096};
  std::uint32_t train = 4;
  PolicyChoice<PageSizes> page_sizes{"by_buffer"};
  std::string large_pages = "none";
  ByteSize large_page_size{std::uint64_t{2} << 20};
  PolicyChoice<PagePlacement> placement{"interleave"};
  PolicyChoice<FrameAllocator> frame_allocation{"on_demand"};
  TablePlaces page_tables = TablePlaces::in_order;
  FirstTouchBy first_touch_by = FirstTouchBy::driver;
  bool first_touch_copy = false;
  PolicyChoice<PageDecision> remote_touch{"remote_access"};
  PolicyChoice<FaultPath> fault_path{"iommu"};
  PolicyChoice<MemoryScope> scope{"node"};
  double gpu_share = 1;
  PolicyChoice<Compaction> compaction{"none"};
  double compaction_threshold = 0.8;
  bool moves_stall_gpu = true;
  double fragmentation_index = 0;
  double fragmentation_occupancy = 0.5;
  std::uint64_t fragmentation_seed = 1;
  void describe(ParamTable& t);
  unsigned page_bits() const { return static_cast<unsigned>(std::countr_zero(page_size.bytes)); }
  // Initially large pages, and whether base pages may become large.
  LargePages::Choice large() const;
  bool has_large_pages() const { return !large().none(); }
  bool coalesces() const { return page_sizes.facts().coalesces; }
  bool moves_to_coalesce() const { return coalesces() && page_sizes.facts().moves_to_coalesce; }
  // True if pages are moved within the memory of a GPU; stalls_gpus(): true if its SMs stall meanwhile.
  bool compacts() const { return compaction.facts().compacts; }
  bool relocates() const { return compacts() || moves_to_coalesce(); }
  bool stalls_gpus() const {
    return moves_stall_gpu && (moves_to_coalesce() || (compacts() && compaction.facts().takes_time));
  }
  Fragmentation fragmentation() const {
    return {fragmentation_index, fragmentation_occupancy, fragmentation_seed};
  }
  // The setting that enables large pages, as "key = value" for messages.
  std::string large_pages_setting() const;
  // log2 of the base pages per large page; 0 without large pages.
  unsigned large_size() const;
  // True if frame_allocation uses large frames; large_frame_size(): log2 of the base pages per large frame, 0
  // if large_page_size is not a valid size of large pages.
  bool has_large_frames() const { return frame_allocation.facts().uses_large_frames; }
  unsigned large_frame_size() const;
  // Bit s: pages of 2^s base pages may exist.
  std::uint32_t sizes_of_pages() const { return 1U | 1U << large_size(); }
  // True if a page may be mapped at its first touch; pages_move(): true if pages may migrate.
  bool maps_at_first_touch() const { return placement.facts().leaves_out; }
  // True if a GPU is notified of a faulted access and issues it again at the replay.
  bool replays_first_touches() const {
    return first_touch_by == FirstTouchBy::driver && maps_at_first_touch();
  }
  bool replays_faults() const { return replays_first_touches() || pages_move() || relocates(); }
  bool makes_copies() const { return pages_move() && remote_touch.facts().makes_copies; }
  bool pages_move() const { return remote_touch.facts().moves_pages; }
  // True if GPUs have access counters.
  bool counts_accesses() const { return remote_touch.facts().events.has(PageEventKind::counted); }
};

struct MachineParams {
  std::string topology = "paper-gmmu-bypass";
  void describe(ParamTable& t);
};

// All parameters of a machine, section by section.
struct MachineConfig {
  MachineParams machine;
  GenericSpec generic;
  ClusterSpec cluster = [] {
    ClusterSpec alone;
    alone.machines = 1;
    return alone;
  }();
  MemoryParams memory;
  GpuParams gpu;
  SmParams sm;
  L1TlbParams l1_tlb;
  L1CacheParams l1_cache;
  ScalarCacheParams scalar_cache;
  InstructionCacheParams instruction_cache;
  L2CacheParams l2_cache;
  MemoryCacheParams memory_cache;
  PageWalkCacheParams page_walk_cache;
  DramParams dram;
  CopyEngineParams copy_engine;
  AccessCounterParams access_counters;
  L2TlbParams l2_tlb;
  TranslationLevels translation;  // instead of l2_tlb, unless empty
  GmmuParams gmmu;
  RouterParams router;
  IommuParams iommu;
  CpuParams cpu;
  CpuCacheParams cpu_llc;
  CpuDramParams cpu_dram;
  NicParams nic;
  DriverParams driver;
  BatchParams batch;
  CounterServiceParams counter_service;
  HostParams host;
  FabricParams fabric;
  LinkDefaults links;
  LinkScale link_scale;
  RoutingSpec routing;

  // Largest payload of a packet in bytes, without its header.
  std::uint32_t largest_payload() const {
    auto const fault = faults_recorded_by_gpus() != 0 ? fabric.fault_bytes : 0;
    auto const notification = memory.counts_accesses() ? access_counters.notification_bytes : 0;
    return std::max({gpu.line_bytes, fabric.translation_bytes, fault, notification});
  }
  // Packets on links of a kind; `nics_known`: the machine's source states bandwidths of NICs.
  PacketFormat packet_format(LinkKind kind, bool nics_known) const {
    if (kind == LinkKind::network && nics_known) return fabric.network_format(gpu.line_bytes);
    return fabric.format(kind == LinkKind::nvlink);
  }
  // Memory layout of a GPU and of a CPU.
  MemoryLayout gpu_memory() const {
    return {.slices = l2_cache.slices,
            .channels = dram.channels == 0 ? l2_cache.slices : dram.channels,
            .interleave = l2_cache.interleave.bytes,
            .copies = l2_cache.software_coherent() ? l2_cache.partitions : 1,
            .parts = l2_cache.parts()};
  }
  MemoryLayout cpu_memory() const {
    return {cpu_llc.slices, cpu_dram.channels == 0 ? cpu_llc.slices : cpu_dram.channels,
            cpu_llc.interleave.bytes, 1};
  }
  // True if the driver serves faults in batches; false if no faults can occur.
  bool in_batches() const { return memory.replays_faults() && batch.in_batches(); }
  // True if a page may leave its frame: by relocation, or because batches may bring more pages than a memory
  // holds.
  bool pages_leave_frames() const { return memory.pages_move() || memory.relocates() || in_batches(); }
  // The faults that a GPU may be notified of, and the faults that it records in its buffer. Bit k: FaultKind
  // k.
  std::uint32_t faults() const;
  std::uint32_t faults_recorded_by_gpus() const;
  // Walks of a GPU's own table end in the GPU, and the table has remote mappings (fault_path.hpp), with
  // maps_remotely_at_start() of all pages that are on another device at time zero; otherwise the first
  // access to such a page faults, so that memory.remote_touch decides about it.
  bool gpus_end_walks() const {
    return memory.replays_faults() && memory.fault_path.facts().gpu_ends_walks();
  }
  // Some translation requests are sent to an IOMMU.
  bool asks_iommu() const { return !gpus_end_walks() || router.policy.facts().asks_iommu; }
  bool maps_remotely_at_start() const {
    return gpus_end_walks() && !memory.remote_touch.facts().events.has(PageEventKind::fault);
  }
  // Interval at which the scheduler of GPU memory is informed about page walks, in cycles; 0: never.
  std::uint32_t pressure_epoch() const { return dram.scheduler.facts().pressure_epoch; }
  // Maximum outstanding page-table reads and writes of a GMMU with these TLBs in the last level.
  std::uint32_t reads_of_gmmu(TlbGroups const& tlbs) const {
    return gmmu.walker_groups(tlbs.groups, tlbs.banks.count()) * gmmu.walkers +
           (memory.coalesces() ? gmmu.table_writes : 0);
  }
  // Payload of a line that is copied between a GPU and a CPU.
  std::uint32_t copied_line() const { return fabric.copies.facts().payload(gpu.line_bytes); }
  // The information about accesses that is sent to the driver: for an eviction order that uses it, and for
  // dirty pages.
  PageUseRule page_uses() const {
    if (!in_batches()) return {};
    auto const epoch = batch.eviction_order.facts().epoch;
    return {epoch != Duration::zero() || batch.clean_pages == CleanPages::dropped, epoch};
  }
  // The read-only caches between SMs and their L2 slices.
  std::vector<ReadOnlyCacheKind> read_only_caches() const;
  // How SMs fetch instructions; nothing if these are there when a warp needs them.
  std::optional<CodeParams> code() const;
  // The levels of TLBs from the SMs to the GMMU.
  std::vector<TlbLevelParams> tlb_levels() const;
  // True if gpu.sm.thread_blocks is adaptive, with decisions at each period.
  bool has_periods() const { return sm.thread_blocks.facts().adapts; }
  // True if the end of a kernel triggers work in the L2 slices of a GPU.
  bool writes_back_at_kernel_end() const {
    return l2_cache.write_back_at_kernel_end || l2_cache.software_coherent();
  }

  // Calls f(section name, one line of text, spec) for every section, in the order of the resolved
  // configuration.
  template <class F>
  void each_section(F&& f) {
    f("machine", "Machine", machine);
    f("machine.generic", "Machine that topology = \"generic\" generates", generic);
    f("machine.cluster", "Cluster: copies of the machine, joined by a network", cluster);
    f("memory", "Page sizes, placement and migration", memory);
    f("gpu", "GPU", gpu);
    f("gpu.sm", "Streaming multiprocessors (compute units)", sm);
    f("gpu.l1_tlb", "TLB of each SM", l1_tlb);
    f("gpu.l1_cache", "L1 cache of each SM", l1_cache);
    f("gpu.scalar_cache", "Cache of scalar loads, shared by a few SMs", scalar_cache);
    f("gpu.instruction_cache", "Cache of instructions, shared by a few SMs", instruction_cache);
    if (translation.listed().empty()) f("gpu.l2_tlb", "TLB shared by the SMs of a GPU", l2_tlb);
    for (auto& level : translation.listed()) f(level.section(), "Level of shared TLBs", level);
    f("gpu.l2_cache", "L2 cache", l2_cache);
    f("gpu.memory_cache", "Cache in front of each DRAM channel", memory_cache);
    f("gpu.dram", "Memory behind the L2 cache", dram);
    f("gpu.copy_engine", "Copies between the memories of devices", copy_engine);
    f("gpu.access_counters", "Counters of a GPU's accesses to other devices' memory", access_counters);
    f("gpu.gmmu", "Page walkers of the GPU", gmmu);
    f("gpu.page_walk_cache", "Cache between the GPU's page walkers and the L2 cache", page_walk_cache);
    f("gpu.router", "Routing of L2 TLB misses", router);
    f("iommu", "Page walkers on the CPU side", iommu);
    f("cpu", "CPU", cpu);
    f("cpu.llc", "Last-level cache of the CPU", cpu_llc);
    f("cpu.dram", "Memory of the CPU", cpu_dram);
    f("nic", "NIC", nic);
    f("driver", "Memory manager of the driver", driver);
    f("driver.batch", "Batched fault service and eviction", batch);
    f("driver.counters", "Service of access-counter notifications", counter_service);
    f("host", "Kernel launch", host);
    f("fabric", "Packets, link buffers and ports", fabric);
    f("links", "Links whose source states no latency or bandwidth", links);
    f("links.scale", "Factors on the latency and bandwidth of links", link_scale);
    f("routing", "Shortest-path routing", routing);
  }
  // Call before the configuration is read.
  static void prepare(Config& config);
  // Binds all parameters; parameters of a policy or shape that is not selected are checked and excluded.
  // `more`: policies of extensions.
  void bind(Config& config, Policies const* more = nullptr);
  // Leaves out unused parameters, like bind(); call after Config::choose_again().
  void exclude_unused(Config& config) const;
  // Leaves out parameters without effect on the selected machine, which must have been built with `links`;
  // call after bind().
  void fit_to(Machine const& chosen, Config& config) const;
  // Reports incompatible parameters to `config`; its reject_errors() throws.
  void check(Config& config) const;

 private:
  bool check_large_pages(Config& config) const;
  void check_translation(Config& config) const;
  void check_large_batches(Config& config) const;
  void check_relocations(Config& config) const;
  void check_batches(Config& config) const;
  void check_fault_path(Config& config) const;
  void check_copies(Config& config) const;
  void check_counters(Config& config) const;
  void check_chiplets(Config& config) const;
};

// The text of a preset configuration, for Config.
std::optional<std::string> find_preset(std::string_view name);
std::vector<std::string> preset_names();

}  // namespace farfault::topologies
