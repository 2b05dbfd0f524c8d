// SPDX-License-Identifier: Apache-2.0
// Format of pages in GPU memory that are migrated and evicted in batches: their capacity and access latency.
//
// Both functions depend on the parameters only. pages() is the capacity in pages of a memory with room for
// `plain` uncompressed pages, at least `plain`; latency() is added to each access of a DRAM channel.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

class MemoryContents {
 public:
  using Interface = MemoryContents;
  struct Setup {};
  static PolicyList<MemoryContents> known();

  virtual ~MemoryContents() = default;
  virtual std::uint64_t pages(std::uint64_t plain) const { return plain; }
  virtual Duration latency() const { return Duration::zero(); }
};

extern template class PolicyChoice<MemoryContents>;

}  // namespace farfault
