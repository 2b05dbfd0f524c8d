// SPDX-License-Identifier: Apache-2.0
// UVM_PERF_FAULT_REPLAY_POLICY_BLOCK (uvm_gpu.h).
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {

void block(PolicyList<FaultReplay>& list) {
  list.add("block",
           "one replay when all pages of a VA block (2 MiB) are mapped, and one at the end of the batch",
           {.block_mapped = FaultReplay::Action::replay, .served = FaultReplay::Action::replay});
}

}  // namespace farfault::fault_replays
