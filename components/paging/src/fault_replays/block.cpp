// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {
namespace {

// UVM_PERF_FAULT_REPLAY_POLICY_BLOCK (uvm_gpu.h).
struct Block final : FaultReplay {
  Orders after(Moment m) const override {
    return m == Moment::buffer_empty ? Orders::nothing : Orders::replay;
  }
};

}  // namespace

void block(PolicyList<FaultReplay>& list) {
  list.add<Block>("block",
                  "one replay when all pages of a 2 MiB block are mapped, and one at the end of the batch");
}

}  // namespace farfault::fault_replays
