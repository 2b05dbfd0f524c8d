// SPDX-License-Identifier: Apache-2.0
// Policy that selects pages of a VA block to migrate in addition to faulted pages.
//
// - A block is 2 MiB of virtual addresses (uvm_va_block_types.h), or one page if pages are that large.
//   Prefetching does not cross blocks.
// - choose() is called for each block of a batch. A page's number is its position in the block. `faulted`:
//   pages that have faulted and migrate. `resident`: pages on the GPU that are not in flight. `candidates`:
//   all other pages. Returns a subset of `candidates`.
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
    BlockPages candidates;  // neither of these
  };
  static PolicyList<Prefetcher> known();

  virtual ~Prefetcher() = default;
  virtual BlockPages choose(Block const& block) const = 0;
};

extern template class PolicyChoice<Prefetcher>;

}  // namespace farfault
