// SPDX-License-Identifier: Apache-2.0
// Batch-aware unified memory (ASPLOS 2020), section 2.2: threads that wait for a page resume when it has
// migrated.
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {

void page(PolicyList<FaultReplay>& list) {
  list.add("page", "each page wakes its stalled accesses when it arrives", {.by_page = true});
}

}  // namespace farfault::fault_replays
