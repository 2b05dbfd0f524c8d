// SPDX-License-Identifier: Apache-2.0
// A chunk as HDF5's filters leave it, shuffled and deflated (layout.hpp), for H5Dwrite_chunk.
//
// Most counters of a large machine stand still from one sample to the next: a chunk that equals the one
// packed before it is not compressed again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace farfault::results {

class PackedChunk {
 public:
  // `value_bytes`: of one value; chunks hold whole ones. The bytes returned are valid until the next call.
  std::span<std::byte const> pack(std::span<std::byte const> chunk, std::size_t value_bytes);
  // How many were compressed, of all.
  static std::uint64_t compressed() { return compressed_; }

 private:
  static inline std::uint64_t compressed_ = 0;
  std::vector<std::byte> last_, packed_;
};

// The first bytes of all values, then their second ones, and so on.
void shuffle_bytes(std::span<std::byte const> values, std::size_t value_bytes, std::span<std::byte> out);

}  // namespace farfault::results
