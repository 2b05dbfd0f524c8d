// SPDX-License-Identifier: Apache-2.0
#include "sweep/sweep_work.hpp"

#include <doctest/doctest.h>

namespace sweep_work_test {

using namespace farfault::cli;

TEST_CASE("sweep work: the remaining time is estimated from the share of the first run") {
  SweepWork work(4);  // four equal runs
  CHECK(work.done() == 0);
  work.start(0, 1, 0);
  CHECK_FALSE(work.time_left(10));
  work.report(0, {0, 0.0005});
  CHECK_FALSE(work.time_left(10));
  work.report(0, {0, 0.25});
  CHECK(work.done() == 0.0625);
  CHECK(work.time_left(10) == 150);  // 10 s for a sixteenth of the work
}

TEST_CASE("sweep work: active and completed runs count with their costs") {
  SweepWork work(8);
  work.start(7, 2, 0);
  work.start(3, 2, 0);
  work.end(7);
  work.report(3, {0, 0.5});
  CHECK(work.done() == 0.375);
  CHECK(work.time_left(30) == 50);
  work.end(3);
  work.start(1, 4, 30);
  CHECK(work.done() == 0.5);
  CHECK(work.time_left(40) == 40);
}

TEST_CASE("sweep work: the remaining time is never shorter than that of an active run") {
  SweepWork work(3);
  work.start(0, 1, 0);
  work.start(1, 1, 0);
  work.start(2, 1, 10);
  work.end(0);
  work.end(1);
  work.report(2, {0, 0.125});
  // All runs: 20 * 0.875 / 2.125 s. This run: 10 * 0.875 / 0.125 s.
  CHECK(work.time_left(20) == 70);
}

TEST_CASE("sweep work: the work before a checkpoint is complete, but took none of the time") {
  SweepWork work(2);
  work.start(0, 1, 0);
  work.report(0, {0.5, 0.5});
  CHECK(work.done() == 0.25);
  CHECK_FALSE(work.time_left(10));
  work.report(0, {0.5, 0.75});
  CHECK(work.done() == 0.375);
  CHECK(work.time_left(10) == 50);  // a quarter in 10 s, five quarters left
  work.end(0);
  CHECK(work.done() == 0.5);
  CHECK(work.time_left(20) == 40);
}

TEST_CASE("sweep work: a stopped run waits again, and runs of other processes do not count") {
  SweepWork work(3);
  work.start(0, 1, 0);
  work.report(0, {0, 0.5});
  work.put_back(0);
  CHECK(work.done() == 0);
  CHECK_FALSE(work.time_left(10));
  work.skip(1);
  work.start(1, 1, 10);
  work.end(1);
  CHECK(work.done() == 0.5);
  work.skip(1);
  CHECK(work.done() == 1);
  CHECK(work.time_left(20) == 0);
}

TEST_CASE("sweep work: a share beyond the planned work is the whole work") {
  SweepWork work(2);
  work.start(0, 1, 0);
  work.report(0, {0, 1.5});
  CHECK(work.done() == 0.5);
  work.report(0, {0.75, 0.5});
  CHECK(work.done() == 0.25);
  CHECK_FALSE(work.time_left(10));
}

TEST_CASE("sweep work: a sweep without runs is complete") {
  CHECK(SweepWork(0).done() == 1);
}

}  // namespace sweep_work_test
