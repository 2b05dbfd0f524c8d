// SPDX-License-Identifier: Apache-2.0
// Private: the times at which the statistics are sampled.
//
// The times are a function of the interval, of `doubling` and of simulated time alone, so all ranks agree on
// them, and so do a run and its continuation. The samples of a shorter run are the first ones of a longer
// run. An interval that doubles after every `doubling` samples bounds their number: about doubling x
// log2(simulated time / interval / doubling).
#pragma once

#include <cstdint>

#include "farfault/engine/time.hpp"

namespace farfault::cli {

class SampleSchedule {
 public:
  // `interval` is positive; `doubling` is the number of samples taken before it doubles, 0 for never.
  SampleSchedule(Duration interval, std::uint64_t doubling) : interval_(interval), doubling_(doubling) {}

  // The first sample later than `t`; Time::max() if it exceeds the range of Time.
  Time after(Time t) const {
    auto const now = static_cast<std::uint64_t>(picoseconds(t));
    auto interval = static_cast<std::uint64_t>(picoseconds(interval_));
    std::uint64_t begin = 0;  // start of the period with this interval
    while (doubling_ != 0 && interval <= (kLast - begin) / doubling_ && now >= begin + interval * doubling_) {
      begin += interval * doubling_;
      if (interval > kLast / 2) return Time::max();
      interval *= 2;
    }
    auto const behind = now - begin - (now - begin) % interval + begin;
    return interval > kLast - behind ? Time::max()
                                     : Time{Duration{static_cast<std::int64_t>(behind + interval)}};
  }

 private:
  static constexpr auto kLast = static_cast<std::uint64_t>(picoseconds(Time::max()));

  Duration interval_;
  std::uint64_t doubling_;
};

}  // namespace farfault::cli
