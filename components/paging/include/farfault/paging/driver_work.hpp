// SPDX-License-Identifier: Apache-2.0
// Time of the driver: its work on faults served one by one and on operations, and on batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "farfault/engine/time.hpp"

namespace farfault {

class DriverWork {
 public:
  DriverWork() = default;
  explicit DriverWork(std::uint32_t at_a_time) : free_at_(at_a_time) {}

  // Queueing time for the driver plus `takes`, which is added to its work.
  Duration busy(Duration takes, Time now) {
    auto& first = *std::ranges::min_element(free_at_);
    first = std::max(first, now) + takes;
    worked_ps_ += static_cast<std::uint64_t>(picoseconds(takes));
    return first - now;
  }
  // The same, but not before the end of earlier work: for pages that leave their frames, because answers
  // with these frames may be part of that work.
  Duration busy_in_order(Duration takes, Time now) {
    busy(takes, now);
    return all_done() - now;
  }
  // End of all work so far.
  Time all_done() const { return *std::ranges::max_element(free_at_); }
  // `waited`: for locks of VA blocks.
  void batch_ended(Duration took, Duration waited) {
    batches_ps_ += static_cast<std::uint64_t>(picoseconds(took));
    lock_wait_ps_ += static_cast<std::uint64_t>(picoseconds(waited));
  }
  std::uint64_t lock_wait_ps() const { return lock_wait_ps_; }

  // Advances busy() to `at`; `batches`: time of the current batches so far. True if it grows without events.
  bool settle(Time at, Duration batches) {
    auto const ps = [](Duration d) {
      return static_cast<std::uint64_t>(picoseconds(std::max(d, Duration{})));
    };
    ahead_ps_ = 0;
    for (auto const free_at : free_at_) ahead_ps_ += ps(free_at - at);
    batch_ps_ = ps(batches);
    return ahead_ps_ != 0;
  }
  // Total, in picoseconds.
  std::uint64_t busy_ps() const {
    return batches_ps_ + batch_ps_ + (worked_ps_ - ahead_ps_) / std::max<std::uint64_t>(free_at_.size(), 1);
  }

  auto members() { return std::tie(free_at_, batches_ps_, worked_ps_, lock_wait_ps_, batch_ps_, ahead_ps_); }

 private:
  std::vector<Time> free_at_;     // by concurrent fault: end of the driver's work on it
  std::uint64_t batches_ps_ = 0;  // completed batches
  std::uint64_t worked_ps_ = 0;   // other faults, including unfinished work
  std::uint64_t lock_wait_ps_ = 0;
  // Updated by settle(): time of the current batches so far, and work that is not finished.
  std::uint64_t batch_ps_ = 0;
  std::uint64_t ahead_ps_ = 0;
};

}  // namespace farfault
