// SPDX-License-Identifier: Apache-2.0
// Memory that is fragmented at the start (Mosaic, MICRO 2017, section 6.4): random frames hold data of no
// application.
//
// - Fragmentation index: fraction of large frames with this data. Occupancy: fraction of each of these frames
//   that is occupied. Both are rounded to whole large frames and base pages.
// - The same seed, GPU number and memory size give the same frames.
#pragma once

#include <cstdint>

#include "farfault/paging/frame_allocator.hpp"

namespace farfault {

struct Fragmentation {
  double index = 0;
  double occupancy = 0;
  std::uint64_t seed = 1;

  bool any() const { return index > 0 && occupancy > 0; }
  // Occupies frames of a GPU's memory with `setup.frames` frames, all of them free. A remainder at the end of
  // memory, smaller than a large frame, stays free.
  void occupy(FrameAllocator& frames, FrameAllocator::Setup const& setup, std::uint32_t gpu) const;
  // Number of frames that occupy() takes.
  std::uint64_t frames(FrameAllocator::Setup const& setup) const;
};

}  // namespace farfault
