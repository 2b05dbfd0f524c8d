// SPDX-License-Identifier: Apache-2.0
// The time that a train takes at what it passes: a link, a port, a bus.
//
// A train is a run of consecutive cache lines that travel as one message (messages.hpp). Each line takes the
// resource for as long as if it came alone, and none leaves before it has arrived; only what comes between
// them is as coarse as a train: the resource is taken for all of its lines at once. While lines come more
// slowly than the resource could pass them, it is free for others in between.
#pragma once

#include <algorithm>
#include <cstdint>

#include "farfault/engine/time.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

// `more` lines beside the first one, from `first` to `last`: rounded up, so that no line comes too early.
inline Train train_between(Time first, Time last, std::uint32_t more) {
  if (more == 0) return {};
  auto const span = static_cast<std::uint64_t>(picoseconds(last - first));
  return {more, static_cast<std::uint32_t>((span + more - 1) / more)};
}

// When the first line of a train leaves what it passes, and the last.
struct Passage {
  Time first;
  Time last;

  Train train(std::uint32_t more) const { return train_between(first, last, more); }
};

// A train that comes at `now` passes a resource that is free at `free_at`, and takes it for `each` per line.
inline Passage pass(Train train, Time now, Duration each, Time& free_at) {
  auto const first = std::max(free_at, now) + each;
  free_at = first + each * train.more;
  return {first, std::max(free_at, now + train.length() + each)};
}

}  // namespace farfault
