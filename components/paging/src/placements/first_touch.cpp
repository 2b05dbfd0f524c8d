// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/page_placement.hpp"

namespace farfault::placements {
namespace {

struct FirstTouch final : PagePlacement {
  static constexpr Facts facts() { return {.leaves_out = true}; }
  void place(ApplicationMemory&) const override {}
};

}  // namespace

void first_touch(PolicyList<PagePlacement>& list) {
  list.add<FirstTouch>("first_touch", "GPU that touches the page first");
}

}  // namespace farfault::placements
