// SPDX-License-Identifier: Apache-2.0
// Policy for compaction: moving pages within a GPU's memory to free large frames (contiguity-aware
// compaction, Mosaic, MICRO 2017, section 4.4), and the copy mechanism.
//
// - Trigger: a page would begin a large frame and none is free. If `compacts`, the driver empties the large
//   frame that the frame allocator selects (frame_allocator.hpp); the page waits until this is done. The
//   paper compacts when pages of a large page are freed; here compaction is deferred until a large frame is
//   needed.
// - Copies: by the GPU's copy engine, line by line; or, if `time_in_memory` is a time, within the memory,
//   `at_a_time` pages concurrently.
// - If `takes_time` is false, a copy takes the minimum time and no SM stalls; pages are still unmapped and
//   mapped again.
// - ended() is called once per large frame, with the pages moved and whether it is free, for statistics.
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
  struct Facts {
    bool compacts = true;
    bool takes_time = true;
    std::optional<Duration> time_in_memory{};
    std::int64_t at_a_time = 1;
  };
  static PolicyList<Compaction> known();

  virtual ~Compaction() = default;
  virtual void ended(std::uint64_t pages, bool is_free) {
    static_cast<void>(pages);
    static_cast<void>(is_free);
  }
};

extern template class PolicyChoice<Compaction>;

}  // namespace farfault
