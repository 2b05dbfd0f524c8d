// SPDX-License-Identifier: Apache-2.0
// In which form a GPU's memory holds pages that come and leave in batches: how many more of them there is
// room for, and what reading them takes.
//
// Contract: functions of the parameters alone. pages() is what there is room for where plain pages would be
// so many, no fewer than these; latency() is added to each access of a DRAM channel.
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
