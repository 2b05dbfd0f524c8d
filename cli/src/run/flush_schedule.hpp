// SPDX-License-Identifier: Apache-2.0
// Private: flush times of a run's samples, for readers of the growing file.
//
// - Not watched: every 10 s.
// - Watched: 1 s after the last flush. Slow flushes are delayed to limit them to a twentieth of the time, as
//   long as a sample is readable within 2 s; beyond that, flushes may take a fifth of the time.
// - A sample is therefore readable within 2 s if a flush takes less than 0.38 s and samples are less than 2 s
//   apart.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>

#include "watch_mark.hpp"

namespace farfault::cli {

class FlushSchedule {
 public:
  using Clock = std::function<double()>;  // seconds, monotonic

  explicit FlushSchedule(WatchMark mark, Clock clock = steady_seconds)
      : mark_(std::move(mark)), clock_(std::move(clock)), last_(clock_()), sampled_(last_), looked_(last_) {}

  // Call after every sample: true if the run should flush now.
  bool due() {
    auto const now = clock_();
    auto const next = now - sampled_;  // until the next sample, if it takes as long as this one
    sampled_ = asked_ = now;
    if (now - looked_ >= kCheckInterval) {
      looked_ = now;
      if (mark_.touched()) touched_ = now;
    }
    auto const since = now - last_;
    if (since > kUnwatched) return true;
    bool const watched = touched_ >= 0 && now - touched_ < kForget;
    // A sample taken now is readable after the next flush.
    auto const latest = std::max(kReadable - cost_, kMinShare * cost_);
    return watched && since + next > std::max(kWatched, std::min(kShare * cost_, latest));
  }
  // Call after every flush, including flushes that due() did not request.
  void done() {
    last_ = clock_();
    cost_ = last_ - asked_;
    sampled_ = last_;
  }

 private:
  static constexpr double kUnwatched = 10;
  static constexpr double kWatched = 1;
  static constexpr double kCheckInterval = 0.25;
  static constexpr double kForget = 5;  // a watcher touches the mark every second
  static constexpr double kShare = 20;
  static constexpr double kReadable = 1.9;  // 0.1 s margin
  static constexpr double kMinShare = 4;

  static double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  WatchMark mark_;
  Clock clock_;
  double last_;          // last flush
  double sampled_;       // last sample
  double looked_;        // last check of the mark
  double asked_ = 0;     // last call of due()
  double touched_ = -1;  // last change of the mark; negative: never
  double cost_ = 0;      // of the last flush
};

}  // namespace farfault::cli
