// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {
namespace {

// UVM_PERF_FAULT_REPLAY_POLICY_BATCH_FLUSH, the driver's default (uvm_gpu.h). Entries that arrived during the
// batch are dropped; these accesses fault again if they still have to.
struct BatchFlush final : FaultReplay {
  Action after(Point point) const override {
    return point == Point::served ? Action::flush_and_replay : Action::none;
  }
};

}  // namespace

void batch_flush(PolicyList<FaultReplay>& list) {
  list.add<BatchFlush>("batch_flush", "as batch, with a flush of the fault buffer before the replay");
}

}  // namespace farfault::fault_replays
