// SPDX-License-Identifier: Apache-2.0
// When pages leave a GPU whose memory is full, for those that a batch brings.
//
// A unit leaves in two steps: no TLB holds its translations any more, and no access uses them (unmapped);
// then its data go to the CPU's memory, and its frames are free. Contract: begins() is asked while the pages
// of a batch still need more frames than are free or about to be, as often as it agrees, and says whether one
// more unit begins to leave; leaves() is asked for the oldest unit that is unmapped, and says whether its
// data go now. comes() is asked for each page that could take a free frame, and has to agree when nothing is
// being transferred from the GPU. All are asked again whenever something has ended or begun; the first two
// have to agree when nothing else is under way and a page waits for a frame. Where takes_time() says no, data
// need no time, and no transfer.
#pragma once

#include <cstdint>

#include "farfault/engine/policy.hpp"

namespace farfault {

class EvictionSchedule {
 public:
  using Interface = EvictionSchedule;
  struct Setup {};
  // Of the GPU whose batch is served.
  struct Moment {
    std::uint64_t free_frames;
    bool page_waits;          // the next page could come now, had it a frame
    std::uint32_t in;         // pages that are being transferred to the GPU
    std::uint32_t unmapping;  // units that are being unmapped,
    std::uint32_t unmapped;   // or are,
    std::uint32_t out;        // or are being transferred
  };
  static PolicyList<EvictionSchedule> known();

  virtual ~EvictionSchedule() = default;
  virtual bool begins(Moment const& now) const = 0;
  virtual bool leaves(Moment const& now) const = 0;
  virtual bool comes(Moment const&) const { return true; }
  virtual bool takes_time() const { return true; }
};

extern template class PolicyChoice<EvictionSchedule>;

}  // namespace farfault
