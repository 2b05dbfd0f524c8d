// SPDX-License-Identifier: Apache-2.0
// Private: statistics of a policy that coalesces base pages. P is the policy, which has a member `counts`.
#pragma once

#include <cstdint>
#include <tuple>

#include "farfault/engine/probes.hpp"
#include "most_mapped.hpp"

namespace farfault::page_sizes {

struct CoalescedCounts {
  std::uint64_t coalesced = 0;
  std::uint64_t splintered = 0;
  auto members() { return std::tie(coalesced, splintered); }

  template <class P>
  static constexpr std::array<Stat<P>, 3> stats() {
    return {{{"coalesced_pages", "count", "Large pages coalesced from base pages, as recorded by the driver",
              StatKind::counter, [](P const& p) { return p.counts.coalesced; }},
             {"splintered_pages", "count", "Large pages splintered into base pages", StatKind::counter,
              [](P const& p) { return p.counts.splintered; }},
             {"large_pages", "count", "Large pages currently coalesced from base pages", StatKind::level,
              [](P const& p) { return p.counts.coalesced - p.counts.splintered; }}}};
  }
};

}  // namespace farfault::page_sizes
