// SPDX-License-Identifier: Apache-2.0
// Policy for the time of evictions from a GPU whose memory is full, relative to the migrations of a batch.
//
// - An eviction has two steps. First the unit is unmapped: no TLB holds its translations and no access uses
//   them. Then its data is transferred to CPU memory, and its frames are free.
// - evicts(): one more unit starts to be evicted. Called repeatedly while the batch needs more frames than
//   are free or will become free.
// - writes_out(): the oldest unmapped unit is transferred now.
// - reads_in(): a page that could take a free frame is transferred now. Must be true if no transfer from
//   the GPU is in flight.
// - All functions are called again after every start or completion. evicts() and writes_out() must be true if
//   nothing else is in flight and a page waits for a frame.
// - If `takes_time` is false, evictions need neither time nor transfers.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

class EvictionSchedule {
 public:
  using Interface = EvictionSchedule;
  struct Setup {};
  // State of the GPU whose batch is served.
  struct Snapshot {
    std::uint64_t free_frames;
    bool page_needs_frame;    // the next page could be transferred if it had a frame
    std::uint32_t in;         // pages in transfer to the GPU
    std::uint32_t unmapping;  // units being unmapped
    std::uint32_t unmapped;   // units unmapped and not yet in transfer
    std::uint32_t out;        // units in transfer
  };
  struct Facts {
    bool takes_time = true;
  };
  static PolicyList<EvictionSchedule> known();

  virtual ~EvictionSchedule() = default;
  virtual bool evicts(Snapshot const& now) const = 0;
  virtual bool writes_out(Snapshot const& now) const = 0;
  virtual bool reads_in(Snapshot const&) const { return true; }
};

extern template class PolicyChoice<EvictionSchedule>;

}  // namespace farfault
