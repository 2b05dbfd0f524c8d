// SPDX-License-Identifier: Apache-2.0
#include "packed_chunk.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

#include "deflated.hpp"

namespace farfault::results {
namespace {

using Words = std::array<std::uint64_t, 8>;

// Swaps the high part of each pair of parts in `a` with the low part in `b`.
void exchange(std::uint64_t& a, std::uint64_t& b, unsigned shift, std::uint64_t low) {
  auto const moved = (a >> shift ^ b) & low;
  b ^= moved;
  a ^= moved << shift;
}

// Transposes eight words: word b becomes the bytes b of all words.
void transpose(Words& w) {
  constexpr std::uint64_t kFour = 0x00000000ffffffff, kTwo = 0x0000ffff0000ffff, kOne = 0x00ff00ff00ff00ff;
  exchange(w[0], w[4], 32, kFour);
  exchange(w[1], w[5], 32, kFour);
  exchange(w[2], w[6], 32, kFour);
  exchange(w[3], w[7], 32, kFour);
  exchange(w[0], w[2], 16, kTwo);
  exchange(w[1], w[3], 16, kTwo);
  exchange(w[4], w[6], 16, kTwo);
  exchange(w[5], w[7], 16, kTwo);
  exchange(w[0], w[1], 8, kOne);
  exchange(w[2], w[3], 8, kOne);
  exchange(w[4], w[5], 8, kOne);
  exchange(w[6], w[7], 8, kOne);
}

// The low bytes of the largest value; all higher bytes are zero.
std::size_t bytes_in_use(std::span<std::byte const> values, std::size_t value_bytes) {
  if (value_bytes != 8) return value_bytes;
  std::uint64_t all = 0;
  for (std::size_t at = 0; at + 8 <= values.size(); at += 8) {
    std::uint64_t value = 0;
    std::memcpy(&value, values.data() + at, 8);
    all |= value;
  }
  return (static_cast<std::size_t>(std::bit_width(all)) + 7) / 8;
}

}  // namespace

void shuffle_bytes(std::span<std::byte const> values, std::size_t value_bytes, std::span<std::byte> out) {
  auto const count = values.size() / value_bytes;
  std::size_t done = 0;
  if (value_bytes == 8)
    for (; done + 8 <= count; done += 8) {
      Words words;
      std::memcpy(words.data(), values.data() + done * 8, sizeof words);
      transpose(words);
      for (std::size_t byte = 0; byte < 8; ++byte)
        std::memcpy(out.data() + byte * count + done, &words[byte], 8);
    }
  for (; done < count; ++done)
    for (std::size_t byte = 0; byte < value_bytes; ++byte)
      out[byte * count + done] = values[done * value_bytes + byte];
}

std::span<std::byte const> PackedChunk::pack(std::span<std::byte const> chunk, std::size_t value_bytes) {
  auto const size = chunk.size();
  if (size == last_.size() && std::memcmp(chunk.data(), last_.data(), size) == 0) return packed_;
  ++compressed_;
  last_.assign(chunk.begin(), chunk.end());
  auto const used = bytes_in_use(chunk, value_bytes) * (size / value_bytes);
  auto const shuffled = std::make_unique_for_overwrite<std::byte[]>(size);
  if (used != 0)
    shuffle_bytes(chunk, value_bytes, {shuffled.get(), size});
  else
    std::memset(shuffled.get(), 0, size);
  packed_ = deflated({shuffled.get(), size}, used);
  return packed_;
}

}  // namespace farfault::results
