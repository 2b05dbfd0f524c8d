// SPDX-License-Identifier: Apache-2.0
// Warp order: selects the ready warp of an SM that issues next.
//
// Contract: admit() reports a warp that enters a slot below kMaxWarps, for the first time or after a swap-in.
// pick() receives the slots of ready warps as bits, at least one, and returns one of them. issued() reports
// that the warp in a slot has issued an instruction. A picked warp may be unable to issue; pick() is then
// called again without it.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

class WarpOrder {
 public:
  static constexpr std::uint32_t kMaxWarps = 64;

  using Interface = WarpOrder;
  struct Setup {};
  static PolicyList<WarpOrder> known();

  virtual ~WarpOrder() = default;
  virtual void admit(std::uint32_t slot) { static_cast<void>(slot); }
  virtual std::uint32_t pick(std::uint64_t ready) = 0;
  virtual void issued(std::uint32_t slot) { static_cast<void>(slot); }
};

extern template class PolicyChoice<WarpOrder>;

}  // namespace farfault
