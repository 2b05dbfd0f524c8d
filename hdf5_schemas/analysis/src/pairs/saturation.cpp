// SPDX-License-Identifier: Apache-2.0
#include "saturation.hpp"

#include <algorithm>
#include <cmath>

#include "access_counts.hpp"

namespace farfault::analysis {
namespace {

Amount busy_time(Resource const& resource, RunFigures const& run) {
  return Amount(static_cast<std::int64_t>(std::llround(resource.busy * static_cast<double>(run.end))));
}

Amount units_of(Saturable const& kind, RunFigures const& run) {
  if (kind.units == "link_bytes") return Amount::of(run.link_bytes);
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(AccessCount::remote_accesses); ++i)
    if (auto const count = static_cast<AccessCount>(i); info_of(count).name == kind.units)
      return count_in(run.machine, count);
  return {};
}

}  // namespace

std::vector<Saturable> const& saturables() {
  static std::vector<Saturable> const all{
      {"links (per direction)", "sm_time_in_links", "link_bytes", "link_service", "per byte"},
      {"DRAM channels", "sm_time_in_dram_queue", "l2_misses", "dram_service", "per L2 cache miss"},
      {"L2 cache slices", "sm_time_in_l2_cache", "l2_requests", "l2_service", "per L2 cache request"},
      {"CPU DRAM channels", "sm_time_in_remote_memory", "remote_accesses", "cpu_dram_service",
       "per remote access"},
      {"CPU cache slices", "sm_time_in_remote_memory", "remote_accesses", "cpu_cache_service",
       "per remote access"},
      {"L2 TLBs", "sm_time_in_l2_tlb", "l1_tlb_misses", "l2_tlb_service", "per L1 TLB miss"},
      {"GMMU page walkers", "sm_time_in_walk_queue", "l2_tlb_misses", "walk_service", "per L2 TLB miss"},
      {"IOMMU page walkers", "sm_time_in_iommu", "iommu_translations", "iommu_service",
       "per IOMMU translation"},
      {"drivers", "sm_time_in_fault", "fault_translations", "driver_service",
       "per access with a page fault"}};
  return all;
}

std::optional<Saturation> saturation_of(RunFigures const& a, RunFigures const& b) {
  std::optional<Saturation> found;
  double highest = kSaturated;
  for (auto const& kind : saturables()) {
    auto const of_a = std::ranges::find(a.resources, kind.resource, &Resource::what);
    auto const of_b = std::ranges::find(b.resources, kind.resource, &Resource::what);
    if (of_a == a.resources.end() || of_b == b.resources.end()) continue;
    auto const busy = std::min(of_a->busy, of_b->busy);
    if (busy < highest || (found && busy == highest)) continue;
    highest = busy;
    found = Saturation{.kind = &kind,
                       .name = a.end > b.end ? of_a->name : of_b->name,
                       .busy_a = busy_time(*of_a, a),
                       .busy_b = busy_time(*of_b, b),
                       .units_a = units_of(kind, a),
                       .units_b = units_of(kind, b)};
  }
  return found;
}

void bound_by(Saturation const& s, std::vector<ModelPart>& parts) {
  Amount change;
  for (auto const& p : parts) change += p.ps;
  auto busy = s.busy_b - s.busy_a;
  if (change.sign() == 0 || busy.sign() != change.sign()) return;
  if (busy.size() > change.size()) busy = change;
  auto const both = s.units_a.sign() > 0 && s.units_b.sign() > 0;
  auto const more =
      both ? at_mean(s.units_b - s.units_a, {s.busy_a, s.units_a}, {s.busy_b, s.units_b}) : Amount();
  auto const longer = (s.busy_b - s.busy_a) - more;
  scale_to(parts, change - busy);
  std::vector<ModelPart> bound{{std::string(s.kind->units), std::string(s.kind->stage), more},
                               {std::string(s.kind->service), std::string(s.kind->stage), longer}};
  scale_to(bound, busy);
  parts.insert(parts.end(), bound.begin(), bound.end());
}

}  // namespace farfault::analysis
