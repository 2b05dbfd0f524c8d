// SPDX-License-Identifier: Apache-2.0
// UVM_PERF_FAULT_REPLAY_POLICY_ONCE (uvm_gpu.h).
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {

void once(PolicyList<FaultReplay>& list) {
  list.add("once", "one replay when the fault buffer is empty after a batch",
           {.buffer_empty = FaultReplay::Action::replay});
}

}  // namespace farfault::fault_replays
