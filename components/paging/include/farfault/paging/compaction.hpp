// SPDX-License-Identifier: Apache-2.0
// Whether pages are moved within the memory of a GPU so that large frames become free, and how their contents
// get to the new frame: contiguity-aware compaction, Mosaic (MICRO 2017), section 4.4.
//
// Contract: compacts(), takes_time() and time_in_memory() are functions of the parameters alone. A page comes
// that would begin a large frame, and none is free: then, where compacts() says so, the driver empties one,
// if the frame allocator knows which (frame_allocator.hpp), and the page waits until that is done. Contents
// go through the GPU's copy engine, line by line; or, where time_in_memory() says how long, the memory copies
// them by itself, at_a_time() pages at a time. Where takes_time() says no, a copy takes the least time that
// there is, and no SM stops; pages are unmapped and mapped anew as ever. ended() is told of each large frame
// how many pages have left it, and whether it is free now, for the count.
//
// The paper compacts when pages of a large page are freed; here that is left until the room is needed.
#pragma once

#include <cstdint>
#include <optional>

#include "farfault/engine/policy.hpp"
#include "farfault/engine/time.hpp"

namespace farfault {

class Compaction {
 public:
  using Interface = Compaction;
  struct Setup {};
  static PolicyList<Compaction> known();

  virtual ~Compaction() = default;
  virtual bool compacts() const { return true; }
  virtual bool takes_time() const { return true; }
  virtual std::optional<Duration> time_in_memory() const { return std::nullopt; }
  virtual std::int64_t at_a_time() const { return 1; }
  virtual void ended(std::uint64_t pages, bool is_free) {
    static_cast<void>(pages);
    static_cast<void>(is_free);
  }
};

extern template class PolicyChoice<Compaction>;

}  // namespace farfault
