// SPDX-License-Identifier: Apache-2.0
// The coalescer: the memory transactions of one warp instruction, one for each distinct line that its lanes
// touch, in the order of the first lane that touches it. A lane's access that crosses a line boundary touches
// both lines.
#pragma once

#include <array>
#include <cstdint>

#include "farfault/protocols/kernel.hpp"

namespace farfault {

struct Transaction {
  VirtAddr line;        // address of the line's first byte
  std::uint32_t bytes;  // touched by lanes, at most the line
  std::uint32_t unused;
};

// At most two lines per lane.
using Transactions = std::array<Transaction, 2 * std::size_t{kMaxLanes}>;

// Fills `out` and returns how many. `line_bytes` is a power of two.
std::uint32_t coalesce(WarpInstruction const& instruction, std::uint32_t line_bytes, Transactions& out);

}  // namespace farfault
