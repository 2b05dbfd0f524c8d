// SPDX-License-Identifier: Apache-2.0
// Access counters at capacity: more regions than counters, and more notifications than entries of the buffer.
#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <vector>

#include "choices.hpp"
#include "farfault/fabric/access_counters.hpp"

namespace limited_counters_test {

using namespace farfault;

namespace {

constexpr std::uint64_t kRegion = 64 << 10;
constexpr std::uint32_t kMost = 1 << 20;  // counters, and entries of the buffer

AccessCounterParams with(std::uint32_t counters, std::uint32_t threshold,
                         std::uint32_t notifications = 4096) {
  AccessCounterParams p;
  p.granularity = ByteSize{kRegion};
  p.counters = counters;
  p.threshold = threshold;
  p.notifications = notifications;
  return p;
}
// An access to region n of a peer's memory. True: a notification.
bool access(AccessCounters& c, std::uint64_t n, std::uint32_t peer = 0) {
  return c.count(peer, n * kRegion, 1).has_value();
}
std::uint32_t count_of(AccessCounters const& c, std::uint64_t n, std::uint32_t peer = 0) {
  return c.count_of(peer, n * kRegion);
}

}  // namespace

TEST_CASE("limited counters: by default the number is unlimited, and the state has no table") {
  CHECK(AccessCounterParams{}.counters == 0);
  CounterTable table;
  CHECK_FALSE(table.is_limited());
  std::vector<std::byte> saved;
  Saver save(saved);
  save(table);
  CHECK(saved.empty());
  AccessCounters c(with(0, 2), 1);
  for (std::uint64_t n = 0; n < 1000; ++n) CHECK(!access(c, n));
  for (std::uint64_t n = 0; n < 1000; ++n) CHECK(access(c, n));
  CHECK(c.dropped_counters() == 0);
}

TEST_CASE(
    "limited counters: as many regions as counters are counted, and one more takes the oldest counter") {
  for (std::uint32_t const n : {1U, 2U, 7U, kMost}) {
    CAPTURE(n);
    AccessCounters c(with(n, 3), 1);
    for (int round = 0; round < 2; ++round)
      for (std::uint64_t r = 0; r < n; ++r) REQUIRE(!access(c, r));
    CHECK(c.counts().regions == n);
    CHECK(c.dropped_counters() == 0);
    CHECK(!access(c, n));
    CHECK(c.dropped_counters() == 1);
    CHECK(c.counts().regions == n);
    CHECK(count_of(c, 0) == 0);
    CHECK(count_of(c, n) == 1);
    if (n == 1) continue;
    CHECK(count_of(c, 1) == 2);
    CHECK(access(c, n - 1));  // its counter has kept the count
  }
}

TEST_CASE("limited counters: in turns over one region more than counters, every access drops a counter") {
  for (std::uint32_t const n : {1U, 2U, 5U}) {
    CAPTURE(n);
    constexpr std::uint64_t kRounds = 20;
    AccessCounters c(with(n, 2), 1);
    for (std::uint64_t i = 0; i < kRounds * (n + 1); ++i) CHECK(!access(c, i % (n + 1)));
    CHECK(c.dropped_counters() == kRounds * (n + 1) - n);
    CHECK(c.counts().regions == n);
    CHECK(c.counts().notifications == 0);
  }
}

TEST_CASE("limited counters: the region accessed last keeps its counter, whenever it got it") {
  AccessCounters c(with(3, 100), 1);
  for (std::uint64_t const n : {0, 1, 2, 0, 3}) access(c, n);  // region 1 loses
  CHECK(count_of(c, 0) == 2);
  CHECK(count_of(c, 1) == 0);
  CHECK(count_of(c, 2) == 1);
  access(c, 1);  // region 2 loses
  CHECK(count_of(c, 0) == 2);
  CHECK(count_of(c, 2) == 0);
  CHECK(count_of(c, 3) == 1);
  CHECK(c.dropped_counters() == 2);
}

TEST_CASE("limited counters: all peers share the counters") {
  AccessCounters c(with(2, 100), 3);
  access(c, 7, 0);
  access(c, 7, 2);
  CHECK(c.dropped_counters() == 0);
  access(c, 7, 1);
  CHECK(c.dropped_counters() == 1);
  CHECK(count_of(c, 7, 0) == 0);
  CHECK(count_of(c, 7, 1) == 1);
  CHECK(count_of(c, 7, 2) == 1);
}

TEST_CASE("limited counters: a counter dropped one access below its threshold begins from zero") {
  for (std::uint32_t const threshold : {2U, 256U, 65'535U}) {
    CAPTURE(threshold);
    AccessCounters c(with(1, threshold), 1);
    CHECK(!c.count(0, 0, threshold - 1));
    CHECK(!access(c, 1));
    CHECK(!c.count(0, 0, threshold - 1));
    CHECK(count_of(c, 0) == threshold - 1);
    CHECK(access(c, 0));
    CHECK(c.dropped_counters() == 2);
  }
}

TEST_CASE("limited counters: a dropped counter loses its accessed sub-regions") {
  auto params = with(1, 2);
  params.granularity = ByteSize{std::uint64_t{2} << 20};
  AccessCounters c(params, 1);
  CHECK(!c.count(0, 5 * kRegion, 1));
  CHECK(!c.count(0, 2 << 20, 1));
  CHECK(!c.count(0, 9 * kRegion, 1));
  auto const reached = c.count(0, 9 * kRegion, 1);
  REQUIRE(reached);
  CHECK(reached->sub_regions == 1U << 9);
  CHECK(reached->count == 2);
}

TEST_CASE("limited counters: a region that loses its counter after it has notified notifies again") {
  AccessCounters c(with(1, 2), 1);
  access(c, 0);
  CHECK(access(c, 0));
  access(c, 1);  // the notification of region 0 is unread
  CHECK(c.unread() == 1);
  CHECK(!access(c, 0));
  CHECK(access(c, 0));
  CHECK(c.unread() == 2);
  CHECK(c.counts().notifications == 2);
  c.read(2);
  // The driver clears the region once per notification. The second clear finds no counter.
  c.clear(0, 0);
  c.clear(0, 0);
  CHECK(c.counts().cleared == 1);
  CHECK(c.counts().regions == 0);
  CHECK(!access(c, 0));
  CHECK(access(c, 0));
}

TEST_CASE("limited counters: clearing a dropped counter has no effect on the region that has it") {
  AccessCounters c(with(1, 3), 1);
  for (int i = 0; i < 3; ++i) access(c, 0);
  for (int i = 0; i < 2; ++i) access(c, 1);
  c.clear(0, 0);
  CHECK(c.counts().cleared == 0);
  CHECK(c.counts().regions == 1);
  CHECK(count_of(c, 1) == 2);
  CHECK(access(c, 1));
  CHECK(c.dropped_counters() == 1);
}

TEST_CASE("limited counters: a clear frees the counter, so that the next region drops none") {
  AccessCounters c(with(2, 1), 1);
  CHECK(access(c, 0));
  CHECK(access(c, 1));
  c.clear(0, 0);
  CHECK(access(c, 2));
  CHECK(c.dropped_counters() == 0);
  CHECK(access(c, 3));  // region 1 loses, which was accessed before region 2
  CHECK(c.dropped_counters() == 1);
  CHECK(count_of(c, 1) == 0);
  CHECK(count_of(c, 2) == 1);
}

TEST_CASE(
    "notification buffer: of more notifications than entries, the later ones are lost, to the last one") {
  for (std::uint32_t const entries : {1U, 2U, 4096U, kMost}) {
    CAPTURE(entries);
    AccessCounters c(with(0, 1, entries), 1);
    for (std::uint64_t n = 0; n < entries; ++n) REQUIRE(access(c, n));
    CHECK(c.unread() == entries);
    for (std::uint64_t n = entries; n < entries + 3; ++n) CHECK(!access(c, n));
    CHECK(c.counts().notifications == entries);
    CHECK(c.counts().dropped == 3);
    c.read(1);
    CHECK(access(c, entries + 3));
    CHECK(!access(c, entries));  // lost: no entry is free, and the region would be silent if one were
    c.read(entries);
    CHECK(c.unread() == 0);
    CHECK(!access(c, entries));
    CHECK(c.counts().dropped == 3);
  }
}

TEST_CASE("notification buffer: a region with a lost notification counts on in silence until it saturates") {
  AccessCounters c(with(0, 2, 1), 1);
  for (int i = 0; i < 2; ++i) access(c, 0);
  for (int i = 0; i < 70'000; ++i) CHECK(!access(c, 1));
  CHECK(count_of(c, 1) == AccessCounters::kLargestCount);
  CHECK(c.counts().dropped == 1);
  CHECK(c.counts().regions == 2);
}

TEST_CASE(
    "notification buffer: a region with a lost notification is reported after it has lost its counter") {
  AccessCounters c(with(2, 1, 1), 1);
  CHECK(access(c, 0));
  CHECK(!access(c, 1));  // lost
  CHECK(c.counts().dropped == 1);
  c.read(1);
  CHECK(!access(c, 1));
  access(c, 0);
  CHECK(access(c, 2));  // takes region 1's counter
  c.read(1);
  CHECK(access(c, 1));
  CHECK(c.counts().notifications == 3);
  CHECK(c.counts().dropped == 1);
}

TEST_CASE("limited counters: random accesses, reads and clears, as with a list of the counted regions") {
  struct Counted {
    std::uint32_t peer;
    std::uint64_t number;
    std::uint32_t count = 0;
    bool silent = false;
  };
  for (std::uint32_t const limit : {1U, 3U, 8U, 100U}) {
    CAPTURE(limit);
    std::mt19937 random(51 + limit);
    AccessCounters c(with(limit, 2, 3), 2);
    std::list<Counted> order;  // least recently used first
    std::map<std::pair<std::uint32_t, std::uint64_t>, bool> accessed;
    std::uint64_t unread = 0, sent = 0, lost = 0, cleared = 0, dropped = 0;
    for (int i = 0; i < 20'000; ++i) {
      auto const peer = static_cast<std::uint32_t>(random() % 2);
      auto const number = random() % 4 == 0 ? random() % 12 : random() % 3;
      auto const at =
          std::ranges::find_if(order, [&](Counted const& r) { return r.peer == peer && r.number == number; });
      auto const what = random() % 16;
      if (what == 0 && accessed[{peer, number}]) {
        c.clear(peer, number * kRegion);
        if (at == order.end()) continue;
        order.erase(at);
        ++cleared;
      } else if (what == 1 && unread != 0) {
        c.read(1);
        --unread;
      } else {
        accessed[{peer, number}] = true;
        auto region = at != order.end() ? *at : Counted{peer, number};
        if (at != order.end()) {
          order.erase(at);
        } else if (order.size() == limit) {
          order.pop_front();
          ++dropped;
        }
        ++region.count;
        bool const is_due = region.count >= 2 && !region.silent;
        bool const fits = unread < 3;
        region.silent = region.silent || is_due;
        order.push_back(region);
        REQUIRE(access(c, number, peer) == (is_due && fits));
        if (is_due) ++(fits ? sent : lost);
        unread += is_due && fits ? 1 : 0;
      }
      REQUIRE(c.unread() == unread);
      REQUIRE(c.counts().regions == order.size());
      for (auto const& r : order) REQUIRE(count_of(c, r.number, r.peer) == r.count);
    }
    CHECK(c.counts().notifications == sent);
    CHECK(c.counts().dropped == lost);
    CHECK(c.counts().cleared == cleared);
    CHECK(c.dropped_counters() == dropped);
    CHECK((sent > 100 && lost > 100 && cleared > 100));
    CHECK((dropped > 100) == (limit != 100));
  }
}

TEST_CASE("limited counters: as many counters as regions act as unlimited ones") {
  std::mt19937 random(3);
  AccessCounters limited(with(10, 4, 2), 1), unlimited(with(0, 4, 2), 1);
  for (int i = 0; i < 5'000; ++i) {
    auto const n = random() % 10;
    if (random() % 8 == 0 && unlimited.count_of(0, n * kRegion) != 0) {
      limited.clear(0, n * kRegion);
      unlimited.clear(0, n * kRegion);
    }
    if (unlimited.unread() == 2) {
      limited.read(1);
      unlimited.read(1);
    }
    REQUIRE(access(limited, n) == access(unlimited, n));
  }
  CHECK(limited.dropped_counters() == 0);
  CHECK(limited.counts().cleared == unlimited.counts().cleared);
  CHECK(limited.counts().notifications == unlimited.counts().notifications);
}

TEST_CASE("limited counters: a saved and loaded object drops the same counters") {
  AccessCounters a(with(2, 3), 2), b(with(2, 3), 2);
  for (std::uint64_t const n : {4, 9, 4}) access(a, n, 1);
  test::copy_state(a, b);
  CHECK(test::hash_of(a) == test::hash_of(b));
  access(b, 5);
  CHECK(count_of(b, 4, 1) == 2);
  CHECK(count_of(b, 9, 1) == 0);
  CHECK(b.dropped_counters() == 1);
  CHECK(test::hash_of(a) != test::hash_of(b));
  // The order of use is part of the state.
  AccessCounters c(with(2, 3), 2);
  for (std::uint64_t const n : {4, 4, 9}) access(c, n, 1);
  CHECK(test::hash_of(a) != test::hash_of(c));
}

}  // namespace limited_counters_test
