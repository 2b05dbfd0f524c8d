// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/event_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace event_queue_test {

using namespace farfault;

namespace {

Event event(std::int64_t when, PortId to, PortId from, std::uint64_t sequence) {
  Event e{};
  e.when = Time{Duration{when}};
  e.to = to;
  e.from = from;
  e.sequence = sequence;
  return e;
}

std::vector<Event> take(EventQueue& q, Time horizon, std::uint64_t limit = ~std::uint64_t{0}) {
  std::vector<Event> out;
  q.run(
      horizon, limit, [&](Event const& e) { out.push_back(e); }, [](PortId) {}, [](PortId) {});
  return out;
}

bool same(Event const& a, Event const& b) {
  return !precedes(a, b) && !precedes(b, a);
}

}  // namespace

TEST_CASE("simultaneous events are ordered by receiving port, sending port, sequence") {
  EventQueue q(1ns);
  q.push(event(5000, 2, 1, 0));
  q.push(event(5000, 1, 9, 4));
  q.push(event(5000, 1, 9, 3));
  q.push(event(5000, 1, 2, 7));
  auto const out = take(q, Time{1us});
  REQUIRE(out.size() == 4);
  CHECK(out[0].from == 2);
  CHECK(out[1].sequence == 3);
  CHECK(out[2].sequence == 4);
  CHECK(out[3].to == 2);
}

TEST_CASE("prefetched ports are ports of later events in the same window, each once") {
  EventQueue q(1ns);
  constexpr std::size_t kEvents = 40;
  for (PortId i = 0; i < kEvents; ++i) q.push(event(5000, 100 + i, 0, i));
  q.push(event(9000, 7, 0, kEvents));
  std::vector<PortId> handled;
  std::vector<std::pair<PortId, std::size_t>> early;  // also the number of events handled before each
  std::vector<std::pair<PortId, std::size_t>> late;
  q.run(
      Time{1us}, ~std::uint64_t{0}, [&](Event const& e) { handled.push_back(e.to); },
      [&](PortId to) { early.emplace_back(to, handled.size()); },
      [&](PortId to) { late.emplace_back(to, handled.size()); });
  REQUIRE(handled.size() == kEvents + 1);
  CHECK(early.size() > kEvents / 2);
  CHECK(late.size() == early.size());
  for (std::size_t i = 0; i < early.size(); ++i) {
    CHECK(early[i].second == i);
    CHECK(late[i].second == i);
    CHECK(i < late[i].first - 100);
    CHECK(late[i].first < early[i].first);
    CHECK(early[i].first < 100 + kEvents);
    if (i > 0) CHECK(late[i].first == late[i - 1].first + 1);
  }
}

TEST_CASE("a queue keeps its events when moved, and is reusable when drained from all levels") {
  EventQueue first(1ns);
  std::vector<Event> all;
  for (unsigned level = 0; level < 5; ++level)
    for (std::uint64_t i = 0; i < 40; ++i)
      all.push_back(event(static_cast<std::int64_t>(2000 + i + (std::uint64_t{3000} << (10 * level))), 1, 1,
                          level * 40 + i));
  for (auto const& e : all) first.push(e);
  auto second = std::move(first);
  CHECK(second.size() == all.size());
  std::vector<std::uint64_t> drained;
  second.drain([&](Event const& e) { drained.push_back(e.sequence); });
  std::ranges::sort(drained);
  REQUIRE(drained.size() == all.size());
  for (std::size_t i = 0; i < drained.size(); ++i) CHECK(drained[i] == i);
  CHECK(second.empty());
  CHECK(second.next_time() == EventQueue::kNever);
  for (auto const& e : all) second.push(e);
  auto const out = take(second, Time{Duration{1} * (std::int64_t{1} << 60)});
  REQUIRE(out.size() == all.size());
  for (std::size_t i = 1; i < out.size(); ++i) CHECK(precedes(out[i - 1], out[i]));
}

TEST_CASE("events at or after the horizon are not returned until the next horizon") {
  EventQueue q(1ns);
  q.push(event(1000, 0, 0, 0));
  q.push(event(1001, 0, 0, 1));
  CHECK(take(q, Time{Duration{1001}}).size() == 1);
  CHECK(q.next_time() == Time{Duration{1001}});
  CHECK(take(q, Time{Duration{1002}}).size() == 1);
  CHECK(q.next_time() == EventQueue::kNever);
}

TEST_CASE("an event can be pushed before windows that were already inspected") {
  EventQueue q(1ns);
  q.push(event(9'000'000, 0, 0, 0));
  CHECK(q.next_time() == Time{9us});
  CHECK(take(q, Time{Duration{9'000'000}}).empty());
  q.push(event(10, 0, 0, 1));
  CHECK(q.next_time() == Time{Duration{10}});
  auto const out = take(q, Time{10us});
  REQUIRE(out.size() == 2);
  CHECK(out[0].sequence == 1);
}

TEST_CASE("the queue pops random loads exactly like a sorted list") {
  std::vector<std::function<EventQueue()>> kinds;
  for (std::int64_t const lookahead : {1, 700, 65536, 3'000'000})
    kinds.push_back([lookahead] { return EventQueue{Duration{lookahead}}; });
  for (std::uint64_t const hertz :
       {1ULL, 953'675ULL, 1'000'000'000ULL, 1'410'000'000ULL, 1'000'000'000'000ULL})
    kinds.push_back([hertz] { return EventQueue(Clock(hertz)); });
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
      CAPTURE(kind);
      CAPTURE(seed);
      std::mt19937_64 random(seed);
      // From many ties to sparse times, over all levels of the wheel.
      std::int64_t const spread = std::int64_t{1} << (4 + 7 * (seed % 6));
      auto q = kinds[kind]();
      std::vector<Event> reference;
      std::uint64_t sequence = 0;
      std::int64_t now = 0;
      auto push = [&] {
        auto const e =
            event(now + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(spread)),
                  static_cast<PortId>(random() % 5), static_cast<PortId>(random() % 3), sequence++);
        q.push(e);
        reference.push_back(e);
      };
      for (int i = 0; i < 500; ++i) push();
      bool equal = true;
      for (int round = 0; round < 60; ++round) {
        now += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(spread / 4 + 2));
        std::sort(reference.begin(), reference.end(), precedes);
        std::size_t popped = 0;
        std::vector<Event> pushed;
        auto const horizon = Time{Duration{now}};
        // Handlers also push events, sometimes at their own time.
        q.run(
            horizon, ~std::uint64_t{0},
            [&](Event const& e) {
              equal = equal && popped < reference.size() && same(reference[popped], e);
              ++popped;
              if (random() % 3 == 0) {
                auto child = event(picoseconds(e.when) + 1 + static_cast<std::int64_t>(random() % 2000), 1, 1,
                                   sequence++);
                q.push(child);
                reference.insert(std::upper_bound(reference.begin(), reference.end(), child, precedes),
                                 child);
              }
            },
            [](PortId) {}, [](PortId) {});
        reference.erase(reference.begin(), reference.begin() + static_cast<std::ptrdiff_t>(popped));
        if (!reference.empty()) equal = equal && reference.front().when >= horizon;
        equal = equal && q.size() == reference.size();
        equal = equal && q.next_time() == (reference.empty() ? EventQueue::kNever : reference.front().when);
        for (int i = 0; i < 20; ++i) push();
      }
      CHECK(equal);
    }
  }
}

TEST_CASE("the queue pops events at the edges of its clock, and just before them, in order") {
  for (std::uint64_t const hertz : {953'675ULL, 1'000'000'000ULL, 1'410'000'000ULL, 3'000'000'000ULL}) {
    CAPTURE(hertz);
    Clock const clock(hertz);
    std::mt19937_64 random(hertz);
    EventQueue q(clock);
    std::vector<Event> reference;
    // Up to 90 days, including times whose windows are rounded.
    for (std::uint64_t first : {0ULL, 1'000'000ULL, 7'000'000'000'000'000'000ULL}) {
      auto const edge = clock.edge_at_or_after(Time{Duration{first}});
      for (std::uint64_t i = 0; i < 2000; ++i) {
        auto const at =
            picoseconds(clock.edge(edge + random() % 300)) - static_cast<std::int64_t>(random() % 3);
        reference.push_back(event(std::max<std::int64_t>(at, 0), static_cast<PortId>(random() % 40), 1, i));
        q.push(reference.back());
      }
    }
    std::sort(reference.begin(), reference.end(), precedes);
    std::size_t popped = 0;
    bool equal = true;
    q.run(
        EventQueue::kNever, ~std::uint64_t{0},
        [&](Event const& e) { equal = equal && popped < reference.size() && same(reference[popped++], e); },
        [](PortId) {}, [](PortId) {});
    CHECK(equal);
    CHECK(popped == reference.size());
  }
}

TEST_CASE("many events of one window pop in order, at any position in the window") {
  for (std::int64_t const step : {1, 3, 256, 1024, 65536}) {
    CAPTURE(step);
    EventQueue q{Duration{1'000'000}};
    std::vector<Event> reference;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      auto const at = (std::int64_t{1} << 30) + static_cast<std::int64_t>(i * 7919 % 5) * step;
      reference.push_back(event(at, static_cast<PortId>(i * 31 % 17), static_cast<PortId>(i % 3), i));
      q.push(reference.back());
    }
    std::sort(reference.begin(), reference.end(), precedes);
    auto const popped = take(q, EventQueue::kNever);
    CHECK(std::equal(popped.begin(), popped.end(), reference.begin(), reference.end(), same));
  }
}

TEST_CASE("draining returns every pending event once and leaves a usable queue") {
  EventQueue q(1ns);
  for (std::uint64_t i = 0; i < 1000; ++i) q.push(event(static_cast<std::int64_t>(i * i * 37), 0, 0, i));
  take(q, Time{Duration{37 * 100 * 100}});
  std::vector<std::uint64_t> seen;
  q.drain([&](Event const& e) { seen.push_back(e.sequence); });
  std::sort(seen.begin(), seen.end());
  REQUIRE(seen.size() == 900);
  CHECK(seen.front() == 100);
  CHECK(seen.back() == 999);
  CHECK(q.empty());
  q.push(event(5, 0, 0, 1));
  CHECK(take(q, Time{1us}).size() == 1);
}

}  // namespace event_queue_test
