// SPDX-License-Identifier: Apache-2.0
// The threads of a round.
#include "workers.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <ctime>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace workers_test {

using namespace farfault;
using namespace std::chrono_literals;

namespace {

// CPU time of all threads of this process.
std::chrono::milliseconds cpu_time() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::milliseconds(t.tv_sec * 1000 + t.tv_nsec / 1'000'000);
}

std::vector<Workers::Turn> all_of(std::uint32_t tasks) {
  std::vector<Workers::Turn> turns;
  for (std::uint32_t i = 0; i < tasks; ++i) turns.push_back({i, 0});
  return turns;
}

}  // namespace

TEST_CASE("threads that wait for the last task of a round yield their cores") {
  for (std::uint32_t const threads : {2U, 4U, 8U}) {
    CAPTURE(threads);
    Workers workers(threads, 8, false);
    auto const before = cpu_time();
    workers.run([&] {
      // The thread that takes the first task sleeps, so all CPU time belongs to waiting threads.
      for (int i = 0; i < 2; ++i)
        workers.round(all_of(8), [](std::uint32_t task) {
          if (task == 0) std::this_thread::sleep_for(500ms);
        });
    });
    CHECK(cpu_time() - before < 250ms);
  }
}

TEST_CASE("threads that wait for a round yield their cores") {
  Workers workers(8, 8, false);
  auto const before = cpu_time();
  workers.run([&] {
    workers.round(all_of(8), [](std::uint32_t) {});
    std::this_thread::sleep_for(1s);
    workers.round(all_of(8), [](std::uint32_t) {});
  });
  CHECK(cpu_time() - before < 250ms);
}

TEST_CASE("an exception of a task ends the run with it, on any thread") {
  for (std::uint32_t const threads : {1U, 2U, 4U}) {
    Workers workers(threads, 8, false);
    for (std::uint32_t failing = 0; failing < 8; ++failing) {
      int rounds = 0;
      CHECK_THROWS_AS(workers.run([&] {
        for (;; ++rounds)
          workers.round(all_of(8), [&](std::uint32_t task) {
            if (rounds == 3 && task == failing) throw std::bad_alloc();
          });
      }),
                      std::bad_alloc);
      CHECK(rounds == 3);
    }
    // The threads can be reused afterwards.
    std::vector<int> ran(8);
    workers.run([&] { workers.round(all_of(8), [&](std::uint32_t task) { ++ran[task]; }); });
    CHECK(ran == std::vector<int>(8, 1));
  }
}

}  // namespace workers_test
