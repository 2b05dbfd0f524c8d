// SPDX-License-Identifier: Apache-2.0
// Runs blocks with a warp switch at barriers only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <set>

#include "warp_walk.hpp"

namespace farfault::workloads::test::grids {

// Runs each block with a warp switch at barriers only: each warp runs up to its next barrier or its end, then
// the next warp. `visit` gets the number of barriers that the warp has passed.
template <class Visit>
void run_blocks(Kernel const& kernel, std::uint32_t width, Visit visit) {
  WarpInstruction in;
  for (std::uint64_t block = 0; block < kernel.shape().blocks; ++block) {
    std::vector<std::uint64_t> step(warps_of(kernel, width));
    std::vector<bool> ended(step.size());
    for (std::size_t phase = 0; std::ranges::count(ended, true) < std::ssize(ended); ++phase)
      for (std::uint32_t warp = 0; warp < step.size(); ++warp)
        while (!ended[warp]) {
          kernel.instruction(block, warp, step[warp]++, in);
          if (in.op == Op::end) ended[warp] = true;
          if (in.op == Op::end || in.op == Op::barrier) break;
          visit(block, warp, phase, in);
        }
  }
}

// Instructions of each kind executed by all warps of a kernel.
struct Counts {
  std::uint64_t loads = 0, stores = 0, scalar_loads = 0, barriers = 0, loaded = 0, stored = 0;
};

inline Counts counts_of(Kernel const& kernel, std::uint32_t width) {
  Counts c;
  walk(kernel, width, [&](auto, auto, auto, WarpInstruction const& in) {
    auto const lanes = static_cast<std::uint64_t>(std::popcount(in.lanes));
    if (in.op == Op::load) ++c.loads, c.loaded += lanes;
    if (in.op == Op::store) ++c.stores, c.stored += lanes;
    if (in.op == Op::scalar_load) ++c.scalar_loads;
    if (in.op == Op::barrier) ++c.barriers;
  });
  return c;
}

// Small integers, so that every order of summation gives the same result.
inline int value(std::uint64_t i) {
  return static_cast<int>(i * 7 % 13) - 6;
}

inline bool within(Buffer const& b, VirtAddr a) {
  return a >= b.base && a < b.base + b.bytes;
}

}  // namespace farfault::workloads::test::grids
