// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {
namespace {

// UVM_PERF_FAULT_REPLAY_POLICY_ONCE (uvm_gpu.h).
struct Once final : FaultReplay {
  Action after(Point point) const override {
    return point == Point::buffer_empty ? Action::replay : Action::none;
  }
};

}  // namespace

void once(PolicyList<FaultReplay>& list) {
  list.add<Once>("once", "one replay when the fault buffer is empty after a batch");
}

}  // namespace farfault::fault_replays
