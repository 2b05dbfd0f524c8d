// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "farfault/paging/page_sizes.hpp"
#include "most_mapped.hpp"

namespace farfault::page_sizes {
namespace {

struct LargeOnly final : PageSizes {
  static constexpr Facts facts() { return {.large_buffers = LargeBuffers::all, .rounds_up = true}; }
  void mapped(std::uint64_t base_pages) override { most_mapped.mapped(base_pages); }

  auto members() { return std::tie(most_mapped); }
  static auto stats() { return std::array{MostMapped::stat<LargeOnly>()}; }

  MostMapped most_mapped;
};

}  // namespace

void large_only(PolicyList<PageSizes>& list) {
  list.add<LargeOnly>("large_only", "large pages only, with buffers rounded up to whole large pages");
}

}  // namespace farfault::page_sizes
