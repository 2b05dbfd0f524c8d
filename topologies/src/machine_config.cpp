// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/machine_config.hpp"

#include <algorithm>
#include <bit>

#include "farfault/protocols/facts.hpp"
#include "farfault/topologies/sm_count.hpp"
#include "preset_texts.hpp"

namespace farfault::topologies {

void GpuParams::describe(ParamTable& t) {
  t.count("sms", sms, {0, 1024},
          "Streaming multiprocessors (compute units) per GPU. 0: as the topology states, else 36",
          "GMMU Bypass (NPC 2020), Table 1: 36");
  t.frequency("clock", clock, {Frequency{1'000'000}, Frequency{100'000'000'000}},
              "Clock of SMs, caches and TLBs", "GMMU Bypass (NPC 2020), Table 1: 1.0 GHz");
  t.count("warp_width", warp_width, {1, kMaxLanes}, "Lanes per warp (wavefront)", "AMD GCN: 64; NVIDIA: 32");
  t.count("line_bytes", line_bytes, {32, 128}, "Cache line size in bytes, a power of two",
          "AMD GCN: 64; NVIDIA: 128");
  t.count("crossbar_latency", crossbar_latency, {1, 10000},
          "Latency between SMs, L2 slices, GMMU and RDMA engine in cycles, each way", "assumed");
  t.count("translation_latency", translation_latency, {1, 10000},
          "Latency between SMs and L2 TLB, and between L2 TLB and GMMU, in cycles, each way", "assumed");
  t.choice("blocks", blocks,
           {{"any_sm", BlockPlaces::any_sm, "any SM"},
            {"by_partition", BlockPlaces::by_partition,
             "the SMs of one partition; each partition has an equal contiguous part of a kernel's blocks"}},
           "SMs that may execute a thread block", "assumed: any_sm; MGvm (MICRO 2022), LASP: by_partition")
      .only_when(facts::kChiplets);
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
  t.restrict("address_space_aware.epoch", facts::kCpuWalkPressure);
}

void MachineParams::describe(ParamTable& t) {
  t.file("topology", topology,
         "Built-in machine, file (NCCL/RCCL XML, hwloc XML, GraphML, TOML, ibnetdiscover, topograph), or "
         "generic",
         "GMMU Bypass (NPC 2020), Table 1");
}

void MachineConfig::prepare(Config& config) {
  config.replaces(std::string(TranslationLevels::kSection), "gpu.l2_tlb");
}

void MachineConfig::bind(Config& config, Policies const* more) {
  translation.read_names(config);
  each_section([&](std::string_view name, std::string_view, auto& spec) {
    ParamTable table(more);
    spec.describe(table);
    config.bind(name, table, Config::Spec::lasting);
  });
  exclude_unused(config);
}

void MachineConfig::exclude_unused(Config& config) const {
  auto const recorded_by_gpus = faults_recorded_by_gpus();
  bool const batches = batch.in_batches() && memory.replays_faults();
  config.exclude_unused({
      {facts::kBuffersAreChosen, memory.page_sizes.facts().large_buffers == PageSizes::LargeBuffers::chosen},
      {facts::kLargePages, memory.has_large_pages() || memory.coalesces() || memory.has_large_frames() ||
                               memory.fragmentation_index > 0},
      {facts::kCoalescing, memory.coalesces()},
      {facts::kCompaction, memory.compacts()},
      {facts::kRelocations, memory.relocates()},
      {facts::kFirstTouch, memory.maps_at_first_touch()},
      {facts::kReplays, memory.replays_faults()},
      {facts::kFaultsAtIommu, recorded_by_gpus != faults()},
      {facts::kFaultsAtGpus, recorded_by_gpus != 0},
      {facts::kIommuRequests, asks_iommu()},
      {facts::kBatches, batches},
      {facts::kEachFault, !batch.in_batches()},
      {facts::kAccessCounters, memory.counts_accesses()},
      {facts::kMovesWithoutCopies, memory.pages_move() &&
                                       memory.remote_touch.facts().events.has(PageEventKind::fault) &&
                                       !memory.remote_touch.facts().makes_copies},
      {facts::kMissesToEveryMshr, l1_tlb.misses.facts().pages == MissTreatment::kEveryMshr},
      {facts::kSeveralTlbs, tlb_levels().back().may_be_several()},
      {facts::kChiplets, l2_cache.direct()},
      {facts::kAdaptiveBlocks, has_periods()},
      {facts::kNicAccesses, false},
      {facts::kCpuWalkPressure, false},
  });
}

std::vector<ReadOnlyCacheKind> MachineConfig::read_only_caches() const {
  std::vector<ReadOnlyCacheKind> kinds{{.name = "scalar_cache",
                                        .params = scalar_cache,
                                        .requests_of_sm = scalar_cache.requests,
                                        .cleared_at_launch = true,
                                        .page_uses = page_uses(),
                                        .request = &Sm::scalar_request,
                                        .response = &Sm::scalar_response}};
  if (instruction_cache.present())
    kinds.push_back({.name = "instruction_cache",
                     .params = instruction_cache,
                     .requests_of_sm = SmSpec::warp_contexts(sm) * instruction_cache.code.lines_ahead,
                     .cleared_at_launch = false,
                     .page_uses = {},  // the driver does not move code
                     .request = &Sm::fetch_request,
                     .response = &Sm::fetched});
  return kinds;
}

std::optional<CodeParams> MachineConfig::code() const {
  if (!instruction_cache.present()) return {};
  return instruction_cache.code;
}

std::vector<TlbLevelParams> MachineConfig::tlb_levels() const {
  std::vector<TlbLevelParams> levels;
  for (auto const* level : translation.chain()) levels.push_back(*level);
  if (levels.empty()) {
    auto& only = levels.emplace_back();
    static_cast<L2TlbParams&>(only) = l2_tlb;
    only.name = "l2_tlb";
    only.request_latency = gpu.translation_latency;
  }
  return levels;
}

std::uint32_t MachineConfig::faults() const {
  auto const bit = [](FaultKind kind) { return 1U << static_cast<unsigned>(kind); };
  return (memory.replays_first_touches() ? bit(FaultKind::not_mapped) : 0) |
         (memory.pages_move() ? bit(FaultKind::remote) : 0) |
         (pages_leave_frames() ? bit(FaultKind::moving) : 0);
}

std::uint32_t MachineConfig::faults_recorded_by_gpus() const {
  return memory.fault_path.facts().recorded_by_gpu & faults();
}

void MachineConfig::fit_to(Machine const& chosen, Config& config) const {
  auto const is_switch = [&](std::uint32_t node) {
    return chosen.nodes[node].kind == NodeKind::network_switch;
  };
  auto const joins_switches = [&](MachineLink const& link) { return is_switch(link.a) && is_switch(link.b); };
  config.exclude_unused({
      {facts::kCluster, chosen.machines() > 1},
      {facts::kSwitches, cluster.machines > 1 && std::ranges::any_of(chosen.links, joins_switches)},
      {facts::kPcieLinks, chosen.count(LinkKind::pcie) != 0},
      {facts::kNvlinks, chosen.count(LinkKind::nvlink) != 0},
      {facts::kXgmiLinks, chosen.count(LinkKind::xgmi) != 0},
      {facts::kCpuLinks, chosen.count(LinkKind::cpu_interconnect) != 0},
      {facts::kNetwork, chosen.count(LinkKind::network) != 0},
      {facts::kNicBandwidths, chosen.count(LinkKind::network) != 0 && chosen.states_nic_bandwidth()},
  });
  config.exclude_unused(links.facts());
  auto const sms = sms_of_gpu(chosen, gpu.sms);
  translation.fit_to(sms, l2_cache.parts().count, config);
  auto const levels = tlb_levels();
  if (pressure_epoch() != 0 && (levels.size() > 1 || levels[0].banks * levels[0].groups_of(sms) > 1))
    config.refuse("gpu.dram.scheduler",
                  "gpu.dram.scheduler = " + dram.scheduler.name() +
                      ": the scheduler is informed by a single L2 TLB, but [[gpu.translation.level]] (" +
                      config.where(levels[0].section()) + ") defines several TLBs");
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
