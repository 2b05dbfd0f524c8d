// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/fault_replay.hpp"

namespace farfault::fault_replays {
namespace {

// As if each batch had one fault and the driver did not sort pages.
struct EachFault final : FaultReplay {
  bool in_batches() const override { return false; }
  Action after(Point) const override { return Action::none; }
};

}  // namespace

void each_fault(PolicyList<FaultReplay>& list) {
  list.add<EachFault>("each_fault", "no batches, each fault served on arrival");
}

}  // namespace farfault::fault_replays
