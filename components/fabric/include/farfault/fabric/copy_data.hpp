// SPDX-License-Identifier: Apache-2.0
// Encoding of the data of copies between a GPU and a CPU: migrated pages and the program's copies. It has
// facts only.
//
// - Both memories are read and written in whole lines; only the bytes on the links change.
// - ratio: bytes of data per 1,000 bytes on the links; at least 1000. Lines are encoded one by one.
// - latency: added once per copy, since its lines are compressed and decompressed as a stream.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

class CopyData {
 public:
  using Interface = CopyData;
  struct Setup {};
  struct Facts {
    std::uint64_t ratio = 1000;
    Duration latency{};

    // Bytes on the links for a line, or for the shorter last line of a copy.
    constexpr std::uint32_t payload(std::uint32_t bytes) const {
      return static_cast<std::uint32_t>((std::uint64_t{bytes} * 1000 + ratio - 1) / ratio);
    }
  };
  static PolicyList<CopyData> known();

  virtual ~CopyData() = default;
};

extern template class PolicyChoice<CopyData>;

}  // namespace farfault
