// SPDX-License-Identifier: Apache-2.0
// Bypass policy for page-walk reads at an L2 cache: bypassing reads are not looked up and do not fill the
// cache.
//
// - Each slice has its own object, which observes the requests of that slice only.
// - If may_bypass is false, no function is called.
// - bypasses() is called for each page-walk read whose line is not dirty in the slice, and again if the read
//   stalls. The result may change with time, but not within one picosecond for a line.
// - bypassed() reports each bypassing read; looked_up() each page-walk read that is looked up, and each
//   request of a warp, with its hit or miss.
// - Depth: the three bits that MASK (ASPLOS 2018, section 5.3) adds to a request. 0: request of a warp; 1:
//   read of the root; one more per level below it; 7: all reads below the sixth.
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
  struct Facts {
    Needed<bool> may_bypass;
    bool overtakes = false;       // bypassing reads overtake requests stalled at the slice
    std::uint32_t own_mshrs = 0;  // MSHRs that only bypassing reads use. 0: they use the cache's
    bool counts_stores = true;    // looked_up() reports stores of warps, too
  };
  static PolicyList<WalkReads> known();
  static std::uint32_t depth_of(RequestKind kind) {
    if (!is_walk(kind)) return 0;
    auto const below_root = static_cast<std::uint32_t>(kind) - static_cast<std::uint32_t>(RequestKind::walk);
    return std::min(below_root + 1, kDepths - 1);
  }

  virtual ~WalkReads() = default;
  virtual bool bypasses(std::uint32_t depth, std::uint64_t line, Time now) = 0;
  virtual void bypassed(Time now) = 0;
  virtual void looked_up(std::uint32_t depth, bool hit, Time now) = 0;
};

extern template class PolicyChoice<WalkReads>;

}  // namespace farfault
