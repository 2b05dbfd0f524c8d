// SPDX-License-Identifier: Apache-2.0
// Access counters alone: regions, sub-regions, thresholds, and the notification buffer.
#include "farfault/fabric/access_counters.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "choices.hpp"

namespace access_counters_test {

using namespace farfault;

namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

AccessCounterParams with(std::uint32_t threshold, std::uint64_t granularity = 2 * kMiB,
                         std::uint32_t notifications = 4096) {
  AccessCounterParams p;
  p.threshold = threshold;
  p.granularity = ByteSize{granularity};
  p.notifications = notifications;
  return p;
}

}  // namespace

TEST_CASE("access counters: defaults are as in NVIDIA's driver") {
  AccessCounterParams const p;
  CHECK(p.place == CounterPlace::outbound);
  CHECK(p.granularity == ByteSize{2 * kMiB});
  CHECK(p.threshold == 256);
  CHECK(p.notifications == 4096);
  CHECK(p.notification_bytes == 32);
  CHECK(AccessCounters::kLargestCount == 65'535);
}

TEST_CASE("access counters: a region notifies at exactly the threshold, once, and again after a clear") {
  for (std::uint32_t const threshold : {1U, 2U, 256U, 65'535U}) {
    CAPTURE(threshold);
    AccessCounters c(with(threshold), 3);
    for (int round = 0; round < 2; ++round) {
      for (std::uint32_t i = 1; i < threshold; ++i) REQUIRE(!c.count(1, 4 * kMiB, 1));
      auto const reached = c.count(1, 4 * kMiB, 1);
      REQUIRE(reached);
      CHECK(reached->first == 4 * kMiB);
      CHECK(reached->count == threshold);
      CHECK(!c.count(1, 4 * kMiB, 1));
      c.read(1);
      CHECK(!c.count(1, 4 * kMiB, 1));  // read, but not cleared
      c.clear(1, 4 * kMiB);
      CHECK(c.count_of(1, 4 * kMiB) == 0);
    }
    CHECK(c.counts().notifications == 2);
    CHECK(c.counts().cleared == 2);
    CHECK(c.counts().dropped == 0);
    CHECK(c.counts().regions == 0);
  }
}

TEST_CASE("access counters: a train counts its lines, and a notification has the count that it reached") {
  AccessCounters c(with(10), 1);
  CHECK(!c.count(0, 0, 4));
  CHECK(!c.count(0, 0, 4));
  auto const reached = c.count(0, 0, 4);
  REQUIRE(reached);
  CHECK(reached->count == 12);
}

TEST_CASE("access counters: a count saturates at 65535, also by a train, and still notifies") {
  AccessCounters c(with(65'535), 1);
  for (int i = 0; i < 4'095; ++i) REQUIRE(!c.count(0, 0, 16));
  CHECK(c.count_of(0, 0) == 65'520);
  auto const reached = c.count(0, 0, 16);
  REQUIRE(reached);
  CHECK(reached->count == 65'535);
  CHECK(!c.count(0, 0, 16));
  CHECK(c.count_of(0, 0) == 65'535);
}

TEST_CASE("access counters: regions of each granularity, by peer") {
  for (std::uint64_t const granularity : {64 * kKiB, 2 * kMiB, 16 * kMiB, 16 * kGiB}) {
    CAPTURE(granularity);
    AccessCounters c(with(2, granularity), 2);
    CHECK(!c.count(0, granularity - 64, 1));
    CHECK(!c.count(0, granularity, 1));  // the next region
    CHECK(!c.count(1, granularity, 1));  // of another peer
    CHECK(c.counts().regions == 3);
    auto const reached = c.count(0, 2 * granularity - 64, 1);
    REQUIRE(reached);
    CHECK(reached->first == granularity);
    CHECK(c.count_of(0, granularity + 64) == 2);
    CHECK(c.count_of(1, granularity) == 1);
    CHECK(c.count_of(1, 5 * granularity) == 0);
  }
}

TEST_CASE("access counters: the mask has the accessed ones of 32 sub-regions; 64 KiB are one") {
  struct Case {
    std::uint64_t granularity, sub_region;
  };
  for (auto const [granularity, sub_region] :
       {Case{2 * kMiB, 64 * kKiB}, Case{16 * kMiB, 512 * kKiB}, Case{16 * kGiB, 512 * kMiB}}) {
    CAPTURE(granularity);
    AccessCounters c(with(4, granularity), 1);
    auto const first = 3 * granularity;
    CHECK(!c.count(0, first, 1));
    CHECK(!c.count(0, first + sub_region - 64, 1));
    CHECK(!c.count(0, first + 5 * sub_region, 1));
    auto const reached = c.count(0, first + granularity - 64, 1);
    REQUIRE(reached);
    CHECK(reached->sub_regions == (1U | 1U << 5 | 1U << 31));
    c.clear(0, first);
    CHECK(!c.count(0, first + sub_region, 3));
    CHECK(c.count(0, first + sub_region, 1)->sub_regions == 1U << 1);  // only since the clear
  }
  AccessCounters c(with(2, 64 * kKiB), 1);
  CHECK(!c.count(0, 3 * 64 * kKiB, 1));
  CHECK(c.count(0, 4 * 64 * kKiB - 64, 1)->sub_regions == 1);
}

TEST_CASE("access counters: a full buffer drops a notification, and its region is silent until cleared") {
  AccessCounters c(with(1, 2 * kMiB, 2), 1);
  CHECK(c.count(0, 0, 1));
  CHECK(c.count(0, 2 * kMiB, 1));
  CHECK(c.unread() == 2);
  CHECK(!c.count(0, 4 * kMiB, 1));
  CHECK(c.counts().dropped == 1);
  c.read(2);
  CHECK(c.unread() == 0);
  CHECK(!c.count(0, 4 * kMiB, 1));  // not sent again
  CHECK(c.counts().dropped == 1);
  c.clear(0, 4 * kMiB);
  CHECK(c.count(0, 4 * kMiB, 1));
  CHECK(c.counts().notifications == 3);
  CHECK(c.unread() == 1);
}

TEST_CASE("access counters: random accesses, reads and clears, as with a map of all counts") {
  struct Reference {
    std::uint32_t count = 0, mask = 0;
    bool silent = false;
  };
  std::mt19937 random(5);
  AccessCounters c(with(7, 64 * kKiB, 3), 2);
  std::map<std::pair<std::uint32_t, std::uint64_t>, Reference> regions;
  std::uint64_t unread = 0, dropped = 0, sent = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto const peer = static_cast<std::uint32_t>(random() % 2);
    auto const offset = random() % 40 * (16 * kKiB);
    auto& r = regions[{peer, offset >> 16}];
    auto const what = random() % 16;
    if (what == 0 && r.count != 0) {
      c.clear(peer, offset);
      r = {};
    } else if (what == 1 && unread != 0) {
      c.read(1);
      --unread;
    } else {
      auto const lines = static_cast<std::uint32_t>(1 + random() % 4);
      auto const reached = c.count(peer, offset, lines);
      r.count += lines;
      bool const is_due = r.count >= 7 && !r.silent;
      r.silent = r.silent || is_due;
      bool const fits = unread < 3;
      REQUIRE(reached.has_value() == (is_due && fits));
      if (is_due) ++(fits ? sent : dropped);
      if (reached) ++unread;
    }
    REQUIRE(c.unread() == unread);
  }
  CHECK(c.counts().notifications == sent);
  CHECK(c.counts().dropped == dropped);
  CHECK((sent > 500 && dropped > 100));
}

TEST_CASE("access counters: a saved and loaded object continues as the first one") {
  AccessCounters a(with(5, 64 * kKiB, 1), 2);
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(!a.count(1, 3 * 64 * kKiB, 1));
  AccessCounters b;
  test::copy_state(a, b);
  CHECK(test::hash_of(a) == test::hash_of(b));
  CHECK(b.count(1, 3 * 64 * kKiB, 1)->count == 5);
  CHECK(test::hash_of(a) != test::hash_of(b));
}

}  // namespace access_counters_test
