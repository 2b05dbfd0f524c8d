// SPDX-License-Identifier: Apache-2.0
// Private: the times at which the statistics are sampled.
//
// - The interval doubles after `doubling` samples, which bounds their number: about doubling x
//   log2(simulated time / interval / doubling). 0: it never doubles.
// - Below 10 us, it also doubles when samples exceed 5% of the event loop's work. Sampling, storing and
//   hashing a value takes about an eighth of the instructions of an event: the samples since the last
//   doubling may have two values for five events, plus an allowance. For 4 GPUs with 36 SMs each, the
//   allowance is about 108 samples at the first interval, half of that at the second one and 8 at each later
//   one, so a run of 10 us has 150 samples. For 64 GPUs with 108 SMs each, it is a few samples, then one.
// - The sequence of events and the number of values are functions of the model. The times are therefore equal
//   for any number of threads, ranks and partitions, and in a run and its continuation, which restores the
//   State. The samples of a shorter run are the first ones of a longer run.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "farfault/engine/time.hpp"

namespace farfault::cli {

class SampleSchedule {
 public:
  // Values of samples that take as many instructions as an event.
  static constexpr std::uint64_t kValuesPerEvent = 8;

  struct State {
    Time next{};
    Duration interval{};
    std::uint64_t taken = 0;    // samples since the last doubling
    std::uint64_t events = 0;   // at the last doubling
    std::uint64_t doubled = 0;  // number of doublings
  };

  // `interval` is positive. `values`: of one sample.
  SampleSchedule(Duration interval, std::uint64_t doubling, std::uint64_t values)
      : doubling_(doubling), values_(values), state_{Time{interval}, interval} {}

  // Time::max() if it exceeds the range of Time.
  Time next() const { return state_.next; }
  // The sample at next() is due. `events`: handled before it, on all ranks, since the start of the run.
  void advance(std::uint64_t events) {
    auto& s = state_;
    ++s.taken;
    if (doubles(events) && s.interval <= kLast / 2) {
      s.interval *= 2;
      s.taken = 0;
      s.events = events;
      ++s.doubled;
    }
    s.next = s.interval > Time::max() - s.next ? Time::max() : s.next + s.interval;
  }

  State const& state() const { return state_; }
  void restore(State const& state) { state_ = state; }

 private:
  static constexpr Duration kLast = Time::max().time_since_epoch();
  static constexpr Duration kCoarsest = 10us;  // the number of values does not extend longer intervals
  static constexpr std::uint64_t kShare = 20;  // samples take 1/20 of the event loop's work
  // Allowances, by number of doublings; the last one also for more doublings.
  static constexpr std::array<std::uint64_t, 3> kFreeValues{720'000, 360'000, 60'000};

  bool doubles(std::uint64_t events) const {
    auto const& s = state_;
    if (doubling_ == 0) return false;
    if (s.taken >= doubling_) return true;
    auto const free = kFreeValues[std::min<std::uint64_t>(s.doubled, kFreeValues.size() - 1)];
    auto const paid = (events - s.events) * kValuesPerEvent / kShare;
    return s.interval < kCoarsest && s.taken * values_ > free + paid;
  }

  std::uint64_t doubling_;
  std::uint64_t values_;
  State state_;
};

}  // namespace farfault::cli
