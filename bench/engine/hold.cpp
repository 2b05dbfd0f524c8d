// SPDX-License-Identifier: Apache-2.0
// The hold model: a queue of N events that repeatedly returns the first event and receives a later one.
// Compares the engine's EventQueue with std::priority_queue, with the same 64-byte events in the same order.
//
// Delays: lookahead + exponential, the lookahead 0.1 of the mean (1 us); drawn in advance, so that only the
// queue is measured. The reported time is for one pop and one push.
#include <benchmark/benchmark.h>

#include <cmath>
#include <queue>
#include <random>
#include <vector>

#include "farfault/engine/event_queue.hpp"

namespace {

using namespace farfault;

constexpr Duration kMean = 1us;
constexpr Duration kLookahead = 100ns;

class Delays {
 public:
  Delays() {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> exponential(1.0 /
                                                      static_cast<double>((kMean - kLookahead).count()));
    for (auto& d : delays_) d = kLookahead + Duration{static_cast<std::int64_t>(exponential(random))};
  }
  Duration next() { return delays_[next_++ % kCount]; }

 private:
  static constexpr std::size_t kCount = 1 << 16;  // half a megabyte
  std::vector<Duration> delays_ = std::vector<Duration>(kCount);
  std::size_t next_ = 0;
};

// Both queues: push(event), and hold(n, delays), which n times pops the first event and pushes it later.
class Wheel {
 public:
  void push(Event const& e) { queue_.push(e); }
  void hold(std::uint64_t n, Delays& delays) {
    queue_.run(
        EventQueue::kNever, n,
        [&](Event const& first) {
          auto next = first;
          next.when += delays.next();
          ++next.sequence;
          queue_.push(next);
        },
        [](PortId) {}, [](PortId) {});
  }

 private:
  EventQueue queue_{kLookahead};
};

class BinaryHeap {
 public:
  void push(Event const& e) { queue_.push(e); }
  void hold(std::uint64_t n, Delays& delays) {
    for (; n > 0; --n) {
      auto next = queue_.top();
      queue_.pop();
      next.when += delays.next();
      ++next.sequence;
      queue_.push(next);
    }
  }

 private:
  struct Later {
    bool operator()(Event const& a, Event const& b) const { return precedes(b, a); }
  };
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
};

template <class Queue>
void hold(benchmark::State& state) {
  constexpr std::uint64_t kBatch = 1024;
  auto const pending = static_cast<std::uint32_t>(state.range(0));
  Delays delays;
  Queue queue;
  for (std::uint32_t i = 0; i < pending; ++i) {
    Event e{};
    e.when = Time{} + delays.next();
    e.to = i;
    e.from = i;
    queue.push(e);
  }
  queue.hold(std::uint64_t{2} * pending, delays);  // to the steady state, and every event touched
  while (state.KeepRunningBatch(kBatch)) queue.hold(kBatch, delays);
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_TEMPLATE(hold, Wheel)->RangeMultiplier(10)->Range(1000, 1'000'000);
BENCHMARK_TEMPLATE(hold, BinaryHeap)->RangeMultiplier(10)->Range(1000, 1'000'000);

}  // namespace

BENCHMARK_MAIN();
