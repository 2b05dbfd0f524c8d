// SPDX-License-Identifier: Apache-2.0
#include "deflated.hpp"

#include <zlib.h>

#include <array>
#include <cstdint>

#include "farfault/engine/error.hpp"
#include "layout.hpp"

namespace farfault::results {
namespace {

using Bytes = std::vector<std::byte>;

unsigned char const* input(std::byte const* bytes) {
  return reinterpret_cast<unsigned char const*>(bytes);
}

// Appends raw deflate blocks that end at a byte boundary and refer to no earlier byte.
void append_blocks(Bytes& to, std::span<std::byte const> bytes, int level) {
  z_stream stream{};
  // 15: the largest window; negative: no header, no checksum.
  FF_CHECK(::deflateInit2(&stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK,
           "zlib cannot start");
  constexpr std::size_t kFlush = 16;  // of the empty block at the end
  auto const before = to.size();
  to.resize(before + ::deflateBound(&stream, bytes.size()) + kFlush);
  stream.next_in = const_cast<unsigned char*>(input(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<unsigned char*>(to.data() + before);
  stream.avail_out = static_cast<uInt>(to.size() - before);
  auto const result = ::deflate(&stream, Z_SYNC_FLUSH);
  FF_CHECK(result == Z_OK && stream.avail_in == 0 && stream.avail_out != 0, "zlib cannot compress a chunk");
  to.resize(to.size() - stream.avail_out);
  ::deflateEnd(&stream);
}

constexpr std::size_t kSmallest = 4096, kSizes = 5;  // of the precomputed pieces: 4 KiB to 64 KiB

Bytes const& zero_blocks(std::size_t size) {
  static auto const all = [] {
    std::array<Bytes, kSizes> pieces;
    for (std::size_t i = 0; i < kSizes; ++i)
      append_blocks(pieces[i], Bytes(kSmallest << i), Z_BEST_COMPRESSION);
    return pieces;
  }();
  return all[size];
}

void append(Bytes& to, Bytes const& some) {
  to.insert(to.end(), some.begin(), some.end());
}

Bytes deflated_whole(std::span<std::byte const> bytes) {
  auto size = ::compressBound(bytes.size());
  Bytes to(size);
  FF_CHECK(::compress2(reinterpret_cast<unsigned char*>(to.data()), &size, input(bytes.data()), bytes.size(),
                       kDeflateLevel) == Z_OK,
           "zlib cannot compress a chunk");
  to.resize(size);
  return to;
}

}  // namespace

std::vector<std::byte> deflated(std::span<std::byte const> bytes, std::size_t used) {
  auto const zeros = (bytes.size() - used) / kSmallest * kSmallest;
  if (zeros == 0) return deflated_whole(bytes);
  bytes = bytes.first(bytes.size() - zeros);
  Bytes to{std::byte{0x78}, std::byte{0x5e}};  // 32 KiB window, level 2 to 5
  if (!bytes.empty()) append_blocks(to, bytes, kDeflateLevel);
  for (auto left = zeros; left != 0;) {
    auto size = kSizes - 1;
    while (kSmallest << size > left) --size;
    append(to, zero_blocks(size));
    left -= kSmallest << size;
  }
  append(to, {std::byte{0x03}, std::byte{0x00}});  // an empty last block
  // Adler-32 of n zeros: low half 1, high half n modulo the largest prime below 2^16.
  constexpr std::size_t kPrime = 65521;
  auto const of_bytes = ::adler32(1, input(bytes.data()), static_cast<uInt>(bytes.size()));
  auto const of_zeros = static_cast<uLong>(zeros % kPrime << 16 | 1);
  auto const sum = ::adler32_combine(of_bytes, of_zeros, static_cast<z_off_t>(zeros));
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::byte>(sum >> shift & 255));
  return to;
}

}  // namespace farfault::results
