// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/time.hpp"

#include <doctest/doctest.h>

#include <type_traits>

namespace time_test {

using namespace farfault;

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};

TEST_CASE("time points and durations are different types") {
  static_assert(!Addable<Time, Time>);
  static_assert(Addable<Time, Duration>);
  static_assert(!std::is_convertible_v<int, Duration>);
  static_assert(std::is_convertible_v<std::chrono::nanoseconds, Duration>);
  CHECK(picoseconds(Duration{5ns}) == 5000);
  CHECK(picoseconds(Time{} + 2us) == 2'000'000);
}

TEST_CASE("a latency of zero or less is rejected") {
  CHECK_THROWS_AS(Latency(Duration{0}), std::invalid_argument);
  CHECK_THROWS_AS(Latency(Duration{-1}), std::invalid_argument);
  CHECK(Latency(Duration{1}).get() == Duration{1});
}

TEST_CASE("a clock needs 1 Hz to 1 THz") {
  CHECK_THROWS_AS(Clock(0), std::invalid_argument);
  CHECK_THROWS_AS(Clock(1'000'000'000'001), std::invalid_argument);
  CHECK(Clock(1).edge(1) == Time{1s});
  CHECK(Clock(1'000'000'000'000).edge(7) == Time{Duration{7}});
}

TEST_CASE("a clock with a fractional period in picoseconds does not drift") {
  Clock const c(3'000'000'000);
  CHECK(picoseconds(c.edge(1)) == 333);
  CHECK(picoseconds(c.edge(2)) == 666);
  CHECK(picoseconds(c.edge(3)) == 1000);
  CHECK(c.edge(3'000'000'000ULL * 3600) == Time{std::chrono::hours{1}});
  CHECK(c.cycles(3) == 1ns);
}

TEST_CASE("a clock is exact after a hundred days, where its products exceed 64 bits") {
  __extension__ using Wide = unsigned __int128;
  for (auto const hertz : {1'000'000'000ULL, 1'410'000'000ULL, 1'683'000'123ULL, 999'999'999'989ULL}) {
    Clock const c(hertz);
    for (auto const ps : {1ULL, 999'999ULL, 130'000'000'000'001ULL, 9'000'000'000'000'000'007ULL}) {
      auto const n = (Wide{ps} * hertz + 999'999'999'999) / 1'000'000'000'000;
      auto const edge = n * 1'000'000'000'000 / hertz;
      CHECK(c.edge_at_or_after(Time{Duration{ps}}) == static_cast<std::uint64_t>(n));
      CHECK(static_cast<std::uint64_t>(picoseconds(c.edge(static_cast<std::uint64_t>(n)))) ==
            static_cast<std::uint64_t>(edge));
    }
  }
}

TEST_CASE("the edge at or after a time is the time itself if it is on an edge") {
  for (auto const hertz : {1'000'000'000ULL, 3'000'000'000ULL, 1'410'000'000ULL, 7ULL}) {
    Clock const c(hertz);
    for (std::uint64_t n = 0; n < 50; ++n) {
      CHECK(c.edge_at_or_after(c.edge(n)) == n);
      CHECK(c.at_or_after(c.edge(n)) == c.edge(n));
      CHECK(c.after(c.edge(n)) == c.edge(n + 1));
      CHECK(c.edge_at_or_after(c.edge(n) + Duration{1}) == n + 1);
    }
  }
}

}  // namespace time_test
