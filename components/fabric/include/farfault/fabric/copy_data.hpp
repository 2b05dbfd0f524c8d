// SPDX-License-Identifier: Apache-2.0
// How the data of a copy between a GPU and a CPU travel: a page that comes or leaves, what a program copies.
//
// Contract: all are functions of the parameters alone. Both memories are read and written in whole lines;
// only what the links between them carry is less. payload() is of a line, or of the shorter last one of a
// copy, at least a byte and no more than it has; latency() is added to each copy once: its lines are
// compressed and decompressed as a stream.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

class CopyData {
 public:
  using Interface = CopyData;
  struct Setup {};
  static PolicyList<CopyData> known();

  virtual ~CopyData() = default;
  virtual std::uint32_t payload(std::uint32_t bytes) const { return bytes; }
  virtual Duration latency() const { return Duration::zero(); }
};

extern template class PolicyChoice<CopyData>;

}  // namespace farfault
