// SPDX-License-Identifier: Apache-2.0
// For how long something has been in which of a few states, in picoseconds; what is under way counts too.
//
//   TimeByState<SmDoes, 8> doing;   // in the first state from time zero on, or the one given
//   doing.change(now, SmDoes::executes);
//   doing.advance(at);              // before it is read, at a sample (Component::settle)
//   doing.in(SmDoes::executes)
//
// PartTime has two: set(now, true) when something begins and set(now, false) when it ends, also where it is
// so already; ps() is for how long it was so.
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
  // From `now` on it is `what`.
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
  // True where it is so still.
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
