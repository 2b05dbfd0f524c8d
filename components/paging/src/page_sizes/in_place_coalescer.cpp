// Mosaic (MICRO 2017), section 4.3: no page is moved, and nothing watches which pages are used. A large frame
// that is full of one large page's base pages, in order, is coalesced.
#include <array>

#include "farfault/paging/page_sizes.hpp"
#include "most_mapped.hpp"

namespace farfault::page_sizes {
namespace {

struct InPlaceCoalescer final : PageSizes {
  bool coalesces() const override { return true; }
  void coalesced() override { ++number_coalesced; }
  void splintered() override { ++number_splintered; }
  void mapped(std::uint64_t base_pages) override { most_mapped.mapped(base_pages); }

  auto members() { return std::tie(number_coalesced, number_splintered, most_mapped); }
  static auto stats() {
    using S = InPlaceCoalescer const&;
    return std::array<Stat<InPlaceCoalescer>, 4>{
        {{"coalesced_pages", "count", "large pages made of base pages, as the driver knows them",
          StatKind::counter, [](S s) { return s.number_coalesced; }},
         {"splintered_pages", "count", "large pages taken apart into base pages", StatKind::counter,
          [](S s) { return s.number_splintered; }},
         {"large_pages", "count", "large pages made of base pages that are there", StatKind::level,
          [](S s) { return s.number_coalesced - s.number_splintered; }},
         MostMapped::stat<InPlaceCoalescer>()}};
  }

  std::uint64_t number_coalesced = 0;
  std::uint64_t number_splintered = 0;
  MostMapped most_mapped;
};

}  // namespace

void in_place_coalescer(PolicyList<PageSizes>& list) {
  list.add<InPlaceCoalescer>(
      "in_place_coalescer",
      "base pages that fill a large frame, each at its place, become a large page where they are");
}

}  // namespace farfault::page_sizes
