// SPDX-License-Identifier: Apache-2.0
// Baseline of Mosaic (MICRO 2017), section 4.3 and Fig. 6a: to coalesce, base pages are moved to a large
// frame, their entries are rewritten and TLBs are flushed. Here this begins as soon as one GPU holds all base
// pages of a large page, in any frames. Pages that are placed before the first kernel are not moved.
#include <array>

#include "coalesced_counts.hpp"
#include "farfault/paging/page_sizes.hpp"

namespace farfault::page_sizes {
namespace {

struct MigratingCoalescer final : PageSizes {
  static constexpr Facts facts() { return {.coalesces = true, .moves_to_coalesce = true}; }
  void coalesced() override { ++counts.coalesced; }
  void splintered() override { ++counts.splintered; }
  void moved(std::uint64_t base_pages) override { moved_pages += base_pages; }
  void mapped(std::uint64_t base_pages) override { most_mapped.mapped(base_pages); }

  auto members() { return std::tie(counts, most_mapped, moved_pages); }
  static auto stats() {
    using S = MigratingCoalescer const&;
    auto const c = CoalescedCounts::stats<MigratingCoalescer>();
    return std::array<Stat<MigratingCoalescer>, 5>{
        {c[0],
         c[1],
         c[2],
         MostMapped::stat<MigratingCoalescer>(),
         {"moved_pages", "count", "Base pages moved to another frame to be coalesced", StatKind::counter,
          [](S s) { return s.moved_pages; }}}};
  }

  CoalescedCounts counts;
  MostMapped most_mapped;
  std::uint64_t moved_pages = 0;
};

}  // namespace

void migrating_coalescer(PolicyList<PageSizes>& list) {
  list.add<MigratingCoalescer>(
      "migrating_coalescer",
      "the base pages of a large page that are all on one GPU are moved to a large frame and coalesced");
}

}  // namespace farfault::page_sizes
