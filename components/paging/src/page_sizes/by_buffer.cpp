// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/page_sizes.hpp"

namespace farfault::page_sizes {
namespace {

struct ByBuffer final : PageSizes {
  static constexpr Facts facts() { return {.large_buffers = LargeBuffers::chosen}; }
};

}  // namespace

void by_buffer(PolicyList<PageSizes>& list) {
  list.add<ByBuffer>("by_buffer",
                     "large pages for the buffers in memory.large_pages, base pages for all others");
}

}  // namespace farfault::page_sizes
