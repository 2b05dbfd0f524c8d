// SPDX-License-Identifier: Apache-2.0
// Which of an SM's ready warps issues next.
//
// Contract: admit() tells that a warp has come to a slot, of fewer than kMaxWarps, its first one or after its
// block was away; pick() is given the slots
// of ready warps as bits, at least one, and returns one of them; issued() tells that the warp in a slot has
// issued an instruction. A warp that is picked may be unable to issue; then pick() is asked again without it.
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
