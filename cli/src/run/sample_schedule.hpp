// SPDX-License-Identifier: Apache-2.0
// Private: the times at which the statistics are sampled.
//
// - The interval doubles after `doubling` samples, which bounds their number: about doubling x
//   log2(simulated time / interval / doubling). 0: it never doubles.
// - Below 10 us, it also doubles when the samples since the last doubling have more values than the model has
//   handled events since then, plus an allowance. Sampling, storing and hashing a value takes a twentieth of
//   the instructions of an event, so samples stay below 5% of the event loop. The allowance is about 130
//   samples of 4 GPUs with 36 SMs each at the first interval and a third of that at each later one; for 64
//   GPUs with 108 SMs each, it is 3 samples and then 1.
// - The sequence of events and the number of values are functions of the model. The times are therefore equal
//   for any number of threads, ranks and partitions, and in a run and its continuation, which restores the
//   State. The samples of a shorter run are the first ones of a longer run.
#pragma once

#include <cstdint>

#include "farfault/engine/time.hpp"

namespace farfault::cli {

class SampleSchedule {
 public:
  // Values of samples that take as many instructions as an event.
  static constexpr std::uint64_t kValuesPerEvent = 20;

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
  static constexpr std::uint64_t kFirstValues = 1'500'000, kLaterValues = 500'000;  // allowances

  bool doubles(std::uint64_t events) const {
    auto const& s = state_;
    if (doubling_ == 0) return false;
    if (s.taken >= doubling_) return true;
    auto const allowance = s.doubled == 0 ? kFirstValues : kLaterValues;
    return s.interval < kCoarsest && s.taken * values_ > allowance + (events - s.events);
  }

  std::uint64_t doubling_;
  std::uint64_t values_;
  State state_;
};

}  // namespace farfault::cli
