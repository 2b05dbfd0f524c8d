// Private: when a run writes its samples out, so that others can read them.
//
// Every 10 s. While somebody watches, often enough that a sample can be read a second after it was taken, but
// never for more than a twentieth of the time: a flush of a large machine takes seconds.
#pragma once

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
    return watched && since >= kShare * cost_ && since + next > kWatched;
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
