// SPDX-License-Identifier: Apache-2.0
// Memory that is fragmented from the start (Mosaic, MICRO 2017, section 6.4): data of nobody, at random
// places. The fragmentation index is the share of large frames that hold such data, the occupancy the share
// of each of these that it takes; both are rounded to whole large frames and base pages. The same seed,
// number of a GPU and size of its memory give the same frames.
#pragma once

#include <cstdint>

#include "farfault/paging/frame_allocator.hpp"

namespace farfault {

struct Fragmentation {
  double index = 0;
  double occupancy = 0;
  std::uint64_t seed = 1;

  bool any() const { return index > 0 && occupancy > 0; }
  // Occupies frames of a GPU's memory that has `setup.frames`, all of them free. What is left at the end of
  // memory, less than a large frame, stays free.
  void occupy(FrameAllocator& frames, FrameAllocator::Setup const& setup, std::uint32_t gpu) const;
  // How many that are.
  std::uint64_t frames(FrameAllocator::Setup const& setup) const;
};

}  // namespace farfault
