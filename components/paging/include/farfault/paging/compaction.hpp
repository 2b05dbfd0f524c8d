// Whether pages are moved within the memory of a GPU so that large frames become free, and how their contents
// get to the new frame: contiguity-aware compaction, Mosaic (MICRO 2017), section 4.4.
//
// Contract: compacts(), takes_time() and time_in_memory() are functions of the parameters alone. A page comes
// that would begin a large frame, and none is free: then, where compacts() says so, the driver empties one,
// if the frame allocator knows which (frame_allocator.hpp), and the page waits until that is done. Contents
// go through the GPU's copy engine, line by line; or, where time_in_memory() says how long, the memory copies
// them by itself, one page after the other. Where takes_time() says no, it is done at once, and nothing stops
// for it. emptied() is told of each large frame that was emptied, for the count.
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
  virtual void emptied(std::uint64_t pages) { static_cast<void>(pages); }
};

}  // namespace farfault
