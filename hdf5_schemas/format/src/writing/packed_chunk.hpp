// SPDX-License-Identifier: Apache-2.0
// A shuffled and deflated chunk that HDF5's filters (layout.hpp) read, for H5Dwrite_chunk.
//
// - Most counters of a large machine do not change between samples: a chunk equal to the previous one is not
//   compressed again.
// - The high bytes of most numbers are zero, and many counters stay zero: zero bytes at the end of the
//   shuffled chunk are not compressed (deflated.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace farfault::results {

class PackedChunk {
 public:
  // `value_bytes`: size of one value; a chunk contains whole values. The returned bytes are valid until the
  // next call.
  std::span<std::byte const> pack(std::span<std::byte const> chunk, std::size_t value_bytes);
  // Number of compressions, over all objects.
  static std::uint64_t compressed() { return compressed_; }

 private:
  static inline std::uint64_t compressed_ = 0;
  std::vector<std::byte> last_, packed_;
};

// The first bytes of all values, then the second bytes, and so on.
void shuffle_bytes(std::span<std::byte const> values, std::size_t value_bytes, std::span<std::byte> out);

}  // namespace farfault::results
