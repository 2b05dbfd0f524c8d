// SPDX-License-Identifier: Apache-2.0
// Time of the driver: faults side by side, and work whose messages must not overtake.
#include "farfault/paging/driver_work.hpp"

#include <doctest/doctest.h>

namespace driver_work_test {

using namespace farfault;

TEST_CASE("driver work: two faults at a time, a third one waits for the first") {
  DriverWork work(2);
  CHECK(work.busy(20us, Time{0us}) == 20us);
  CHECK(work.busy(5us, Time{1us}) == 5us);
  CHECK(work.busy(5us, Time{2us}) == 9us);  // begins at 6 us
  CHECK(work.all_done() == Time{20us});
}

TEST_CASE("driver work: short work in order ends with the long work that began before it") {
  DriverWork work(2);
  CHECK(work.busy(20us, Time{0us}) == 20us);
  CHECK(work.busy_in_order(1us, Time{5us}) == 15us);
  // Its part of the driver is free at 6 us.
  CHECK(work.busy(1us, Time{7us}) == 1us);
  CHECK(work.busy_in_order(30us, Time{8us}) == 30us);
  // 52 us of work, two at a time.
  CHECK(work.busy_ps() == 26'000'000);
}

TEST_CASE("driver work: one fault at a time is in order without more") {
  DriverWork plain(1);
  DriverWork ordered(1);
  for (int i = 0; i < 10; ++i) {
    auto const takes = (i % 3) * 1us;
    auto const now = Time{i * 1us};
    CHECK(plain.busy(takes, now) == ordered.busy_in_order(takes, now));
  }
}

}  // namespace driver_work_test
