// SPDX-License-Identifier: Apache-2.0
// Policy for fault service: one by one or in batches, and the time at which a GPU replays faulted accesses.
//
// - in_batches() and by_page() are functions of the parameters only. If in_batches() is false, each fault is
//   served on arrival, and no other function is called.
// - by_page(): each page that arrives wakes the accesses stalled on it.
// - Otherwise after() is called at each Moment, and its result is ordered at once. `served` is the last
//   moment of a batch.
// - A policy that is not by page must order a replay after every batch, at the latest when the fault buffer
//   is empty: the GPU's accesses stall until then.
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
