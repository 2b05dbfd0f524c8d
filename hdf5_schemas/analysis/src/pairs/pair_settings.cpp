// SPDX-License-Identifier: Apache-2.0
#include "pair_settings.hpp"

#include <algorithm>
#include <span>

#include "amount.hpp"
#include "settings_between.hpp"

namespace farfault::analysis {
namespace {

using Prefixes = std::vector<std::string_view>;

// The parameters that act on a cause, by prefix: the first list with a differing parameter counts.
struct Acting {
  std::string_view cause;
  std::vector<Prefixes> parameters;
};

// Placement, page sizes, and the order of blocks: which accesses are remote, and which GPU works when.
Prefixes const kPlaces{"memory.placement",    "memory.recorded",
                       "memory.interleaved",  "memory.random",
                       "memory.first_touch",  "memory.remote_touch",
                       "memory.migrate",      "memory.scope",
                       "host.block_order",    "machine.",
                       "application.",        "the file of memory.",
                       "the file of machine."};
Prefixes const kWorkload{"workload.", "application.",   "the file of workload.",
                         "run.seed",  "gpu.warp_width", "gpu.line_bytes"};
Prefixes const kPages{"memory.page_size",     "memory.large_page",       "memory.compaction",
                      "memory.cac_bulk_copy", "memory.frame_allocation", "memory.fragmentation",
                      "memory.train"};
Prefixes const kDram{"gpu.dram.", "gpu.memory_cache.", "gpu.memory_contents", "gpu.compressed"};
Prefixes const kL2Time{"gpu.l2_cache.latency",   "gpu.l2_cache.mshrs",     "gpu.l2_cache.waiters",
                       "gpu.l2_cache.ports",     "gpu.l2_cache.slices",    "gpu.l2_cache.interleave",
                       "gpu.l2_cache.partition", "gpu.l2_cache.miss_path", "gpu.crossbar_latency"};
Prefixes const kL1Tlb{"gpu.l1_tlb.", "gpu.scalar_cache."};
Prefixes const kLinks{"links.", "fabric.", "routing.", "nic.", "machine.", "the file of machine."};
Prefixes const kDriver{"driver.", "memory."};
Prefixes const kLimits{"gpu.l1_tlb.mshrs",
                       "gpu.l1_tlb.waiters",
                       "gpu.l1_tlb.faulted",
                       "gpu.l1_cache.mshrs",
                       "gpu.l1_cache.waiters",
                       "gpu.l1_cache.slice_credits",
                       "gpu.l1_cache.remote_credits",
                       "gpu.sm.",
                       "workload.",
                       "application.",
                       "the file of workload."};

std::vector<Acting> const& acting() {
  static std::vector<Acting> const all{
      {"launches", {kWorkload}},
      {"launch_time", {{"host.launch_latency", "host.done_latency"}, {"gpu.l2_cache.write_back"}}},
      {"copies", {{"workload.copies", "application."}, kWorkload}},
      {"copy_time", {{"gpu.copy_engine.", "fabric."}, kLinks, {"cpu.", "gpu.dram."}}},
      {"allocations", {kWorkload}},
      {"allocation_time", {{"driver."}, kWorkload}},
      {"other_work", {kWorkload}},
      {"only_in_a", {kWorkload}},
      {"only_in_b", {kWorkload}},
      {"common_kernels", {kWorkload}},
      {"work", {kWorkload}},
      {"execution", {{"gpu.sm."}, {"gpu.clock", "gpu.sms"}, kWorkload}},
      {"scalar_stall", {{"gpu.scalar_cache."}, kWorkload}},
      {"stopped", {{"driver.", "gpu.sm.", "memory."}}},
      {"occupancy", {{"gpu.sms", "gpu.sm.", "application."}, kPlaces, kWorkload}},
      {"accesses", {{"gpu.line_bytes", "gpu.warp_width"}, kPlaces, kWorkload}},
      {"in_flight", {kLimits}},
      {"memory_stall", {kWorkload, {"gpu.", "memory."}}},
      {"l1_tlb_misses", {kL1Tlb, kPages, kWorkload}},
      {"l2_tlb_misses", {{"gpu.l2_tlb."}, kPages, kL1Tlb, kWorkload}},
      {"iommu_translations", {{"gpu.router.", "gpu.gmmu."}, kPlaces, {"memory."}, {"iommu."}}},
      {"fault_translations", {{"memory."}, kDriver, {"workload.", "gpu.dram.capacity"}}},
      {"l2_requests",
       {{"gpu.l1_cache.size", "gpu.l1_cache.ways", "gpu.l1_cache.replacement", "gpu.l1_cache.random"},
        kPlaces,
        kWorkload}},
      {"l2_misses", {{"gpu.l2_cache.", "gpu.memory_cache."}, kPlaces, kWorkload}},
      {"remote_accesses", {kPlaces, kDriver, kWorkload}},
      {"l1_tlb_time", {kL1Tlb, {"gpu.clock"}}},
      {"l2_tlb_time", {{"gpu.l2_tlb.", "gpu.translation_latency"}, {"gpu.clock"}, {"gpu.gmmu."}}},
      {"walk_queue_time",
       {{"gpu.gmmu."}, {"gpu.page_walk_cache."}, kL2Time, kDram, {"gpu.l2_tlb."}, {"gpu.clock"}}},
      {"walk_time", {{"gpu.gmmu.", "gpu.page_walk_cache."}, {"gpu.l2_cache."}, kDram, {"gpu.clock"}}},
      {"iommu_time", {{"iommu."}, {"cpu."}, {"gpu.l2_tlb.", "gpu.router."}}},
      {"fault_time", {kDriver, kLinks, {"gpu.gmmu.fault", "iommu.fault", "gpu.dram.capacity"}}},
      {"l1_cache_time", {{"gpu.l1_cache.latency"}, {"gpu.clock"}}},
      {"l2_cache_time", {kL2Time, kDram, {"gpu.l2_cache."}, {"gpu.clock"}}},
      {"dram_queue_time", {kDram, {"gpu.l2_cache."}, {"gpu.l2_tlb.", "gpu.gmmu."}}},
      {"dram_time", {kDram, {"gpu.l2_cache."}}},
      {"links_time", {kLinks, kPlaces, {"gpu.l2_tlb.", "gpu.router."}}},
      {"remote_memory_time", {kDram, kL2Time, {"cpu.", "gpu.l2_cache."}, kPlaces}},
  };
  return all;
}

bool begins_with_any(std::string_view name, std::span<std::string_view const> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// The choices, or all settings if no choice differs.
std::vector<std::size_t> candidates(std::vector<PairSetting> const& settings) {
  std::vector<std::size_t> choices, all;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    all.push_back(i);
    if (!settings[i].follows) choices.push_back(i);
  }
  return choices.empty() ? all : choices;
}

}  // namespace

std::vector<PairSetting> pair_settings(std::string const& a, std::string const& b) {
  std::vector<PairSetting> settings;
  for (auto const& s : settings_between(a, b))
    settings.push_back({s.name, s.a, s.b, s.a == "none" || s.b == "none"});
  std::ranges::stable_partition(settings, [](PairSetting const& s) { return !s.follows; });
  return settings;
}

std::vector<std::size_t> settings_of_cause(std::string_view cause, std::vector<PairSetting> const& settings) {
  auto const differing = candidates(settings);
  if (differing.size() < 2) return differing;
  auto const found = std::ranges::find(acting(), cause, &Acting::cause);
  if (found == acting().end()) return {};
  for (auto const& prefixes : found->parameters) {
    std::vector<std::size_t> act;
    for (auto const i : differing)
      if (begins_with_any(settings[i].name, prefixes)) act.push_back(i);
    if (!act.empty()) return act;
  }
  return {};
}

bool limits_differ(std::vector<PairSetting> const& settings) {
  return std::ranges::any_of(
      settings, [](PairSetting const& s) { return !s.follows && begins_with_any(s.name, kLimits); });
}

std::vector<CauseGroup> group_causes(std::vector<Cause>& causes, std::vector<PairSetting> const& settings) {
  std::vector<CauseGroup> groups;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    causes[i].settings = settings_of_cause(causes[i].name, settings);
    auto group = std::ranges::find(groups, causes[i].settings, &CauseGroup::settings);
    if (group == groups.end()) group = groups.insert(groups.end(), CauseGroup{causes[i].settings, {}, 0});
    group->causes.push_back(i);
    group->ps = (Amount(group->ps) + Amount(causes[i].ps)).value();
  }
  std::ranges::stable_sort(groups, std::ranges::greater(),
                           [](CauseGroup const& g) { return Amount(g.ps).size(); });
  return groups;
}

std::vector<std::string_view> acting_prefixes() {
  std::vector<std::string_view> all;
  for (auto const& a : acting())
    for (auto const& prefixes : a.parameters) all.insert(all.end(), prefixes.begin(), prefixes.end());
  return all;
}

}  // namespace farfault::analysis
