// SPDX-License-Identifier: Apache-2.0
// Which pages of a block come along with those that have faulted.
//
// A block is a virtual address range of 2 MiB (uvm_va_block_types.h), or of one page where pages are as
// large: prefetching never leaves it. Contract: choose() is called for each block of a batch, with its pages
// as sets, a page's place in the block being its number: those that have faulted and come, those that are on
// the GPU already or on their way to it, and those that may come beside. It returns pages of the latter.
#pragma once

#include <bitset>
#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

inline constexpr unsigned kBlockBits = 21;
using BlockPages = std::bitset<(std::size_t{1} << kBlockBits) / 4096>;

class Prefetcher {
 public:
  using Interface = Prefetcher;
  struct Setup {
    unsigned page_bits = 12;
  };
  struct Block {
    BlockPages faulted;
    BlockPages resident;
    BlockPages may_come;  // neither of these
  };
  static PolicyList<Prefetcher> known();

  virtual ~Prefetcher() = default;
  virtual BlockPages choose(Block const& block) const = 0;
};

extern template class PolicyChoice<Prefetcher>;

}  // namespace farfault
