// SPDX-License-Identifier: Apache-2.0
// The cost of a round, counted, and how threads share it.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "ring_model.hpp"
#include "workers.hpp"

namespace rounds_test {

using namespace farfault;

namespace {

// Lanes that the leader inspects per round if the first of every `every` lanes has events.
double polls_per_round(std::uint32_t lanes, std::uint32_t every) {
  ring::Model model({.places = lanes, .every = every});
  auto const transport = make_single_transport();
  Engine engine(model.system, model.placement(lanes), {.merge_lanes = false, .run_sparse_merged = false},
                *transport);
  engine.run_until(Time{20us});
  auto const profile = engine.profile();
  return static_cast<double>(profile.leader_polls) / static_cast<double>(profile.rounds);
}

}  // namespace

TEST_CASE("the leader's work in a round grows with the active lanes, not with all lanes") {
  auto const few = polls_per_round(64, 8);
  CHECK(polls_per_round(512, 64) < 1.2 * few);
  CHECK(polls_per_round(2048, 256) < 1.2 * few);
}

TEST_CASE(
    "the leader's work in a round grows with the lanes, not with their square, if all lanes are active") {
  auto const small = polls_per_round(64, 1);
  CHECK(polls_per_round(512, 1) < 1.2 * 8 * small);
}

TEST_CASE("the lanes of a round are taken from the longest to the shortest") {
  Workers workers(1, 8, false);
  std::vector<std::uint32_t> taken;
  workers.run([&] {
    std::vector<Workers::Turn> const turns{{0, 1}, {1, 0}, {3, 900}, {4, 5}, {6, 70}, {7, 1'000'000'000}};
    workers.round(turns, [&](std::uint32_t task) { taken.push_back(task); });
    workers.round(std::vector<Workers::Turn>{{2, 0}, {5, 0}},
                  [&](std::uint32_t task) { taken.push_back(task); });
  });
  CHECK(taken == std::vector<std::uint32_t>{7, 3, 6, 4, 0, 1, 2, 5});
}

TEST_CASE("each lane of a round runs once, for any participating lanes and late threads") {
  constexpr std::uint32_t kTasks = 24;
  for (std::uint32_t const threads : {2U, 4U}) {
    Workers workers(threads, kTasks, false);
    std::vector<std::atomic<std::uint32_t>> ran(kTasks);
    std::vector<std::uint32_t> expected(kTasks);
    bool each_once = true;
    workers.run([&] {
      for (std::uint32_t round = 1; round <= 3000; ++round) {
        std::vector<Workers::Turn> turns;
        for (std::uint32_t i = 0; i < kTasks; ++i)
          if ((round * 2654435761U >> (i % 16)) % 3 == 0) turns.push_back({i, round * i % 97});
        if (turns.empty()) continue;
        for (auto const& turn : turns) ++expected[turn.task];
        workers.round(turns, [&](std::uint32_t task) { ++ran[task]; });
        each_once = each_once && std::equal(ran.begin(), ran.end(), expected.begin());
      }
    });
    CHECK(each_once);
  }
}

}  // namespace rounds_test
