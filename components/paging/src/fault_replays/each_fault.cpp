// SPDX-License-Identifier: Apache-2.0
// As if each batch had one fault and the driver did not sort pages.
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {

void each_fault(PolicyList<FaultReplay>& list) {
  list.add("each_fault", "no batches, each fault served on arrival", {.in_batches = false});
}

}  // namespace farfault::fault_replays
