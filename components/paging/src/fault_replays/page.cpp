// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {
namespace {

// Batch-aware unified memory (ASPLOS 2020), section 2.2: threads that wait for a page resume when it has
// migrated.
struct Page final : FaultReplay {
  bool by_page() const override { return true; }
  Action after(Point) const override { return Action::none; }
};

}  // namespace

void page(PolicyList<FaultReplay>& list) {
  list.add<Page>("page", "each page wakes its stalled accesses when it arrives");
}

}  // namespace farfault::fault_replays
