// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/thread_blocks.hpp"

namespace farfault::thread_blocks {
namespace {

struct Occupancy final : ThreadBlocks {};

}  // namespace

void occupancy(PolicyList<ThreadBlocks>& list) {
  list.add<Occupancy>(
      "occupancy",
      "blocks within the SM's limits on warps, threads, blocks, registers and shared memory; no swapping");
}

}  // namespace farfault::thread_blocks
