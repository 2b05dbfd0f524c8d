// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "farfault/topologies/assembly.hpp"
#include "preset_texts.hpp"

namespace farfault::topologies {

void GpuParams::describe(ParamTable& t) {
  t.count("sms", sms, {0, 1024},
          "Streaming multiprocessors (compute units) per GPU. 0: as the topology states, else 36",
          "GMMU Bypass, Table 1: 36");
  t.frequency("clock", clock, {Frequency{1'000'000}, Frequency{100'000'000'000}},
              "Clock of SMs, caches and TLBs", "GMMU Bypass, Table 1: 1.0 GHz");
  t.count("warp_width", warp_width, {1, kMaxLanes}, "Lanes per warp (wavefront)", "AMD GCN: 64; NVIDIA: 32");
  t.count("line_bytes", line_bytes, {32, 128}, "Cache line size in bytes, a power of two",
          "AMD GCN: 64; NVIDIA: 128");
  t.count("crossbar_latency", crossbar_latency, {1, 10000},
          "Latency between SMs, L2 slices, GMMU and RDMA engine in cycles, each way", "assumed");
  t.count("translation_latency", translation_latency, {1, 10000},
          "Latency between SMs and L2 TLB, and between L2 TLB and GMMU, in cycles, each way", "assumed");
  memory_contents.describe(
      t, "memory_contents",
      "Storage format of pages that migrate in batches, if memory.gpu_share limits GPU memory",
      "none: plain; ETC (ASPLOS 2019): compressed");
}

void CpuParams::describe(ParamTable& t) {
  t.frequency("clock", clock, {Frequency{1'000'000}, Frequency{100'000'000'000}},
              "Clock of the last-level cache", "assumed");
}

CpuCacheParams::CpuCacheParams() {
  slices = 4;
  size = ByteSize{std::uint64_t{8} << 20};
  latency = 40;
}

void CpuCacheParams::describe(ParamTable& t) {
  SlicedCacheParams::describe(t);
  for (auto const* name : {"slices", "size", "ways", "latency", "mshrs", "replacement"})
    t.set_source(name, "assumed");
}

CpuDramParams::CpuDramParams() {
  capacity = ByteSize{std::uint64_t{64} << 30};
  bandwidth = Bandwidth{25'600'000'000};
  row = ByteSize{8192};
  t_ras = 32ns;
}

void CpuDramParams::describe(ParamTable& t) {
  DramParams::describe(t);
  for (auto const* name : {"capacity", "queue"}) t.set_source(name, "assumed");
  t.set_source("bandwidth", "DDR4-3200: 25.6 GB/s");
  t.set_source("banks", "DDR4: 16");
  t.set_source("row", "DDR4 x8 rank: 8 KiB");
  t.set_source("t_cl", "DDR4-3200 CL22: 13.75 ns");
  t.set_source("t_rcd", "DDR4-3200: 13.75 ns");
  t.set_source("t_rp", "DDR4-3200: 13.75 ns");
  t.set_source("t_ras", "DDR4-3200: 32 ns");
}

void MachineParams::describe(ParamTable& t) {
  t.file("topology", topology,
         "Built-in machine, file (NCCL/RCCL XML, hwloc XML, GraphML, TOML, ibnetdiscover, topograph), or "
         "generic",
         "GMMU Bypass, Table 1");
}

namespace {

// Keeps a choice and the parameters of the selected implementation; leaves out all others.
template <class I>
void leave_out(Config& config, std::string const& section, std::string const& name,
               PolicyChoice<I> const& choice, std::string const& only_with) {
  config.leave_out(section + "." + name, only_with);
  config.leave_out(section + "." + choice.section(), only_with);
}

void leave_out_walk_cache(Config& config, std::string const& section, std::uint32_t walk_latency,
                          std::uint32_t entries, WalkCachePolicies const& policies) {
  auto const no_reads = walk_latency != 0;
  if (no_reads) config.leave_out(section + ".walk_cache", section + ".walk_latency = 0");
  if (!no_reads && entries != 0) return;
  auto const only_with = section + (no_reads ? ".walk_latency = 0" : ".walk_cache above 0");
  leave_out(config, section, "walk_cache_organization", policies.organization, only_with);
  leave_out(config, section, "walk_cache_replacement", policies.replacement, only_with);
}

}  // namespace

void MachineConfig::bind(Config& config, Policies const* more) {
  each_section([&](std::string_view name, std::string_view, auto& spec) {
    ParamTable table(more);
    spec.describe(table);
    config.bind(name, table, Config::Spec::lasting);
  });
  leave_out_unused(config);
}

void MachineConfig::leave_out_unused(Config& config) const {
  if (machine.topology != "generic") config.leave_out("machine.generic", "machine.topology = \"generic\"");
  if (cluster.machines == 1)
    config.leave_out_below("machine.cluster", "machines", "machine.cluster.machines above 1");
  if (!memory.coalesces()) {
    auto const* const only_with = "a memory.page_sizes that coalesces base pages";
    for (auto const* name :
         {"gpu.gmmu.walk_reads_first_entry", "gpu.gmmu.table_writes", "iommu.walk_reads_first_entry"})
      config.leave_out(name, only_with);
  }
  if (memory.page_sizes.make({})->large_buffers("chosen") != "chosen")
    config.leave_out("memory.large_pages", "memory.page_sizes = \"by_buffer\"");
  if (!memory.has_large_pages() && !memory.coalesces() && !memory.has_large_frames() &&
      memory.fragmentation_index <= 0)
    config.leave_out("memory.large_page_size",
                     "a memory.large_pages other than \"none\", a memory.page_sizes or "
                     "memory.frame_allocation that uses large pages, or memory.fragmentation_index above 0");
  if (!memory.compacts())
    config.leave_out("memory.compaction_threshold", "a memory.compaction that moves pages");
  if (!memory.relocates())
    config.leave_out("memory.moves_stall_gpu",
                     "a memory.compaction or memory.page_sizes that moves pages within a GPU's memory");
  if (memory.fragmentation_index <= 0)
    for (auto const* name : {"memory.fragmentation_occupancy", "memory.fragmentation_seed"})
      config.leave_out(name, "memory.fragmentation_index above 0");
  if (!memory.pages_wait())
    for (auto const* name : {"memory.first_touch_by", "memory.first_touch_copy"})
      config.leave_out(name, "a memory.placement that maps pages at first touch");
  if (!memory.replays_faults())
    for (auto const* name : {"gpu.l1_tlb.faulted_pages", "gpu.l1_tlb.faulted_accesses", "memory.fault_path"})
      config.leave_out(
          name, "memory.first_touch_by = \"driver\" and pages mapped at first touch, or pages that move");
  auto const kept_by_gpus = faults_kept_by_gpus();
  if (kept_by_gpus == faults())
    config.leave_out("iommu.fault_buffer", "faults recorded by the IOMMU (memory.fault_path)");
  if (kept_by_gpus == 0)
    for (auto const* name : {"gpu.gmmu.fault_buffer", "fabric.fault_bytes"})
      config.leave_out(name, "faults recorded by a GPU (memory.fault_path)");
  if (!batch.in_batches() || !memory.replays_faults()) {
    auto const only_with =
        std::string("driver.batch.replay other than \"each_fault\", and faults that are replayed");
    config.leave_out("memory.gpu_share", only_with);
    config.leave_out_below("driver.batch", "replay", only_with);
  } else if (sm.thread_blocks.why_not({}).empty() && !looks_at_periods()) {
    config.leave_out("driver.batch.lifetimes", "a gpu.sm.thread_blocks that adapts to evictions");
  }
  leave_out_walk_cache(config, "gpu.gmmu", gmmu.walk_latency, gmmu.walk_cache, gmmu.walk_cache_policies);
  leave_out_walk_cache(config, "iommu", iommu.walk_latency, iommu.walk_cache, iommu.walk_cache_policies);
  if (l2_cache.partitions == 1)
    for (auto const* name : {"partition_latency", "miss_path"})
      config.leave_out(std::string("gpu.l2_cache.") + name, "gpu.l2_cache.partitions above 1");
  if (!memory_cache.present()) {
    auto const* const only_with = "gpu.memory_cache.size above 0";
    for (auto const* name : {"ways", "latency", "cycles_per_line", "mshrs", "queue"})
      config.leave_out(std::string("gpu.memory_cache.") + name, only_with);
    leave_out(config, "gpu.memory_cache", "replacement", memory_cache.replacement, only_with);
  }
  if (!page_walk_cache.present()) {
    auto const* const only_with = "gpu.page_walk_cache.size above 0";
    for (auto const* name : {"ways", "latency", "mshrs"})
      config.leave_out(std::string("gpu.page_walk_cache.") + name, only_with);
    leave_out(config, "gpu.page_walk_cache", "replacement", page_walk_cache.replacement, only_with);
  }
  if (dram.t_refi == Duration::zero()) config.leave_out("gpu.dram.t_rfc", "gpu.dram.t_refi above 0");
  if (cpu_dram.t_refi == Duration::zero()) config.leave_out("cpu.dram.t_rfc", "cpu.dram.t_refi above 0");
  if (l2_cache.software_coherent())
    config.leave_out("gpu.l2_cache.write_back_at_kernel_end",
                     "gpu.l2_cache.miss_path = \"home_slice\" or one partition: else software writes back");
  if (iommu.tlb_entries == 0) {
    auto const* const only_with = "iommu.tlb_entries above 0";
    config.leave_out("iommu.tlb_ways", only_with);
    leave_out(config, "iommu", "tlb_organization", iommu.tlb.organization, only_with);
    leave_out(config, "iommu", "tlb_replacement", iommu.tlb.replacement, only_with);
  }
}

std::uint32_t MachineConfig::faults() const {
  auto const bit = [](FaultKind kind) { return 1U << static_cast<unsigned>(kind); };
  return (memory.replays_first_touches() ? bit(FaultKind::not_mapped) : 0) |
         (memory.pages_move() ? bit(FaultKind::remote) : 0) |
         (pages_leave_frames() ? bit(FaultKind::moving) : 0);
}

std::uint32_t MachineConfig::faults_kept_by_gpus() const {
  if (!memory.fault_path.why_not({}).empty()) return 0;
  auto const path = memory.fault_path.make({});
  std::uint32_t kept = 0;
  for (auto const kind : {FaultKind::not_mapped, FaultKind::remote, FaultKind::moving})
    if (path->kept_by_gpu(kind)) kept |= 1U << static_cast<unsigned>(kind);
  return kept & faults();
}

void MachineConfig::fit_to(Machine const& chosen, Config& config) const {
  if (chosen.machines() == 1)
    leave_out(config, "memory", "scope", memory.scope, "a cluster: machine.cluster.machines above 1");
  auto const is_switch = [&](std::uint32_t node) {
    return chosen.nodes[node].kind == NodeKind::network_switch;
  };
  if (cluster.machines > 1 && std::ranges::none_of(chosen.links, [&](MachineLink const& link) {
        return is_switch(link.a) && is_switch(link.b);
      }))
    config.leave_out("machine.cluster.switch_bandwidth", "a cluster of several switches");
  if (chosen.count(LinkKind::network) == 0 || !chosen.states_nic_bandwidth())
    for (auto const* name : {"network_header_bytes", "network_mtu"})
      config.leave_out(std::string("fabric.") + name, "a network of NICs whose bandwidth is known");
  if (chosen.count(NodeKind::nic) == 0) config.leave_out("nic", "a machine with NICs");
}

std::optional<std::string> find_preset(std::string_view name) {
  for (auto const& p : preset_texts())
    if (p.name == name) return std::string(p.text);
  return std::nullopt;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (auto const& p : preset_texts()) names.emplace_back(p.name);
  std::ranges::sort(names);  // order of file names differs: '-' before '.toml'
  return names;
}

}  // namespace farfault::topologies
