// SPDX-License-Identifier: Apache-2.0
// Faulted accesses alone: capacity, order, and no lost access.
#include "farfault/parts/faulted_accesses.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace faulted_accesses_test {

using namespace farfault;

namespace {

using Numbers = std::vector<std::uint32_t>;

// Takes all accesses that must be looked up again.
Numbers take_all(FaultedAccesses<std::uint32_t>& f) {
  Numbers all;
  for (; !f.again().empty(); f.again().pop()) all.push_back(f.again().front());
  return all;
}
auto const kNothing = [](std::uint32_t) {};

}  // namespace

TEST_CASE(
    "faulted accesses: a replay releases a page's accesses in order, and pages in the order of replays") {
  FaultedAccesses<std::uint32_t> f(4, 8, 0, 0);
  f.park(70, 1);
  f.park(71, 2);
  f.park(70, 3);
  CHECK(f.holds(70));
  CHECK_FALSE(f.holds(72));
  CHECK(f.pages() == 2);
  CHECK(f.accesses() == 3);
  Numbers replayed;
  f.replay(71, [&](std::uint32_t n) { replayed.push_back(n); });
  f.replay(72, [&](std::uint32_t n) { replayed.push_back(n); });
  f.replay(70, [&](std::uint32_t n) { replayed.push_back(n); });
  CHECK(replayed == Numbers{2, 1, 3});
  CHECK_FALSE(f.holds(70));
  CHECK(f.accesses() == 0);
  CHECK(take_all(f) == Numbers{2, 1, 3});
}

TEST_CASE("faulted accesses: limits on pages and on accesses, with a reserve for late ones") {
  FaultedAccesses<std::uint32_t> by_page(2, 100, 1, 0);
  CHECK(by_page.has_room());
  by_page.park(1, 1);
  CHECK(by_page.has_room());
  by_page.park(2, 2);
  CHECK_FALSE(by_page.has_room());
  by_page.park(3, 3);  // was in flight
  by_page.replay(1, kNothing);
  CHECK_FALSE(by_page.has_room());
  by_page.replay(2, kNothing);
  CHECK(by_page.has_room());

  FaultedAccesses<std::uint32_t> by_access(9, 2, 0, 1);
  by_access.park(1, 1);
  CHECK(by_access.has_room());
  by_access.park(1, 2);
  CHECK_FALSE(by_access.has_room());
  by_access.park(1, 3);
  by_access.replay(1, kNothing);
  CHECK(by_access.has_room());
  CHECK(take_all(by_access) == Numbers{1, 2, 3});
}

TEST_CASE("faulted accesses: a replay of all pages serves requesters round-robin, oldest access first") {
  // The tens digit is the requester. Requester 2 stalls first and has three accesses; 1 has two accesses to
  // one page.
  auto const requester = [](std::uint32_t n) { return n / 10; };
  FaultedAccesses<std::uint32_t> f(4, 8, 0, 0);
  f.park(70, 20);
  f.park(71, 21);
  f.park(72, 10);
  f.park(70, 22);
  f.park(72, 11);
  f.park(73, 30);
  Numbers order, replayed;
  f.each_round_robin(requester, [&](std::uint64_t, std::uint32_t n) { order.push_back(n); });
  CHECK(order == Numbers{20, 10, 30, 21, 11, 22});
  f.replay_all(requester, [&](std::uint32_t n) { replayed.push_back(n); });
  CHECK(replayed == order);
  CHECK(f.pages() == 0);
  CHECK(f.accesses() == 0);
  CHECK(take_all(f) == order);
  // Page 70 is now mapped. The others fault again, and 2, whose access stalls last, is last.
  for (auto const n : order)
    if (n != 20 && n != 22) f.park(n == 21 ? 71 : n == 30 ? 73 : 72, n);
  f.replay_all(requester, kNothing);
  CHECK(take_all(f) == Numbers{10, 30, 21, 11});
}

TEST_CASE("faulted accesses: an access stalled repeatedly is released as often as it was stalled") {
  FaultedAccesses<std::uint32_t> f(6, 40, 0, 0);
  std::map<std::uint32_t, std::uint64_t> page_of;
  std::mt19937 random(3);
  std::uint32_t next = 0;
  std::uint64_t left = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0 && f.has_room()) {
      page_of[next] = random() % 9;
      f.park(page_of[next], next);
      ++next;
    } else {
      f.replay(random() % 9, kNothing);
      std::set<std::uint64_t> seen;
      for (auto const n : take_all(f)) {
        seen.insert(page_of.at(n));
        if (random() % 4 == 0) {
          f.park(page_of.at(n), n);  // not mapped yet
        } else {
          page_of.erase(n);
          ++left;
        }
      }
      CHECK(seen.size() <= 1);
    }
    CHECK(f.accesses() == page_of.size());
  }
  CHECK(left + page_of.size() == next);
  CHECK(left > 1000);
}

TEST_CASE("faulted accesses: the accesses of a settled page are released in order, for good") {
  FaultedAccesses<std::uint32_t> f(1, 8, 0, 0);
  f.park(70, 1);
  f.park(70, 3);
  Numbers gone;
  f.settle(71, [&](std::uint32_t n) { gone.push_back(n); });
  CHECK(gone.empty());
  f.settle(70, [&](std::uint32_t n) { gone.push_back(n); });
  CHECK(gone == Numbers{1, 3});
  CHECK_FALSE(f.holds(70));
  CHECK(f.has_room());
  CHECK(f.again().empty());
}

}  // namespace faulted_accesses_test
