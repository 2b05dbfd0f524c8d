// SPDX-License-Identifier: Apache-2.0
#include "pair_settings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>

#include "amount.hpp"
#include "settings_between.hpp"

namespace farfault::analysis {
namespace {

using Prefixes = std::vector<std::string_view>;

// The parameters that act on a cause, by prefix: the first list with a differing parameter counts. A list has
// the parameters whose effects the figures cannot tell apart. Queueing in front of a component belongs to the
// components behind it, so these are first.
struct Acting {
  std::string_view cause;
  std::vector<Prefixes> parameters;
};

Prefixes operator+(Prefixes one, Prefixes const& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

// Parameters with an effect of known size, which is a cause of its own: they act only on causes that name
// them in full.
constexpr std::string_view kClock = "gpu.clock";
bool has_known_size(std::string_view name) {
  return name == kClock ||
         std::ranges::find(kFixedLatencies, name, &FixedLatency::parameter) != kFixedLatencies.end();
}

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
Prefixes const kL2Time{"gpu.l2_cache.mshrs",     "gpu.l2_cache.waiters",    "gpu.l2_cache.ports",
                       "gpu.l2_cache.slices",    "gpu.l2_cache.interleave", "gpu.l2_cache.partition",
                       "gpu.l2_cache.miss_path", "gpu.crossbar_latency"};
Prefixes const kL2Lines{"gpu.l2_cache.size",      "gpu.l2_cache.ways",        "gpu.l2_cache.replacement",
                        "gpu.l2_cache.random",    "gpu.l2_cache.slices",      "gpu.l2_cache.interleave",
                        "gpu.l2_cache.partition", "gpu.l2_cache.miss_path",   "gpu.l2_cache.walk_reads",
                        "gpu.l2_cache.bypass",    "gpu.l2_cache.translation", "gpu.memory_cache."};
Prefixes const kL1Lines{"gpu.l1_cache.size", "gpu.l1_cache.ways", "gpu.l1_cache.replacement",
                        "gpu.l1_cache.random"};
Prefixes const kL1Entries{"gpu.l1_tlb.entries",      "gpu.l1_tlb.ways",       "gpu.l1_tlb.organization",
                          "gpu.l1_tlb.by_page_size", "gpu.l1_tlb.compressed", "gpu.l1_tlb.range",
                          "gpu.l1_tlb.replacement",  "gpu.l1_tlb.random",     "gpu.scalar_cache."};
Prefixes const kL2Entries{"gpu.l2_tlb.entries",      "gpu.l2_tlb.ways",       "gpu.l2_tlb.organization",
                          "gpu.l2_tlb.by_page_size", "gpu.l2_tlb.compressed", "gpu.l2_tlb.range",
                          "gpu.l2_tlb.replacement",  "gpu.l2_tlb.random",     "gpu.l2_tlb.tokens",
                          "gpu.translation."};
Prefixes const kWalks{"gpu.gmmu.", "gpu.page_walk_cache."};
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

// A limit, and the resource that is full when it is reached.
struct Limit {
  std::string_view parameter;
  std::string_view resource;
};
constexpr std::array<Limit, 11> kResourceOfLimit{
    {{"gpu.l1_tlb.mshrs", "L1 TLB MSHRs"},
     {"gpu.l1_cache.mshrs", "L1 cache MSHRs"},
     {"gpu.l1_cache.slice_credits", "SM credits for the L2 cache"},
     {"gpu.l1_cache.remote_credits", "SM credits for remote accesses"},
     {"gpu.l1_tlb.faulted_pages", "SM entries for faulted accesses"},
     {"gpu.l1_tlb.faulted_accesses", "SM entries for faulted accesses"},
     {"gpu.l2_tlb.mshrs", "L2 TLB MSHRs"},
     {"gpu.l2_cache.mshrs", "L2 cache MSHRs"},
     {"cpu.llc.mshrs", "CPU cache MSHRs"},
     {"gpu.gmmu.fault_buffer", "GPU fault buffers"},
     {"iommu.fault_buffer", "IOMMU fault buffers"}}};

std::vector<Acting> const& acting() {
  static std::vector<Acting> const all{
      {"launches", {kWorkload}},
      {"launch_time", {{"host.launch_latency", "host.done_latency"}, {"gpu.l2_cache.write_back"}}},
      {"copies", {{"workload.copies", "application."}, kWorkload}},
      {"copy_time", {{"gpu.copy_engine.", "fabric."}, kLinks, {"cpu.", "gpu.dram."}}},
      {"allocations", {kWorkload}},
      {"allocation_time", {{"driver."}, kWorkload}},
      {"other_work", {kWorkload, kDram + kL2Lines + kL2Time, kLinks}},  // writes that complete after a kernel
      {"only_in_a", {kWorkload}},
      {"only_in_b", {kWorkload}},
      {"common_kernels", {kWorkload}},
      {"work", {kWorkload}},
      {"clock", {{kClock}}},
      {"execution", {{"gpu.sm."}, {"gpu.sms"}, kWorkload}},
      {"scalar_stall", {{"gpu.scalar_cache."}, kWorkload}},
      {"fetch_stall", {{"gpu.instruction_cache."}, kWorkload}},
      {"stopped", {{"driver.", "gpu.sm.", "memory."}}},
      {"occupancy", {{"gpu.sms", "gpu.sm.", "application."}, kPlaces, kWorkload}},
      {"accesses", {{"gpu.line_bytes", "gpu.warp_width"}, kPlaces, kWorkload}},
      {"in_flight", {kLimits}},
      {"memory_stall", {kWorkload, {"gpu.", "memory."}}},
      {"l1_tlb_misses", {kL1Entries + kPages, kWorkload}},
      {"l2_tlb_misses", {kL2Entries + kPages, kL1Entries, {"gpu.l2_tlb.", "gpu.translation."}, kWorkload}},
      {"iommu_translations", {{"gpu.router.", "gpu.gmmu."}, kPlaces, {"memory."}, {"iommu."}}},
      {"fault_translations", {{"memory."}, kDriver, {"workload.", "gpu.dram.capacity"}}},
      {"l2_requests", {kL1Lines, kPlaces, kWorkload}},
      {"l2_misses", {kL2Lines, kPlaces, kL1Lines, kWorkload}},
      {"remote_accesses", {kPlaces, kDriver, kWorkload}},
      {"l1_tlb_latency", {{"gpu.l1_tlb.latency"}}},
      {"l1_tlb_time", {{"gpu.l1_tlb."}}},
      {"l2_tlb_latency", {{"gpu.l2_tlb.latency"}}},
      {"l2_tlb_time",
       {Prefixes{"gpu.l2_tlb.mshrs", "gpu.l2_tlb.ports"} + kWalks,
        kL2Time + kDram,
        kPages,
        {"gpu.l2_tlb.", "gpu.translation."},
        {"gpu.translation_latency"},
        {"iommu.", "gpu.router."}}},
      {"walk_queue_time",
       {kWalks, kL2Time + kDram, kPages, {"gpu.l2_tlb.", "gpu.translation."}, {"gpu.l2_cache.latency"}}},
      {"walk_latency", {{"gpu.gmmu.latency"}}},
      {"walk_time",
       {kWalks, Prefixes{"gpu.l2_cache.", "gpu.l2_cache.latency", "gpu.crossbar_latency"} + kDram, kPages}},
      {"iommu_time", {{"iommu."}, {"cpu."}, {"gpu.l2_tlb.", "gpu.translation.", "gpu.router."}}},
      {"fault_time", {kDriver, kLinks, {"gpu.gmmu.fault", "iommu.fault", "gpu.dram.capacity"}}},
      {"l1_cache_latency", {{"gpu.l1_cache.latency"}}},
      {"l1_cache_time", {{"gpu.l1_cache."}}},
      {"l2_cache_latency", {{"gpu.l2_cache.latency"}}},
      {"l2_cache_time", {kL2Time + kDram, {"gpu.l2_cache."}}},
      {"dram_queue_time", {kDram, {"gpu.l2_cache."}, {"gpu.l2_tlb.", "gpu.translation.", "gpu.gmmu."}}},
      {"dram_time", {kDram, {"gpu.l2_cache."}}},
      {"links_latency", {kLinks, kPlaces, {"gpu.l2_tlb.", "gpu.translation.", "gpu.router."}}},
      {"links_time", {kLinks, kPlaces, {"gpu.l2_tlb.", "gpu.translation.", "gpu.router."}}},
      {"remote_memory_time", {kDram, kL2Time, {"cpu.", "gpu.l2_cache."}, kPlaces}},
      // A saturated resource:
      {"link_bytes", {kPlaces + kPages, kL1Lines, kWorkload, {"gpu.sms", "gpu.sm."}, {"gpu.", "memory."}}},
      {"link_service", {kLinks}},
      {"dram_service", {kDram}},
      {"l2_service", {kL2Time + kDram}},
      {"l2_tlb_service", {{"gpu.l2_tlb.", "gpu.translation."}}},
      {"walk_service", {kWalks, kL2Time + kDram, kPages, {"gpu.l2_cache.latency"}}},
      {"iommu_service", {{"iommu."}, {"cpu."}}},
      {"cpu_dram_service", {{"cpu."}}},
      {"cpu_cache_service", {{"cpu."}}},
      {"driver_service", {kDriver, kLinks}},
  };
  return all;
}

bool begins_with_any(std::string_view name, std::span<std::string_view const> prefixes) {
  bool const in_full = has_known_size(name);
  return std::ranges::any_of(
      prefixes, [&](std::string_view prefix) { return in_full ? name == prefix : name.starts_with(prefix); });
}

// The choices that are not unreached limits; if there are none: the choices, or all settings.
std::vector<std::size_t> candidates(std::vector<PairSetting> const& settings) {
  std::vector<std::size_t> reached, choices, all;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    all.push_back(i);
    if (settings[i].follows) continue;
    choices.push_back(i);
    if (!settings[i].unreached) reached.push_back(i);
  }
  return !reached.empty() ? reached : !choices.empty() ? choices : all;
}

// True if both runs record the resource, and it is never full.
bool never_full(std::string_view what, RunFigures const& a, RunFigures const& b) {
  return std::ranges::all_of(std::array{&a, &b}, [&](RunFigures const* run) {
    auto const resource = std::ranges::find(run->resources, what, &Resource::what);
    return resource != run->resources.end() && resource->busy == 0;
  });
}

// The first list of the cause with some of the settings `differing`.
std::vector<std::size_t> acting_on(std::string_view cause, std::vector<PairSetting> const& settings,
                                   std::vector<std::size_t> const& differing) {
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

constexpr double kDominant = 0.8;

// Modelled causes without a setting are consequences of these settings; empty: unknown.
std::vector<std::size_t> settings_behind(std::vector<Cause> const& causes,
                                         std::vector<PairSetting> const& settings) {
  std::vector<std::pair<std::vector<std::size_t>, double>> direct;  // of modelled causes, with their time
  std::set<std::size_t> measured;
  double all = 0;
  for (auto const& cause : causes) {
    if (!cause.modelled) measured.insert(cause.settings.begin(), cause.settings.end());
    if (!cause.modelled || cause.settings.empty()) continue;
    auto const time = std::abs(static_cast<double>(cause.ps));
    all += time;
    auto const known = std::ranges::find(direct, cause.settings, [](auto const& d) { return d.first; });
    if (known == direct.end())
      direct.emplace_back(cause.settings, time);
    else
      known->second += time;
  }
  for (auto const& [acting, time] : direct)
    if (time >= kDominant * all) return acting;
  if (!direct.empty()) return {};
  auto rest = candidates(settings);
  std::erase_if(rest, [&](std::size_t i) { return measured.contains(i); });
  return rest;
}

}  // namespace

std::vector<PairSetting> pair_settings(std::string const& a, std::string const& b) {
  std::vector<PairSetting> settings;
  for (auto const& s : settings_between(a, b))
    settings.push_back({s.name, s.a, s.b, s.a == "none" || s.b == "none"});
  std::stable_partition(settings.begin(), settings.end(), [](PairSetting const& s) { return !s.follows; });
  return settings;
}

std::vector<std::size_t> settings_of_cause(std::string_view cause, std::vector<PairSetting> const& settings) {
  auto const differing = candidates(settings);
  return differing.size() < 2 ? differing : acting_on(cause, settings, differing);
}

void mark_unreached(std::vector<PairSetting>& settings, RunFigures const& a, RunFigures const& b) {
  for (auto& s : settings) {
    auto const limit = std::ranges::find(kResourceOfLimit, std::string_view(s.name), &Limit::parameter);
    if (limit != kResourceOfLimit.end()) s.unreached = never_full(limit->resource, a, b);
  }
}

DifferingKinds differing_kinds(std::vector<PairSetting> const& settings) {
  DifferingKinds kinds;
  auto const differing = candidates(settings);
  kinds.any = !differing.empty();
  for (auto const i : differing) {
    auto const& s = settings[i];
    kinds.sms = kinds.sms || s.name == "gpu.sms";
    kinds.limits = kinds.limits || (!s.follows && begins_with_any(s.name, kLimits));
  }
  kinds.execution = !acting_on("execution", settings, differing).empty();
  for (auto const i : settings_of_cause("occupancy", settings))
    kinds.occupancy = kinds.occupancy || differing.size() == 1 || settings[i].name != "gpu.sms";
  return kinds;
}

std::vector<CauseGroup> group_causes(std::vector<Cause>& causes, std::vector<PairSetting> const& settings) {
  for (auto& cause : causes) cause.settings = settings_of_cause(cause.name, settings);
  auto const behind = settings_behind(causes, settings);
  std::vector<CauseGroup> groups;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    if (causes[i].modelled && causes[i].settings.empty() && !behind.empty()) {
      causes[i].settings = behind;
      causes[i].indirect = true;
    }
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
