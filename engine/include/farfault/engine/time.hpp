// SPDX-License-Identifier: Apache-2.0
// Simulated time: integer picoseconds, as std::chrono types.
//
// Guarantees: a time point and a duration are different types (Time + Time does not compile); 5ns converts to
// a Duration and a bare 5 does not; only Clock rounds, as documented below. Range: +-106 days
// of simulated time.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace farfault {

using namespace std::chrono_literals;

using Duration = std::chrono::duration<std::int64_t, std::pico>;

struct SimClock {
  using rep = std::int64_t;
  using period = std::pico;
  using duration = Duration;
  using time_point = std::chrono::time_point<SimClock>;
  static constexpr bool is_steady = true;
};
using Time = SimClock::time_point;

constexpr std::int64_t picoseconds(Duration d) {
  return d.count();
}
constexpr std::int64_t picoseconds(Time t) {
  return t.time_since_epoch().count();
}

// The delay of a link or a timer. Positive by construction: it is the lookahead.
class Latency {
 public:
  explicit constexpr Latency(Duration d) : d_(d) {
    if (d <= Duration::zero())
      throw std::invalid_argument("a latency must be greater than zero: it is the lookahead");
  }
  constexpr Duration get() const noexcept { return d_; }

 private:
  Duration d_;
};

// A clock of `hz` edges per second, the first at time zero. Edge n is at floor(n * 1e12 / hz) picoseconds,
// computed from n: a 3 GHz clock never drifts. All rounding of the project is in this class and in Bandwidth.
class Clock {
 public:
  explicit constexpr Clock(std::uint64_t hz) : hz_(hz) {
    if (hz == 0 || hz > kPicosecondsPerSecond)
      throw std::invalid_argument("the frequency of a clock must be 1 Hz to 1 THz");
    auto const common = std::gcd(hz, kPicosecondsPerSecond);
    picoseconds_ = kPicosecondsPerSecond / common;
    edges_ = hz / common;
  }

  constexpr std::uint64_t hertz() const noexcept { return hz_; }

  constexpr Time edge(std::uint64_t n) const noexcept {
    if (edges_ == 1) return Time{Duration{static_cast<std::int64_t>(n * picoseconds_)}};
    return Time{Duration{static_cast<std::int64_t>(scaled(n, picoseconds_, 0, edges_))}};
  }

  // The number of the first edge at or after t.
  constexpr std::uint64_t edge_at_or_after(Time t) const noexcept {
    auto const ps = static_cast<std::uint64_t>(picoseconds(t));
    if (edges_ == 1) return (ps + picoseconds_ - 1) / picoseconds_;
    return scaled(ps, edges_, picoseconds_ - 1, picoseconds_);
  }

  constexpr Time at_or_after(Time t) const noexcept { return edge(edge_at_or_after(t)); }
  constexpr Time after(Time t) const noexcept { return edge(edge_at_or_after(t + Duration{1})); }

  // The duration of n cycles, rounded down once.
  constexpr Duration cycles(std::uint64_t n) const noexcept { return edge(n).time_since_epoch(); }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kPicosecondsPerSecond = 1'000'000'000'000;

  // (n * by + more) / over, in 64 bits if they suffice: usually, and much faster.
  static constexpr std::uint64_t scaled(std::uint64_t n, std::uint64_t by, std::uint64_t more,
                                        std::uint64_t over) noexcept {
    std::uint64_t sum = 0;
    if (!__builtin_mul_overflow(n, by, &sum) && !__builtin_add_overflow(sum, more, &sum)) return sum / over;
    return static_cast<std::uint64_t>((static_cast<Wide>(n) * by + more) / over);
  }

  std::uint64_t hz_;
  // In lowest terms: `edges_` edges take `picoseconds_`.
  std::uint64_t picoseconds_ = 0;
  std::uint64_t edges_ = 0;
};

}  // namespace farfault
