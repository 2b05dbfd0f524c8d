// SPDX-License-Identifier: Apache-2.0
// Time spent in a condition, and the activity of an SM per stream of the blocks that it holds.
#include "farfault/parts/part_time.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "farfault/compute/sm_stats.hpp"

namespace part_time_test {

using namespace farfault;
using namespace std::chrono_literals;

TEST_CASE("part time: it grows while a condition holds, up to the time of settling") {
  PartTime t;
  CHECK_FALSE(t.settle(Time{5ns}));
  t.set(Time{10ns}, true);
  t.set(Time{12ns}, true);
  CHECK(t.settle(Time{15ns}));
  CHECK(t.ps() == 5000);
  t.set(Time{20ns}, false);
  t.set(Time{25ns}, false);
  CHECK_FALSE(t.settle(Time{30ns}));
  CHECK(t.ps() == 10'000);
}

TEST_CASE("time by state: all times sum to the elapsed time") {
  TimeByState<SmActivity, 8> t(SmActivity::idle);
  t.change(Time{10ns}, SmActivity::active);
  t.advance(Time{12ns});
  t.change(Time{15ns}, SmActivity::memory_stall);
  t.advance(Time{40ns});
  CHECK(t.in(SmActivity::idle) == 10'000);
  CHECK(t.in(SmActivity::active) == 5000);
  CHECK(t.in(SmActivity::memory_stall) == 25'000);
  CHECK(std::accumulate(t.all().begin(), t.all().end(), std::uint64_t{0}) == 40'000);
}

TEST_CASE("residents: with one stream it has the SM's activity; with several, each has its slots' activity") {
  ByStream<SmStats> stats(2);
  SmTime sm(SmActivity::idle);
  Residents residents(2);
  auto const in = [&](std::uint32_t stream, SmActivity what) { return stats[stream].resident_in(what); };
  auto const everything = [&](Time now, SmActivity what, std::vector<SmActivity> each = {}) {
    sm.change(now, what);
    if (residents.several())
      residents.change(now, stats,
                       [&](std::uint64_t slots) { return slots == 0b01 ? each.at(0) : each.at(1); });
  };
  residents.advance(Time{10ns}, sm, stats);
  residents.add(0, Time{10ns});
  residents.place(0, 0);
  everything(Time{10ns}, SmActivity::active);
  everything(Time{14ns}, SmActivity::memory_stall);
  residents.advance(Time{20ns}, sm, stats);
  CHECK(in(0, SmActivity::active) == 4000);
  CHECK(in(0, SmActivity::memory_stall) == 6000);
  CHECK(in(0, SmActivity::idle) == 0);
  residents.add(1, Time{20ns});
  residents.place(1, 1);
  CHECK(residents.several());
  everything(Time{20ns}, SmActivity::active, {SmActivity::fault_stall, SmActivity::active});
  everything(Time{25ns}, SmActivity::active, {SmActivity::active, SmActivity::barrier_stall});
  residents.advance(Time{30ns}, sm, stats);
  residents.remove(0);
  CHECK(in(0, SmActivity::fault_stall) == 5000);
  CHECK(in(0, SmActivity::active) == 9000);
  CHECK(in(1, SmActivity::active) == 5000);
  CHECK(in(1, SmActivity::barrier_stall) == 5000);
  everything(Time{30ns}, SmActivity::memory_stall);
  residents.advance(Time{33ns}, sm, stats);
  residents.remove(1);
  CHECK(in(1, SmActivity::memory_stall) == 3000);
  residents.advance(Time{50ns}, sm, stats);
  auto const sum = [&](std::uint32_t stream) {
    auto const& r = stats[stream].resident;
    return std::accumulate(r.begin(), r.end(), std::uint64_t{0});
  };
  CHECK(sum(0) == 20'000);
  CHECK(sum(1) == 13'000);
}

}  // namespace part_time_test
