// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {
namespace {

// UVM_PERF_FAULT_REPLAY_POLICY_BATCH (uvm_gpu.h).
struct Batch final : FaultReplay {
  Action after(Point point) const override { return point == Point::served ? Action::replay : Action::none; }
};

}  // namespace

void batch(PolicyList<FaultReplay>& list) {
  list.add<Batch>("batch", "one replay when all pages of a batch are mapped");
}

}  // namespace farfault::fault_replays
