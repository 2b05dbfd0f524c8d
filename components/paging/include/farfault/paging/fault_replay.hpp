// SPDX-License-Identifier: Apache-2.0
// Fault-replay policy: selects single or batched fault service, and the points at which a GPU replays
// faulted accesses.
//
// - in_batches(), by_page() and after() depend on the parameters and the argument only.
// - in_batches() is false: each fault is served on arrival; no other function is called.
// - by_page() is true: each page that is mapped wakes the accesses stalled on it; after() must return none.
// - after() is called at each Point, and its Action is ordered immediately if there are faults to replay; it
// is
//   also called as a query. `served` is the last Point of a batch.
// - A policy that is not by page must return a replay for `served` or `buffer_empty`: the GPU's accesses
//   stall until then.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

class FaultReplay {
 public:
  using Interface = FaultReplay;
  struct Setup {};
  // block_mapped: all pages of a block that the batch migrates are mapped. served: all pages of the batch
  // are. buffer_empty: the buffer was found empty.
  enum class Point : std::uint8_t { block_mapped, served, buffer_empty };
  // replay: all faulted accesses are issued again. flush_and_replay: the fault buffer is emptied first.
  enum class Action : std::uint8_t { none, replay, flush_and_replay };
  static PolicyList<FaultReplay> known();

  virtual ~FaultReplay() = default;
  virtual bool in_batches() const { return true; }
  virtual bool by_page() const { return false; }
  virtual Action after(Point point) const = 0;
};

extern template class PolicyChoice<FaultReplay>;

}  // namespace farfault
