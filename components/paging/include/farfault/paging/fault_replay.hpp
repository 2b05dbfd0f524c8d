// SPDX-License-Identifier: Apache-2.0
// How the driver serves faults, one by one or in batches, and when the GPU makes faulted accesses again.
//
// Contract: in_batches() and by_page() are functions of the parameters alone; where in_batches() says no,
// each fault is served by itself when it arrives, and nothing else is asked. Where by_page() says so, each
// page that lands wakes the accesses that wait for it; else after() is asked at each of its moments, of which
// `served` is the last of a batch: what it returns is ordered at once. An implementation that is not by page
// must order a replay after a batch in the end, and at the latest when the fault buffer is empty: the
// accesses of the GPU wait for it.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

class FaultReplay {
 public:
  using Interface = FaultReplay;
  struct Setup {};
  // All pages of a block are mapped that the batch brings; all of the batch; the buffer was found empty.
  enum class Moment : std::uint8_t { block_mapped, served, buffer_empty };
  // All faulted accesses are made again; the fault buffer is emptied before.
  enum class Orders : std::uint8_t { nothing, replay, flush_and_replay };
  static PolicyList<FaultReplay> known();

  virtual ~FaultReplay() = default;
  virtual bool in_batches() const { return true; }
  virtual bool by_page() const { return false; }
  virtual Orders after(Moment moment) const = 0;
};

extern template class PolicyChoice<FaultReplay>;

}  // namespace farfault
