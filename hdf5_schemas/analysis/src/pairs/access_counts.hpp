// SPDX-License-Identifier: Apache-2.0
// Private: counts of the accesses of SMs, each a share of another: all accesses, L1 TLB misses, L2 TLB
// misses, translations by the IOMMU. The number of accesses that reach a stage is one of them, or a sum.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "amount.hpp"
#include "run_figures.hpp"

namespace farfault::analysis {

enum class AccessCount : std::uint8_t {
  accesses,
  l1_tlb_misses,
  l2_tlb_misses,
  iommu_translations,
  fault_translations,
  l2_requests,
  l2_misses,
  remote_accesses,
  link_bytes,
};

struct CountInfo {
  std::string_view name;  // of the cause: "l2_tlb_misses"
  std::string_view what;  // "L2 TLB misses"
  std::string_view per;   // "of L1 TLB misses"
  AccessCount parent;     // the count that contains it
};
CountInfo const& info_of(AccessCount count);
Amount count_in(SmFigures const& figures, AccessCount count);

// A stage of an access, and the accesses that reach it.
struct StageInfo {
  std::string_view name;            // "sm_time_in_links"
  std::string_view what;            // "interconnect links"
  std::string_view per;             // "per remote access or IOMMU translation"
  std::vector<AccessCount> counts;  // their sum; empty: all accesses

  std::string_view figure() const;  // "time_in_links"
  std::string cause() const;        // "links_time"
  Amount visits(SmFigures const& figures) const;
};
// Without the load/store unit, where accesses wait for a later stage.
std::vector<StageInfo> const& stage_infos();

// The change of a count, attributed to the shares that changed.
struct CountChange {
  AccessCount cause;
  Amount change;
};
// `a`, `b`: counts of both runs, reduced to the same number of accesses by `scale_a` and `scale_b`. The
// changes add up to the change of the count.
std::vector<CountChange> changes_of(AccessCount count, SmFigures const& a, Ratio scale_a, SmFigures const& b,
                                    Ratio scale_b);

}  // namespace farfault::analysis
