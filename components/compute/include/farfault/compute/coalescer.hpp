// SPDX-License-Identifier: Apache-2.0
// The coalescer: the memory transactions of one warp instruction, one per distinct line that its lanes
// access, ordered by the first lane that accesses it. An access that crosses a line boundary accesses
// both lines.
#pragma once

#include <array>
#include <cstdint>

#include "farfault/protocols/kernel.hpp"

namespace farfault {

struct Transaction {
  VirtAddr line;        // address of the line's first byte
  std::uint32_t bytes;  // accessed by lanes, at most the line
  std::uint32_t unused;
};

// At most two lines per lane.
using Transactions = std::array<Transaction, 2 * std::size_t{kMaxLanes}>;

// Fills `out` and returns the number of transactions. `line_bytes` is a power of two.
std::uint32_t coalesce(WarpInstruction const& instruction, std::uint32_t line_bytes, Transactions& out);

}  // namespace farfault
