// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "farfault/paging/page_sizes.hpp"
#include "most_mapped.hpp"

namespace farfault::page_sizes {
namespace {

struct BaseOnly final : PageSizes {
  void mapped(std::uint64_t base_pages) override { most_mapped.mapped(base_pages); }

  auto members() { return std::tie(most_mapped); }
  static auto stats() { return std::array{MostMapped::stat<BaseOnly>()}; }

  MostMapped most_mapped;
};

}  // namespace

void base_only(PolicyList<PageSizes>& list) {
  list.add<BaseOnly>("base_only", "base pages only");
}

}  // namespace farfault::page_sizes
