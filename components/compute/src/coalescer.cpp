// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/coalescer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace farfault {

namespace {

// Two addresses per operation; the compiler does not vectorize plain loops this way.
using Pair = std::uint64_t __attribute__((vector_size(16)));

// True if each of lanes 0 to n - 1 continues at the end of the previous one.
bool contiguous(WarpInstruction const& i, std::uint32_t n) {
  auto const first = i.address[0];
  if (i.address[n - 1] != first + std::uint64_t{n - 1} * i.bytes_per_lane) return false;
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

// By the lowest bits of a line's number: the line's index in `out`, plus 1.
using Places = std::array<std::uint8_t, 256>;
static_assert(std::tuple_size_v<Transactions> < 255);

// True if no access of lanes 0 to n - 1 crosses the end of a line, and the accessed lines differ only in
// the bits of Places.
bool is_narrow(WarpInstruction const& i, std::uint32_t n, std::uint32_t line_bytes) {
  if (!std::has_single_bit(i.bytes_per_lane)) return false;
  auto const first = i.address[0];
  Pair const both{first, first};
  Pair differ{};
  std::uint32_t lane = 0;
  for (; lane + 4 <= n; lane += 4) {
    Pair a;
    Pair b;
    std::memcpy(&a, &i.address[lane], sizeof a);
    std::memcpy(&b, &i.address[lane + 2], sizeof b);
    differ |= (a ^ both) | (b ^ both);
  }
  auto all = differ[0] | differ[1];
  for (; lane < n; ++lane) all |= i.address[lane] ^ first;
  return ((first | all) & (i.bytes_per_lane - 1U)) == 0 && all / line_bytes < std::tuple_size_v<Places>;
}

std::uint32_t coalesce_narrow(WarpInstruction const& i, std::uint32_t n, std::uint32_t line_bytes,
                              Transactions& out) {
  auto const line_bits = static_cast<unsigned>(std::countr_zero(line_bytes));
  Places places{};
  std::uint32_t count = 0;
  for (std::uint32_t lane = 0; lane < n; ++lane) {
    auto const line = i.address[lane] >> line_bits;
    auto& place = places[static_cast<std::uint8_t>(line)];
    if (place == 0) {
      out[count++] = {line << line_bits, 0, 0};
      place = static_cast<std::uint8_t>(count);
    }
    out[place - 1U].bytes += i.bytes_per_lane;
  }
  for (std::uint32_t k = 0; k < count; ++k) out[k].bytes = std::min(line_bytes, out[k].bytes);
  return count;
}

// Calls touch(line, bytes) for each line that the lane accesses: one, or two.
template <class Touch>
void touch_lines(WarpInstruction const& i, std::uint64_t lanes, VirtAddr mask, Touch&& touch) {
  auto const address = i.address[static_cast<std::size_t>(std::countr_zero(lanes))];
  auto const first = address & mask;
  auto const last = (address + i.bytes_per_lane - 1) & mask;
  if (first == last) {
    touch(first, i.bytes_per_lane);
  } else {
    auto const before = static_cast<std::uint32_t>(last - address);
    touch(first, before);
    touch(last, i.bytes_per_lane - before);
  }
}

// The distinct lines of a warp.
class Lines {
 public:
  Lines(std::uint32_t line_bytes, Transactions& out) : line_bytes_(line_bytes), out_(out) {}

  std::uint32_t count() const { return count_; }
  bool lies_below(VirtAddr address) const { return count_ != 0 && address < out_[count_ - 1].line; }
  // A line not below the previous one, as for all lines before: it is either the previous line or new.
  void touch_next(VirtAddr line, std::uint32_t bytes) {
    if (count_ != 0 && out_[count_ - 1].line == line)
      add(out_[count_ - 1], bytes);
    else
      append(line, bytes);
  }

  // Any line; requires known() to have been called.
  void touch_any(VirtAddr line, std::uint32_t bytes) {
    auto& place = place_of(line);
    if (place != 0) return add(out_[place - 1U], bytes);
    append(line, bytes);
    place = static_cast<std::uint8_t>(count_);
  }
  void known() {
    places_.fill(0);
    for (std::uint32_t i = 0; i < count_; ++i) place_of(out_[i].line) = static_cast<std::uint8_t>(i + 1);
  }

 private:
  void append(VirtAddr line, std::uint32_t bytes) {
    out_[count_++] = {line, std::min(line_bytes_, bytes), 0};
  }
  void add(Transaction& to, std::uint32_t bytes) { to.bytes = std::min(line_bytes_, to.bytes + bytes); }
  // Linear probing: lines with the same bits follow. 0: the line is not in `out` yet.
  std::uint8_t& place_of(VirtAddr line) {
    auto const bits = static_cast<unsigned>(std::countr_zero(line_bytes_));
    for (auto h = static_cast<std::uint8_t>(line >> bits);; ++h)
      if (places_[h] == 0 || out_[places_[h] - 1U].line == line) return places_[h];
  }

  std::uint32_t line_bytes_;
  std::uint32_t count_ = 0;
  Transactions& out_;
  Places places_;  // filled by known()
};

}  // namespace

std::uint32_t coalesce(WarpInstruction const& instruction, std::uint32_t line_bytes, Transactions& out) {
  auto const n = static_cast<std::uint32_t>(std::popcount(instruction.lanes));
  // Lanes 0 to n - 1 are active, and none of them accesses more than two lines.
  bool const plain = n != 0 && (instruction.lanes & (instruction.lanes + 1)) == 0 &&
                     instruction.bytes_per_lane != 0 && instruction.bytes_per_lane <= line_bytes;
  if (plain && contiguous(instruction, n)) {
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
  if (plain && is_narrow(instruction, n, line_bytes)) return coalesce_narrow(instruction, n, line_bytes, out);
  auto const mask = ~(VirtAddr{line_bytes} - 1);
  Lines lines(line_bytes, out);
  auto lanes = instruction.lanes;
  for (; lanes != 0; lanes &= lanes - 1) {
    if (lines.lies_below(instruction.address[static_cast<std::size_t>(std::countr_zero(lanes))])) break;
    touch_lines(instruction, lanes, mask,
                [&](VirtAddr line, std::uint32_t bytes) { lines.touch_next(line, bytes); });
  }
  if (lanes == 0) return lines.count();
  lines.known();
  for (; lanes != 0; lanes &= lanes - 1)
    touch_lines(instruction, lanes, mask,
                [&](VirtAddr line, std::uint32_t bytes) { lines.touch_any(line, bytes); });
  return lines.count();
}

}  // namespace farfault
