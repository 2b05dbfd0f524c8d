// SPDX-License-Identifier: Apache-2.0
// Mosaic (MICRO 2017), section 6.4: "a compaction mechanism where data migration incurs zero latency".
#include "counted.hpp"

namespace farfault::compactions {
namespace {

struct Ideal final : Counted<Ideal> {
  bool takes_time() const override { return false; }
};

}  // namespace

void ideal(PolicyList<Compaction>& list) {
  list.add<Ideal>("ideal", "copies take no time and stall no SM, but pages are unmapped and remapped");
}

}  // namespace farfault::compactions
