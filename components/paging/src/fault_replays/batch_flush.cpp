// SPDX-License-Identifier: Apache-2.0
// UVM_PERF_FAULT_REPLAY_POLICY_BATCH_FLUSH, the driver's default (uvm_gpu.h). Entries that arrived during the
// batch are dropped; these accesses fault again if they still have to.
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {

void batch_flush(PolicyList<FaultReplay>& list) {
  list.add("batch_flush", "as batch, with a flush of the fault buffer before the replay",
           {.served = FaultReplay::Action::flush_and_replay});
}

}  // namespace farfault::fault_replays
