// SPDX-License-Identifier: Apache-2.0
// Mosaic (MICRO 2017), section 4.3: a large frame that is filled by the base pages of one large page, in
// order, is coalesced. Pages are not moved, and their use is not monitored.
#include <array>

#include "coalesced_counts.hpp"
#include "farfault/paging/page_sizes.hpp"

namespace farfault::page_sizes {
namespace {

struct InPlaceCoalescer final : PageSizes {
  static constexpr Facts facts() { return {.coalesces = true}; }
  void coalesced() override { ++counts.coalesced; }
  void splintered() override { ++counts.splintered; }
  void mapped(std::uint64_t base_pages) override { most_mapped.mapped(base_pages); }

  auto members() { return std::tie(counts, most_mapped); }
  static auto stats() {
    auto const c = CoalescedCounts::stats<InPlaceCoalescer>();
    return std::array<Stat<InPlaceCoalescer>, 4>{{c[0], c[1], c[2], MostMapped::stat<InPlaceCoalescer>()}};
  }

  CoalescedCounts counts;
  MostMapped most_mapped;
};

}  // namespace

void in_place_coalescer(PolicyList<PageSizes>& list) {
  list.add<InPlaceCoalescer>(
      "in_place_coalescer", "base pages that fill a large frame, each at its offset, are coalesced in place");
}

}  // namespace farfault::page_sizes
