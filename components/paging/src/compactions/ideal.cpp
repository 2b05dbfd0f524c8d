// SPDX-License-Identifier: Apache-2.0
// Mosaic (MICRO 2017), section 6.4: "a compaction mechanism where data migration incurs zero latency".
#include "counted.hpp"

namespace farfault::compactions {
namespace {

struct Ideal final : Counted<Ideal> {
  static constexpr Facts facts() { return {.takes_time = false}; }
};

}  // namespace

void ideal(PolicyList<Compaction>& list) {
  list.add<Ideal>("ideal", "copies take no time and stall no SM, but pages are unmapped and remapped");
}

}  // namespace farfault::compactions
