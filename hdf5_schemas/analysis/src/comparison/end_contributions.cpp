// SPDX-License-Identifier: Apache-2.0
#include "end_contributions.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "pairs/pair_parts.hpp"

namespace farfault::analysis {
namespace {

// A cause, and the figure that counts it.
constexpr auto kCounted =
    std::to_array<std::pair<std::string_view, char const*>>({{"launches", "host_kernels"},
                                                             {"copies", "host_copies"},
                                                             {"work", "sm_instructions"},
                                                             {"accesses", "sm_transactions"},
                                                             {"l1_tlb_misses", "sm_l1_tlb_misses"},
                                                             {"l2_tlb_misses", "sm_l2_tlb_hits"},
                                                             {"iommu_translations", "sm_iommu_translations"},
                                                             {"fault_translations", "sm_fault_translations"},
                                                             {"l2_misses", "sm_l2_misses"},
                                                             {"remote_accesses", "sm_remote_accesses"}});

}  // namespace

std::map<std::string, std::int64_t> end_contributions(PairModel const& pair) {
  std::map<std::string, Amount> sums;
  sums["end"] = pair.change();
  // SMs are idle in gaps, and without thread blocks.
  auto& idle = sums["sm_idle_time"];
  for (auto const& p : gap_causes(pair.a, pair.b)) idle += p.ps;
  for (auto const& p : pair.parts) {
    if (!p.stage.empty()) sums[p.stage] += p.ps;
    if (p.cause == "occupancy") idle += p.ps;
    for (auto const& [cause, metric] : kCounted)
      if (p.cause == cause) sums[metric] += p.ps;
  }
  for (auto const& [activity, ps] : pair.model.activities) sums[activity] += ps;
  std::map<std::string, std::int64_t> all;
  for (auto const& [metric, ps] : sums)
    if (ps.sign() != 0) all[metric] = ps.value();
  return all;
}

}  // namespace farfault::analysis
