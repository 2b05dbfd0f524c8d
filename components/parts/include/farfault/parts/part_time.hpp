// SPDX-License-Identifier: Apache-2.0
// Time spent in each of a few states, in picoseconds, including the current interval.
//
//   TimeByState<SmActivity, 8> doing;   // the first state from time zero on, or the given one
//   doing.change(now, SmActivity::active);
//   doing.advance(at);              // before a sample reads it (Component::settle)
//   doing.in(SmActivity::active)
//
// PartTime has two states: set(now, true) starts an interval, set(now, false) ends it; repeated calls have no
// effect. ps() is the total of the intervals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "farfault/engine/time.hpp"

namespace farfault {

template <class What, std::size_t N>
class TimeByState {
 public:
  TimeByState() = default;
  explicit TimeByState(What first) : now_(static_cast<std::uint64_t>(first)) {}

  std::uint64_t in(What what) const { return spent_[static_cast<std::size_t>(what)]; }
  std::array<std::uint64_t, N> const& all() const { return spent_; }
  What now() const { return static_cast<What>(now_); }
  void advance(Time now) {
    spent_[now_] += static_cast<std::uint64_t>(picoseconds(now - since_));
    since_ = now;
  }
  // Enters state `what` at `now`.
  void change(Time now, What what) {
    if (what == this->now()) return;
    advance(now);
    now_ = static_cast<std::uint64_t>(what);
  }
  auto members() { return std::tie(spent_, since_, now_); }

 private:
  std::array<std::uint64_t, N> spent_{};
  Time since_{};
  std::uint64_t now_ = 0;
};

class PartTime {
 public:
  std::uint64_t ps() const { return ps_; }
  bool is_on() const { return on_ != 0; }
  void set(Time now, bool on) {
    if (on == is_on()) return;
    settle(now);
    on_ = on ? 1 : 0;
  }
  // True while an interval is open.
  bool settle(Time at) {
    if (is_on()) ps_ += static_cast<std::uint64_t>(picoseconds(at - since_));
    since_ = at;
    return is_on();
  }
  auto members() { return std::tie(ps_, since_, on_); }

 private:
  std::uint64_t ps_ = 0;
  Time since_{};
  std::uint64_t on_ = 0;
};

}  // namespace farfault
