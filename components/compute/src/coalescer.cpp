// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/coalescer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace farfault {

namespace {

// Whether lanes 0 to n - 1 are active, and each continues where the one before it ends.
bool contiguous(WarpInstruction const& i, std::uint32_t n) {
  if ((i.lanes & (i.lanes + 1)) != 0) return false;
  auto const first = i.address[0];
  if (i.address[n - 1] != first + std::uint64_t{n - 1} * i.bytes_per_lane) return false;
  // Two vectors of two addresses, which the compiler would not make of the plain loop.
  using Pair = std::uint64_t __attribute__((vector_size(16)));
  std::uint64_t const each = i.bytes_per_lane;
  Pair even{first, first + each};
  Pair odd{first + 2 * each, first + 3 * each};
  Pair const four{4 * each, 4 * each};
  Pair differ{};
  std::uint32_t lane = 0;
  for (; lane + 4 <= n; lane += 4, even += four, odd += four) {
    Pair a;
    Pair b;
    std::memcpy(&a, &i.address[lane], sizeof a);
    std::memcpy(&b, &i.address[lane + 2], sizeof b);
    differ |= (a ^ even) | (b ^ odd);
  }
  for (; lane < n; ++lane)
    if (i.address[lane] != first + lane * each) return false;
  return (differ[0] | differ[1]) == 0;
}

}  // namespace

std::uint32_t coalesce(WarpInstruction const& instruction, std::uint32_t line_bytes, Transactions& out) {
  auto const n = static_cast<std::uint32_t>(std::popcount(instruction.lanes));
  if (n != 0 && instruction.bytes_per_lane != 0 && instruction.bytes_per_lane <= line_bytes &&
      contiguous(instruction, n)) {
    std::uint32_t lines = 0;
    auto const end = instruction.address[0] + std::uint64_t{n} * instruction.bytes_per_lane;
    for (auto at = instruction.address[0]; at < end; ++lines) {
      auto const line = at & ~(VirtAddr{line_bytes} - 1);
      auto const next = std::min(end, line + line_bytes);
      out[lines] = {line, static_cast<std::uint32_t>(next - at), 0};
      at = next;
    }
    return lines;
  }
  std::uint32_t count = 0;
  auto const mask = ~(VirtAddr{line_bytes} - 1);
  auto const line_bits = static_cast<unsigned>(std::countr_zero(line_bytes));
  // Where a line is in `out`, and one more, by its lowest bits; others of the same bits come after it.
  std::array<std::uint8_t, 256> places{};
  static_assert(std::tuple_size_v<Transactions> < 255);
  auto touch = [&](VirtAddr line, std::uint32_t bytes) {
    for (auto h = static_cast<std::uint8_t>(line >> line_bits);; ++h) {
      auto& place = places[h];
      if (place == 0) {
        out[count++] = {line, std::min(line_bytes, bytes), 0};
        place = static_cast<std::uint8_t>(count);
        return;
      }
      if (auto& known = out[place - 1U]; known.line == line) {
        known.bytes = std::min(line_bytes, known.bytes + bytes);
        return;
      }
    }
  };
  for (auto lanes = instruction.lanes; lanes != 0; lanes &= lanes - 1) {
    auto const address = instruction.address[static_cast<std::size_t>(std::countr_zero(lanes))];
    auto const first = address & mask;
    auto const last = (address + instruction.bytes_per_lane - 1) & mask;
    if (first == last) {
      touch(first, instruction.bytes_per_lane);
    } else {
      auto const before = static_cast<std::uint32_t>(last - address);
      touch(first, before);
      touch(last, instruction.bytes_per_lane - before);
    }
  }
  return count;
}

}  // namespace farfault
