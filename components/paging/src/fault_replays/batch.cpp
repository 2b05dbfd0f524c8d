// SPDX-License-Identifier: Apache-2.0
// UVM_PERF_FAULT_REPLAY_POLICY_BATCH (uvm_gpu.h).
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {

void batch(PolicyList<FaultReplay>& list) {
  list.add("batch", "one replay when all pages of a batch are mapped",
           {.served = FaultReplay::Action::replay});
}

}  // namespace farfault::fault_replays
