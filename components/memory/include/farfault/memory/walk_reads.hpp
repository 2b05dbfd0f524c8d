// SPDX-License-Identifier: Apache-2.0
// Which reads of page walks bypass an L2 cache: they are not looked up there, and what they read is not
// kept.
//
// Contract. Each slice has one, which sees the requests of that slice alone. Asked once: may_bypass();
// overtakes(), whether reads that bypass overtake requests that are stalled at the slice; own_mshrs(), how
// many MSHRs they have for themselves (0: they use the cache's); counts_stores(), whether it counts stores.
// A policy that never bypasses is asked nothing else. bypasses() is asked for each read of a page walk whose
// line is not dirty in the slice, again if it has to wait; its answer may change with time, never within one
// picosecond for a line. bypassed() tells each read that has bypassed, looked_up() each that was looked up,
// and each request of a warp, with whether it hit.
//
// Depths are the three bits that MASK (ASPLOS 2018, section 5.3) gives a request: 0 of a warp's, 1 of a
// walk's read of the root, one more for each level below it, and 7 of whatever is deeper than the sixth.
#pragma once

#include <algorithm>
#include <cstdint>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

class WalkReads {
 public:
  using Interface = WalkReads;
  static constexpr std::uint32_t kDepths = 8;
  struct Setup {
    Clock clock{1'000'000'000};
    std::uint32_t levels = 4;  // of a page table: the deepest read of a walk
  };
  static PolicyList<WalkReads> known();
  static std::uint32_t depth_of(RequestKind kind) {
    if (!is_walk(kind)) return 0;
    auto const below_root = static_cast<std::uint32_t>(kind) - static_cast<std::uint32_t>(RequestKind::walk);
    return std::min(below_root + 1, kDepths - 1);
  }

  virtual ~WalkReads() = default;
  virtual bool may_bypass() const = 0;
  virtual bool overtakes() const { return false; }
  virtual std::uint32_t own_mshrs() const { return 0; }
  virtual bool counts_stores() const { return true; }
  virtual bool bypasses(std::uint32_t depth, std::uint64_t line, Time now) = 0;
  virtual void bypassed(Time now) = 0;
  virtual void looked_up(std::uint32_t depth, bool hit, Time now) = 0;
};

extern template class PolicyChoice<WalkReads>;

}  // namespace farfault
