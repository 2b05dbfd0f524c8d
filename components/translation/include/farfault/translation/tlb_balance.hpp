// SPDX-License-Identifier: Apache-2.0
// Balance policy of a level of TLBs with banks in several partitions of a GPU: selects one of two
// distributions of pages over the banks, from the requests that the banks have received.
//
// - Distribution 0 is that of the level, by its `interleave` and `hash`. Distribution 1 distributes single
//   pages (of the largest size) by an exclusive or of all groups of address bits.
// - epoch(): after as many requests of other partitions, a bank asks for the counts of all banks.
// - counted(): the counts since the last call. It returns the distribution that SMs and read-only caches use
//   from now on, as does kernel_started().
#pragma once

#include <cstdint>
#include <span>

#include "farfault/engine/policy.hpp"

namespace farfault {

class TlbBalance {
 public:
  using Interface = TlbBalance;
  struct Setup {};
  struct Facts {
    bool switches = false;  // false: always distribution 0; no function is called
  };
  struct Counts {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;  // merged ones are not counted
    std::uint64_t far = 0;     // requests of other partitions, hits and misses
  };
  static PolicyList<TlbBalance> known();

  virtual ~TlbBalance() = default;
  virtual std::uint64_t epoch() const = 0;
  virtual std::uint32_t counted(std::span<Counts const> banks) = 0;
  virtual std::uint32_t kernel_started() = 0;
};

extern template class PolicyChoice<TlbBalance>;

}  // namespace farfault
