// SPDX-License-Identifier: Apache-2.0
// Fault-replay policy: selects single or batched fault service, and the points at which a GPU replays
// faulted accesses. It has facts only.
//
// - in_batches is false: each fault is served on arrival; no other fact has a meaning.
// - by_page is true: each page that is mapped wakes the accesses stalled on it; no point has an action.
// - The Action of a Point is ordered immediately if there are faults to replay. `served` is the last Point of
//   a batch.
// - A policy that is not by page must replay at `served` or `buffer_empty`: the GPU's accesses stall until
//   then.
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
  struct Facts {
    bool in_batches = true;
    bool by_page = false;
    Action block_mapped = Action::none;
    Action served = Action::none;
    Action buffer_empty = Action::none;

    // False: accesses would stall forever.
    constexpr bool replays() const {
      return by_page || served != Action::none || buffer_empty != Action::none;
    }
    constexpr Action after(Point point) const {
      return point == Point::block_mapped ? block_mapped : point == Point::served ? served : buffer_empty;
    }
  };
  static PolicyList<FaultReplay> known();

  virtual ~FaultReplay() = default;
};

extern template class PolicyChoice<FaultReplay>;

}  // namespace farfault
