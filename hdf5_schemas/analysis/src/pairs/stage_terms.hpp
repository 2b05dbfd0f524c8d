// SPDX-License-Identifier: Apache-2.0
// Private: the time of accesses in a stage, in terms: a look-up of fixed latency, and the rest.
//
// - The rest of the L2 TLB is a stall for an MSHR behind page walks: it counts per L2 TLB miss, not per
//   look-up.
// - The rest of links is a wait behind other packets: it counts per byte of the busiest link, not per packet.
//   The latency is that of all packets on all links, by the visits of this GPU.
// - A stage without a known latency in both runs is one term.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "access_counts.hpp"
#include "kernel_model.hpp"

namespace farfault::analysis {

struct StageTerm {
  std::string cause;     // "l2_tlb_latency", "l2_tlb_time"
  std::string what;      // "L2 TLB look-up"
  std::string_view per;  // "per L1 TLB miss"
  std::vector<AccessCount> counts;
  Amount time_a, time_b;
  Amount visits_a, visits_b;  // of `counts`
  Amount per_a, per_b;        // what `per` names: the visits, unless another unit determines the time
};
// The times add up to the time of the stage.
std::vector<StageTerm> terms_of(StageInfo const& stage, ModelledRun const& a, ModelledRun const& b);

// The term with this cause name; empty `cause`: none.
StageTerm term_of(std::string_view cause, ModelledRun const& a, ModelledRun const& b);

}  // namespace farfault::analysis
