// SPDX-License-Identifier: Apache-2.0
// The rules of a machine's configuration: each violation is an error with its key and value.
#include <algorithm>
#include <bit>
#include <limits>

#include "farfault/topologies/machine_config.hpp"

namespace farfault::topologies {
namespace {

// Adds an error to the configuration for each violated rule.
class Rules {
 public:
  explicit Rules(Config& config) : config_(config) {}

  bool need(bool holds, std::string const& key, std::string const& rule) {
    if (!holds) config_.refuse_value(key, rule);
    return holds;
  }
  // Checks the parameters of the selected implementation, also against its setup.
  template <class I>
  bool policy(std::string const& section, std::string const& name, PolicyChoice<I> const& choice,
              typename I::Setup const& setup) {
    auto const why = choice.why_not(setup);
    if (!why.empty()) {
      auto const problem = section + "." + choice.section() + "." + why;
      auto const key = problem.substr(0, problem.find(' '));
      config_.refuse(config_.where(key).empty() ? section + "." + name : key, problem);
    }
    return why.empty();
  }
  void power_of_two(std::string const& key, std::uint64_t value) {
    need(std::has_single_bit(value), key, "must be a power of two");
  }
  // `prefix`: before the names of the TLB's parameters in its section.
  void tlb(std::string const& section, std::string const& prefix, std::uint32_t entries, std::uint32_t ways,
           MemoryParams const& memory, TlbPolicies const& policies, bool takes_delays = false) {
    if (need(ways <= entries && entries % ways == 0, section + "." + prefix + "ways",
             "must divide the number of entries, " + std::to_string(entries)) &&
        policy(section, prefix + "replacement", policies.replacement, {entries / ways, ways}))
      policy(section, prefix + "organization", policies.organization,
             {.entries = entries,
              .ways = ways,
              .page_bits = memory.page_bits(),
              .replacement = policies.replacement,
              .sizes = memory.sizes_of_pages(),
              .mapped = nullptr,
              .takes_delays = takes_delays});
  }
  void walk_cache(std::string const& section, std::uint32_t entries, WalkCachePolicies const& policies) {
    if (entries != 0 && policy(section, "walk_cache_replacement", policies.replacement, {1, entries}))
      policy(section, "walk_cache_organization", policies.organization, {entries, policies.replacement});
  }
  // The cache is split into `slices`.
  void cache(std::string const& section, ByteSize size, std::uint32_t ways, std::uint32_t slices,
             std::uint32_t line, PolicyChoice<Replacement> const& replacement) {
    auto const unit = std::uint64_t{ways} * slices * line;
    if (need(size.bytes >= unit && size.bytes % unit == 0, section + ".size",
             "must be a multiple of line_bytes x ways x slices, " + to_text(ByteSize{unit})))
      policy(section, "replacement", replacement, {static_cast<std::uint32_t>(size.bytes / unit), ways});
  }
  void interleave(std::string const& key, ByteSize bytes, std::uint32_t line, ByteSize most,
                  std::string const& page) {
    need(std::has_single_bit(bytes.bytes) && bytes.bytes >= line && bytes.bytes <= most.bytes, key,
         "must be a power of two from a line to " + page);
  }
  // Checks a memory with the slices in front of it; returns true if the numbers of channels and slices fit.
  bool dram(std::string const& section, DramParams const& p, MemoryLayout const& layout,
            std::string const& slices_key, std::uint32_t line) {
    power_of_two(section + ".row", p.row.bytes);
    power_of_two(section + ".banks", p.banks);
    policy(section, "scheduler", p.scheduler, {p.queue});
    policy(section, "bank_hash", p.bank_hash, {});
    need(p.walk_queue < p.queue, section + ".walk_queue", "must be below queue, " + std::to_string(p.queue));
    if (p.t_refi != Duration::zero()) {
      auto const least =
          p.t_rfc + p.t_ras + p.t_rp + p.t_rcd + p.t_cl + p.t_wtr + p.t_rtw + p.bandwidth.time_for(line);
      need(p.t_refi > least, section + ".t_refi",
           "must exceed the time of a refresh, a row miss and a line, " + to_text(least));
    }
    return need(layout.slices % layout.channels == 0 || layout.channels % layout.slices == 0,
                section + ".channels",
                "must be a divisor or a multiple of " + slices_key + ", " + std::to_string(layout.slices));
  }
  // Checks the queue in front of each channel.
  void queue(std::string const& key, std::uint32_t entries, MemoryLayout const& layout) {
    auto const sharing = layout.slices_per_channel();
    need(entries >= sharing, key,
         "must hold one request per slice that shares a channel, " + std::to_string(sharing));
  }
  void queues(std::string const& section, DramParams const& p, MemoryLayout const& layout) {
    if (p.walk_queue >= p.queue) return;  // already refused
    if (p.walk_queue == 0) return queue(section + ".queue", p.queue, layout);
    auto const sharing = layout.slices_per_channel();
    if (!need(p.queue >= 2 * sharing, section + ".queue",
              "must hold one request and one page-walk read per slice that shares a channel, " +
                  std::to_string(2 * sharing)))
      return;
    auto const most = p.queue - sharing;
    need(p.walk_queue >= sharing && p.walk_queue <= most, section + ".walk_queue",
         "must be from " + std::to_string(sharing) + " to " + std::to_string(most) + ": queue has " +
             std::to_string(p.queue) +
             " entries, and each slice that shares a channel needs one of each kind");
  }

 private:
  Config& config_;
};

}  // namespace

void MachineConfig::check_translation(Config& config) const {
  translation.check(config, memory.page_size, ByteSize{memory.page_size.bytes << memory.large_size()});
  for (auto const& level : translation.listed()) {
    Rules(config).policy(level.section(), "balance", level.balance, {});
    if (!level.is_balanced()) continue;
    auto const refuse = [&](std::string const& why) {
      config.refuse(level.section() + ".balance",
                    level.section() + ".balance = " + level.balance.name() + ": " + why);
    };
    if (translation.listed().size() > 1) refuse("needs a single gpu.translation.level");
    if (memory.replays_faults())
      refuse(
          "faulted accesses would miss their replay, because a page may be in two banks; place all pages "
          "before the first kernel, and choose a memory.remote_touch that does not move them");
  }
}

bool MachineConfig::check_large_pages(Config& config) const {
  Rules rules(config);
  auto const size = memory.large_page_size.bytes;
  auto const in_last_node = std::uint64_t{1} << PageLevels(memory.page_bits()).last_bits();
  auto const least = memory.page_size.bytes * in_last_node;
  auto const room = InitialMemory::data_bytes(dram.capacity.bytes);
  auto const* const key = "memory.large_page_size";
  auto const times = " times memory.page_size, " + to_text(memory.page_size);
  auto const nodes = std::to_string(in_last_node);
  bool const may_be_one = !memory.has_large_pages() && !memory.coalesces() && size == memory.page_size.bytes;
  bool const is_level =
      memory.coalesces()
          ? rules.need(size == least, key,
                       "must be " + nodes + times + ", with memory.page_sizes = " + memory.page_sizes.name())
          : rules.need(may_be_one || size == least || size == least << PageLevels::kIndexBits, key,
                       "must be " + std::string(memory.has_large_pages() ? "" : "1, ") + nodes + " or " +
                           nodes + " x 512" + times);
  rules.need(size <= room, key,
             "must not exceed the space for data in gpu.dram.capacity, " + to_text(ByteSize{room}));
  if (memory.coalesces() && memory.makes_copies())
    config.refuse("memory.page_sizes",
                  "memory.page_sizes = " + memory.page_sizes.name() +
                      ": pages with copies cannot be coalesced, but memory.remote_touch = " +
                      memory.remote_touch.name() + " makes copies");
  if (memory.has_large_pages() && memory.makes_copies()) {
    auto const what = memory.large_pages_setting();
    config.refuse(what.substr(0, what.find(' ')),
                  what + ": large pages cannot have copies, but memory.remote_touch = " +
                      memory.remote_touch.name() + " makes copies");
  }
  return is_level;
}

void MachineConfig::check_relocations(Config& config) const {
  if (memory.compacts() && !memory.frame_allocation.facts().compacts)
    config.refuse("memory.compaction", "memory.compaction = " + memory.compaction.name() +
                                           " empties large frames, but memory.frame_allocation = " +
                                           memory.frame_allocation.name() + " cannot select them");
  if (memory.compacts() && memory.makes_copies())
    config.refuse("memory.compaction",
                  "memory.compaction = " + memory.compaction.name() +
                      ": pages with copies cannot be moved within a memory, but memory.remote_touch = " +
                      memory.remote_touch.name() + " makes copies");
  if (memory.fragmentation_index > 0 && memory.gpu_share < 1)
    config.refuse("memory.fragmentation_index",
                  "memory.fragmentation_index above 0 applies to all of gpu.dram.capacity, but "
                  "memory.gpu_share below 1 uses only a part of it");
  bool const no_large =
      memory.fragmentation_index > 0 && memory.large_page_size.bytes == memory.page_size.bytes;
  Rules(config).need(!no_large, "memory.large_page_size",
                     "must exceed memory.page_size if memory.fragmentation_index is above 0");
}

// A page that the IOMMU maps at its first touch causes no fault that a GPU could record.
void MachineConfig::check_fault_path(Config& config) const {
  bool const maps = memory.maps_at_first_touch() && memory.first_touch_by == FirstTouchBy::iommu;
  auto const recorded = memory.fault_path.facts().recorded_by_gpu;
  if (maps && (recorded >> static_cast<unsigned>(FaultKind::not_mapped) & 1) != 0)
    config.refuse("memory.fault_path", "memory.fault_path = " + memory.fault_path.name() +
                                           ": GPUs record faults for the driver, but with "
                                           "memory.first_touch_by = iommu the IOMMU maps pages itself");
  if (gpus_end_walks() && memory.remote_touch.facts().counts_requests && router.policy.facts().walks)
    config.refuse(
        "memory.remote_touch",
        "memory.remote_touch = " + memory.remote_touch.name() +
            ": its parameters count translation requests at the IOMMU, but with memory.fault_path = " +
            memory.fault_path.name() + " and gpu.router.policy = " + router.policy.name() +
            " walks of a GPU's own table send none; let it decide at the first request, use "
            "memory.fault_path = iommu, or use gpu.router.policy = centralized");
  auto const events = memory.remote_touch.facts().events;
  bool const needs_faults = events.has(PageEventKind::fault) && !events.has(PageEventKind::request);
  if (needs_faults && (!gpus_end_walks() || router.policy.facts().asks_iommu))
    config.refuse("memory.remote_touch",
                  "memory.remote_touch = " + memory.remote_touch.name() +
                      " decides at faults, but with memory.fault_path = " + memory.fault_path.name() +
                      " and gpu.router.policy = " + router.policy.name() +
                      " an IOMMU answers requests for pages on other devices; use memory.fault_path = gpu "
                      "with gpu.router.policy = distributed");
}

// The driver knows the holders of copies only from their own faults.
void MachineConfig::check_copies(Config& config) const {
  if (!memory.makes_copies()) return;
  auto const refuse = [&](std::string const& key, std::string const& why) {
    config.refuse(key, "memory.remote_touch = " + memory.remote_touch.name() + ": " + why);
  };
  if (faults_recorded_by_gpus() != faults())
    refuse("memory.fault_path",
           "each GPU that reads a page must raise its own fault, but memory.fault_path = " +
               memory.fault_path.name() + " merges faults of several GPUs; use gpu");
  if (l2_cache.software_coherent())
    refuse("gpu.l2_cache.partitions", "L2 partitions kept coherent by software would keep lines of copies");
}

void MachineConfig::check_counters(Config& config) const {
  if (!memory.counts_accesses()) return;
  constexpr std::array<unsigned, 4> kBits{16, 21, 24, 34};
  auto const bytes = access_counters.granularity.bytes;
  Rules(config).need(std::ranges::any_of(kBits, [&](unsigned b) { return bytes == std::uint64_t{1} << b; }),
                     "gpu.access_counters.granularity", "must be 64KiB, 2MiB, 16MiB or 16GiB");
}

// A large page of a batch needs a large frame, which evictions must be able to free.
void MachineConfig::check_large_batches(Config& config) const {
  auto const large = memory.large_page_size;
  auto const brings = "driver.batch.replay = " + batch.replay.name() + " brings large pages";
  Rules rules(config);
  if (rules.need(large.bytes <= std::uint64_t{1} << kBlockBits, "memory.large_page_size",
                 "must not exceed a VA block, 2 MiB, if faults are served in batches (driver.batch.replay)"))
    rules.need(batch.eviction_unit.bytes >= large.bytes, "driver.batch.eviction_unit",
               "must be at least a large page (memory.large_page_size), " + to_text(large) +
                   ", which is evicted whole");
  if (!memory.frame_allocation.facts().has_large_frames)
    config.refuse("memory.frame_allocation",
                  brings + " (" + memory.large_pages_setting() + "), but memory.frame_allocation = " +
                      memory.frame_allocation.name() + " has no large frames; use on_demand");
  if (memory.fragmentation_index > 0)
    config.refuse("memory.fragmentation_index",
                  brings + " (" + memory.large_pages_setting() +
                      "), but memory.fragmentation_index above 0 fills large frames with data that is never "
                      "evicted");
}

void MachineConfig::check_batches(Config& config) const {
  Rules rules(config);
  rules.need(
      batch.workers_of(std::numeric_limits<std::uint32_t>::max()).has_value(), "driver.batch.workers",
      "must be a count from 1 to the number of GPUs, or \"" + std::string(BatchParams::kOnePerGpu) + "\"");
  if (!in_batches()) return;
  auto const refuse = [&](std::string const& key, std::string const& why) {
    config.refuse(key, "driver.batch.replay = " + batch.replay.name() + ": " + why);
  };
  if (!batch.replay.facts().replays())
    refuse("driver.batch.replay",
           "faulted accesses are never replayed; its facts must name a replay at the end "
           "of a batch or at an empty fault buffer, or be by page");
  if (faults_recorded_by_gpus() != faults())
    refuse("memory.fault_path", "batches are read from a GPU's fault buffer, but memory.fault_path = " +
                                    memory.fault_path.name() + " records faults elsewhere; use gpu");
  if (memory.has_large_pages()) check_large_batches(config);
  auto const unit = batch.eviction_unit.bytes;
  rules.need(std::has_single_bit(unit) && unit >= memory.page_size.bytes, "driver.batch.eviction_unit",
             "must be a power of two and at least a page, " + to_text(memory.page_size));
  auto const pages = std::max<std::uint64_t>(unit / memory.page_size.bytes, 1);
  rules.need(
      driver.migrations >= 2 * pages + 2, "driver.migrations",
      "must be at least " + std::to_string(2 * pages + 2) +
          " if faults are served in batches: two eviction units (driver.batch.eviction_unit) and two pages");
  rules.policy("driver.batch", "replay", batch.replay, {});
  rules.policy("driver.batch", "prefetch", batch.prefetch, {memory.page_bits()});
  rules.policy("driver.batch", "eviction_order", batch.eviction_order, {memory.page_bits()});
  rules.policy("driver.batch", "eviction_schedule", batch.eviction_schedule, {});
}

// Partitions to whose slices SMs send requests.
void MachineConfig::check_chiplets(Config& config) const {
  Rules rules(config);
  auto const parts = l2_cache.parts();
  auto const data = InitialMemory::data_bytes(dram.capacity.bytes);
  rules.need(
      std::has_single_bit(parts.block) && parts.block >= l2_cache.interleave.bytes,
      "gpu.l2_cache.partition_block",
      "must be a power of two and at least gpu.l2_cache.interleave, " + to_text(l2_cache.interleave) +
          (l2_cache.partition_block.bytes == 0 ? "; 0 B means " + to_text(ByteSize{parts.block}) : ""));
  auto const channels = gpu_memory().channels;
  rules.need(channels % parts.count == 0 && channels <= l2_cache.slices, "gpu.dram.channels",
             "must be a multiple of gpu.l2_cache.partitions, " + std::to_string(parts.count) +
                 ", and at most gpu.l2_cache.slices, " + std::to_string(l2_cache.slices) +
                 ", with gpu.l2_cache.miss_path = direct");
  auto const needs_blocks = [&](std::string const& key, std::uint64_t least, std::string const& what) {
    auto const round = parts.block * parts.count;
    if (parts.block < least || data % round != 0 || round > dram.capacity.bytes - data)
      config.refuse(key,
                    key + " = " + what + ": needs gpu.l2_cache.partition_block of at least " +
                        to_text(ByteSize{least}) +
                        "; blocks of all gpu.l2_cache.partitions must divide 7/8 of gpu.dram.capacity, " +
                        to_text(ByteSize{data}) + ", and fit into the rest");
  };
  if (memory.frame_allocation.facts().uses_partitions)
    needs_blocks("memory.frame_allocation", memory.page_size.bytes, memory.frame_allocation.name());
  if (memory.page_tables != TablePlaces::in_order)
    needs_blocks("memory.page_tables", PageTable::kNodeBytes,
                 memory.page_tables == TablePlaces::with_data ? "with_data" : "with_tlb");
  if (memory.page_tables == TablePlaces::with_tlb) {
    auto const* const last = translation.listed().empty() ? nullptr : translation.chain().back();
    auto const node = memory.page_size.bytes << PageLevels(memory.page_bits()).last_bits();
    if (last == nullptr || last->banks % parts.count != 0 || last->hash.facts().mask != nullptr ||
        last->interleave.bytes % node != 0)
      config.refuse("memory.page_tables",
                    "memory.page_tables = with_tlb: needs a last gpu.translation.level whose banks are a "
                    "multiple of gpu.l2_cache.partitions, with hash = turns and an interleave that is a "
                    "multiple of the pages of a last table, " +
                        to_text(ByteSize{node}));
  }
  if (gpu.blocks_by_partition() && sm.thread_blocks.facts().stops_sms)
    config.refuse("gpu.blocks",
                  "gpu.blocks = by_partition: gpu.sm.thread_blocks = " + sm.thread_blocks.name() +
                      " stops SMs, whose blocks no SM of another partition would execute");
  rules.need(l2_cache.partition_latency != 0, "gpu.l2_cache.partition_latency",
             "must be at least 1 with gpu.l2_cache.miss_path = direct");
  if (page_walk_cache.present())
    config.refuse("gpu.page_walk_cache.size",
                  "gpu.page_walk_cache.size: the cache is for all page walkers of a GPU, but with "
                  "gpu.l2_cache.miss_path = direct these are in several partitions; use gpu.gmmu.walk_cache");
}

void MachineConfig::check(Config& config) const {
  Rules rules(config);
  auto const page = memory.page_size.bytes;
  rules.need(page == 4096 || page == 64 * 1024 || page == 2 * 1024 * 1024, "memory.page_size",
             "must be 4KiB, 64KiB or 2MiB");
  auto pages = memory;
  bool const uses_large_pages = pages.has_large_pages() || pages.coalesces() || pages.has_large_frames() ||
                                memory.fragmentation_index > 0;
  if (uses_large_pages && !check_large_pages(config)) {
    pages.large_pages = "none";
    pages.page_sizes = MemoryParams{}.page_sizes;
  }
  rules.power_of_two("gpu.line_bytes", gpu.line_bytes);
  auto const of_page = std::max(memory.page_size.bytes, memory.large_page_size.bytes);
  rules.interleave("gpu.l2_cache.interleave", l2_cache.interleave, gpu.line_bytes, ByteSize{of_page},
                   "a large page (memory.large_page_size)");
  rules.need(l2_cache.interleave.bytes * l2_cache.slices <= dram.capacity.bytes, "gpu.l2_cache.interleave",
             "must not exceed gpu.dram.capacity / gpu.l2_cache.slices, " + to_text(dram.capacity) + " / " +
                 std::to_string(l2_cache.slices));
  bool const shared = rules.dram("gpu.dram", dram, gpu_memory(), "gpu.l2_cache.slices", gpu.line_bytes);
  if (rules.dram("cpu.dram", cpu_dram, cpu_memory(), "cpu.llc.slices", gpu.line_bytes))
    rules.queues("cpu.dram", cpu_dram, cpu_memory());
  bool const equal = l2_cache.slices % l2_cache.partitions == 0;
  rules.need(equal, "gpu.l2_cache.partitions",
             "must be a divisor of gpu.l2_cache.slices, " + std::to_string(l2_cache.slices));
  if (equal && l2_cache.direct()) check_chiplets(config);
  if (memory.frame_allocation.facts().uses_partitions && !l2_cache.direct())
    config.refuse("memory.frame_allocation",
                  "memory.frame_allocation = " + memory.frame_allocation.name() +
                      ": needs gpu.l2_cache.miss_path = direct and several gpu.l2_cache.partitions");
  if (shared && equal && memory_cache.present())
    rules.queue("gpu.memory_cache.queue", memory_cache.queue, gpu_memory());
  if (shared && equal && !memory_cache.present()) rules.queues("gpu.dram", dram, gpu_memory());
  if (memory_cache.present())
    rules.cache("gpu.memory_cache", memory_cache.size, memory_cache.ways, gpu_memory().channels,
                gpu.line_bytes, memory_cache.replacement);
  rules.policy("memory", "placement", memory.placement, {});
  rules.policy("memory", "page_sizes", memory.page_sizes, {});
  rules.policy("memory", "remote_touch", memory.remote_touch, {memory.page_bits()});
  rules.policy("memory", "scope", memory.scope, {});
  rules.policy("memory", "fault_path", memory.fault_path, {});
  rules.policy("memory", "compaction", memory.compaction, {});
  check_relocations(config);
  check_fault_path(config);
  check_copies(config);
  check_batches(config);
  check_counters(config);
  rules.policy("memory", "frame_allocation", memory.frame_allocation,
               {InitialMemory::data_bytes(dram.capacity.bytes) >> memory.page_bits(), memory.page_bits(), 1,
                memory.large_frame_size()});
  rules.policy("host", "block_order", host.block_order, {});
  rules.policy("gpu", "memory_contents", gpu.memory_contents, {});
  rules.policy("fabric", "copies", fabric.copies, {});
  rules.policy("gpu.sm", "warp_order", sm.warp_order, {});
  rules.policy("gpu.sm", "thread_blocks", sm.thread_blocks, {});
  rules.need(!l2_cache.hardware_coherent() || l2_cache.partition_latency != 0,
             "gpu.l2_cache.partition_latency", "must be at least 1 with gpu.l2_cache.miss_path = home_slice");
  rules.interleave("cpu.llc.interleave", cpu_llc.interleave, gpu.line_bytes, memory.page_size, "a page");
  rules.tlb("gpu.l1_tlb", "", l1_tlb.entries, l1_tlb.ways, pages, l1_tlb.policies);
  rules.policy("gpu.l1_tlb", "misses", l1_tlb.misses, {});
  rules.policy("gpu.l2_cache", "hash", l2_cache.hash, {});
  if (page_walk_cache.present())
    rules.cache("gpu.page_walk_cache", page_walk_cache.size, page_walk_cache.ways, 1, gpu.line_bytes,
                page_walk_cache.replacement);
  if (instruction_cache.present()) {
    auto const& code = instruction_cache.code;
    rules.power_of_two("gpu.instruction_cache.instruction_bytes", code.instruction_bytes);
    rules.need(code.kernel.bytes % code.instruction_bytes == 0, "gpu.instruction_cache.code",
               "must be a multiple of gpu.instruction_cache.instruction_bytes, " +
                   std::to_string(code.instruction_bytes));
  }
  auto const shared_tlb = [&](std::string const& section, L2TlbParams const& tlb) {
    if (tlb.entries != 0) rules.tlb(section, "", tlb.entries, tlb.ways, pages, tlb.policies, true);
    rules.policy(section, "fill", tlb.fill,
                 {.clock = gpu.clock.clock(),
                  .sms = {{0}},
                  .page_bits = memory.page_bits(),
                  .page_sizes = memory.sizes_of_pages(),
                  .replacement = &tlb.policies.replacement});
  };
  if (translation.listed().empty()) shared_tlb("gpu.l2_tlb", l2_tlb);
  for (auto const& level : translation.listed()) shared_tlb(level.section(), level);
  check_translation(config);
  rules.policy("gpu.l2_cache", "walk_reads", l2_cache.walk_reads,
               {gpu.clock.clock(), PageLevels(memory.page_bits()).count()});
  for (auto const& kind : read_only_caches()) {
    auto const& cache = kind.params;
    rules.tlb("gpu." + kind.name, "tlb_", cache.tlb_entries, cache.tlb_entries, pages, cache.tlb);
    rules.cache("gpu." + kind.name, cache.size, cache.ways, 1, gpu.line_bytes, cache.replacement);
  }
  if (asks_iommu() && iommu.tlb_entries != 0)
    rules.tlb("iommu", "tlb_", iommu.tlb_entries, iommu.tlb_ways, pages, iommu.tlb);
  if (gmmu.walk_latency == 0) rules.walk_cache("gpu.gmmu", gmmu.walk_cache, gmmu.walk_cache_policies);
  if (asks_iommu() && iommu.walk_latency == 0)
    rules.walk_cache("iommu", iommu.walk_cache, iommu.walk_cache_policies);
  rules.cache("gpu.l1_cache", l1_cache.size, l1_cache.ways, 1, gpu.line_bytes, l1_cache.replacement);
  rules.cache("gpu.l2_cache", l2_cache.size, l2_cache.ways, l2_cache.slices, gpu.line_bytes,
              l2_cache.replacement);
  rules.cache("cpu.llc", cpu_llc.size, cpu_llc.ways, cpu_llc.slices, gpu.line_bytes, cpu_llc.replacement);
  rules.power_of_two("fabric.nvlink_flit_bytes", fabric.nvlink_flit_bytes);
  auto const payload = largest_payload();
  auto const largest = std::max({fabric.format(true).bytes(payload), fabric.format(false).bytes(payload),
                                 fabric.network_format(gpu.line_bytes).bytes(payload)});
  rules.need(fabric.buffer.bytes == 0 || fabric.buffer.bytes >= largest, "fabric.buffer",
             "must be 0 B (computed per link) or hold the largest packet with its header, " +
                 to_text(ByteSize{largest}));
  rules.policy("gpu.router", "policy", router.policy, {});
}

}  // namespace farfault::topologies
