// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {
namespace {

// UVM_PERF_FAULT_REPLAY_POLICY_BLOCK (uvm_gpu.h).
struct Block final : FaultReplay {
  Action after(Point point) const override {
    return point == Point::buffer_empty ? Action::none : Action::replay;
  }
};

}  // namespace

void block(PolicyList<FaultReplay>& list) {
  list.add<Block>(
      "block", "one replay when all pages of a VA block (2 MiB) are mapped, and one at the end of the batch");
}

}  // namespace farfault::fault_replays
