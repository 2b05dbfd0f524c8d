// SPDX-License-Identifier: Apache-2.0
// Encoding of the data of copies between a GPU and a CPU: migrated pages and the program's copies.
//
// - Both memories are read and written in whole lines; only the bytes on the links change.
// - payload(): bytes on the links for a line, or for the shorter last line of a copy; from 1 to the bytes of
//   the line.
// - latency(): added once per copy, since its lines are compressed and decompressed as a stream.
// - Both are functions of the parameters only.
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
