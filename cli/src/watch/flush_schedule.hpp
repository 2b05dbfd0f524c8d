// SPDX-License-Identifier: Apache-2.0
// Private: when a run writes its samples out, so that others can read them.
//
// Every 10 s. While somebody watches, a second after the last flush, or after as much more as keeps flushes
// to a twentieth of the time, as long as a sample can be read 2 s after it was taken; where that takes
// flushes a fifth of the time, in longer steps. So a sample can be read within 2 s where a flush takes less
// than 0.38 s and samples come closer than that.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>

#include "watch_mark.hpp"

namespace farfault::cli {

class FlushSchedule {
 public:
  using Clock = std::function<double()>;  // seconds, never going back

  explicit FlushSchedule(WatchMark mark, Clock clock = steady_seconds)
      : mark_(std::move(mark)), clock_(std::move(clock)), last_(clock_()), sampled_(last_), looked_(last_) {}

  // Call it after every sample: whether to flush now.
  bool due() {
    auto const now = clock_();
    auto const next = now - sampled_;  // until the next sample, if it takes as long as this one did
    sampled_ = asked_ = now;
    if (now - looked_ >= kLookEvery) {
      looked_ = now;
      if (mark_.touched()) touched_ = now;
    }
    auto const since = now - last_;
    if (since > kUnwatched) return true;
    bool const watched = touched_ >= 0 && now - touched_ < kForget;
    // What is sampled now can be read when the next flush is done.
    auto const latest = std::max(kReadable - cost_, kLeastShare * cost_);
    return watched && since + next > std::max(kWatched, std::min(kShare * cost_, latest));
  }
  // Call it after every flush that due() asked for, and others.
  void done() {
    last_ = clock_();
    cost_ = last_ - asked_;
    sampled_ = last_;
  }

 private:
  static constexpr double kUnwatched = 10;
  static constexpr double kWatched = 1;
  static constexpr double kLookEvery = 0.25;
  static constexpr double kForget = 5;  // a watcher touches the mark every second
  static constexpr double kShare = 20;
  static constexpr double kReadable = 1.9;  // a tenth to spare
  static constexpr double kLeastShare = 4;

  static double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  WatchMark mark_;
  Clock clock_;
  double last_;          // flush
  double sampled_;       // last
  double looked_;        // at the mark
  double asked_ = 0;     // due()
  double touched_ = -1;  // the mark; less than 0: never
  double cost_ = 0;      // of the last flush
};

}  // namespace farfault::cli
