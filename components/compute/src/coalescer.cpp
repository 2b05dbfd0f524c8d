#include "farfault/compute/coalescer.hpp"

#include <algorithm>
#include <bit>

namespace farfault {

std::uint32_t coalesce(WarpInstruction const& instruction, std::uint32_t line_bytes, Transactions& out) {
  std::uint32_t count = 0;
  auto const mask = ~(VirtAddr{line_bytes} - 1);
  auto touch = [&](VirtAddr line, std::uint32_t bytes) {
    // Neighbouring lanes mostly share a line: compare with the last one first.
    for (auto i = count; i > 0; --i) {
      if (out[i - 1].line == line) {
        out[i - 1].bytes = std::min(line_bytes, out[i - 1].bytes + bytes);
        return;
      }
    }
    out[count++] = {line, std::min(line_bytes, bytes), 0};
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
