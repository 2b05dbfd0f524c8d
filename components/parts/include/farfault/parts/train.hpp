// SPDX-License-Identifier: Apache-2.0
// Time that a train takes at a link, a port or a bus.
//
// A train is a run of consecutive cache lines in one message (messages.hpp). Each line occupies the resource
// as long as a separate message would, and none leaves before it has arrived. Only the order of traffic is
// coarse: all lines of a train occupy the resource back to back, ahead of later messages. If the lines arrive
// more slowly than the resource passes them, the rest of the time is free for other traffic.
#pragma once

#include <algorithm>
#include <cstdint>

#include "farfault/engine/time.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

// Train of `more` lines after the first one, from `first` to `last`. The gap is rounded up, so that no line
// arrives too early.
inline Train train_between(Time first, Time last, std::uint32_t more) {
  if (more == 0) return {};
  auto const span = static_cast<std::uint64_t>(picoseconds(last - first));
  return {more, static_cast<std::uint32_t>((span + more - 1) / more)};
}

// Times at which the first and the last line of a train leave the resource.
struct Passage {
  Time first;
  Time last;

  Train train(std::uint32_t more) const { return train_between(first, last, more); }
};

// Passes a train that arrives at `now` through a resource that is free at `free_at` and takes `each` per
// line.
inline Passage pass(Train train, Time now, Duration each, Time& free_at) {
  auto const first = std::max(free_at, now) + each;
  free_at = first + each * train.more;
  return {first, std::max(free_at, now + train.length() + each)};
}

}  // namespace farfault
