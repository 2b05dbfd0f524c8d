// SPDX-License-Identifier: Apache-2.0
// Format of pages in GPU memory that are migrated and evicted in batches: their capacity and access latency.
// It has facts only.
//
// - ratio: pages in the space of 1,000 uncompressed pages; at least 1000.
// - latency: added to each access of a DRAM channel.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

class MemoryContents {
 public:
  using Interface = MemoryContents;
  struct Setup {};
  struct Facts {
    std::uint64_t ratio = 1000;
    Duration latency{};

    // Capacity in pages of a memory with room for `plain` uncompressed pages.
    constexpr std::uint64_t pages(std::uint64_t plain) const { return plain * ratio / 1000; }
  };
  static PolicyList<MemoryContents> known();

  virtual ~MemoryContents() = default;
};

extern template class PolicyChoice<MemoryContents>;

}  // namespace farfault
