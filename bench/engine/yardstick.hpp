// SPDX-License-Identifier: Apache-2.0
// The yardstick: PHOLD written directly on the textbook engine, one std::priority_queue of whole 64-byte
// events, without a component interface. The order of events is the engine's, so the digest is the model's.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "phold_model.hpp"

namespace farfault::phold {

class Yardstick {
 public:
  explicit Yardstick(Parameters const& p) : parameters_(p) {
    for (std::uint32_t i = 0; i < p.processes; ++i) {
      states_.push_back({.random = (i + 1) * 0x9E3779B97F4A7C15ULL});
      sequences_.push_back(0);
      std::uint64_t random = (i + 1) * 0xD1B54A32D192ED03ULL;
      for (std::uint32_t k = 0; k < p.start_events; ++k)
        push(i, i, true, Time{Process::lookahead(p) + Process::delay(random, p)});
    }
  }

  std::uint64_t run_until(Time end) {
    std::uint64_t events = 0;
    auto const lookahead = Process::lookahead(parameters_);
    while (!queue_.empty() && queue_.top().when < end) {
      auto const e = queue_.top();
      queue_.pop();
      ++events;
      auto const index = e.to / 2;
      auto const hop = Process::next_hop(states_[index], parameters_, index);
      push(index, hop.to, hop.to == index, e.when + lookahead + hop.extra);
    }
    return events;
  }

  std::uint64_t digest() const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < states_.size(); ++i) sum += Model::process_digest(i, states_[i]);
    return sum;
  }

 private:
  struct Later {
    bool operator()(Event const& a, Event const& b) const { return precedes(b, a); }
  };

  // Each process has two ports per direction, as in the model: 2i for others, 2i + 1 for its own timer.
  void push(std::uint32_t from, std::uint32_t to, bool own, Time when) {
    Event e;
    e.when = when;
    e.sequence = sequences_[from]++;
    e.to = 2 * to + (own ? 1 : 0);
    e.from = 2 * from + (own ? 1 : 0);
    e.payload = {};
    queue_.push(e);
  }

  Parameters parameters_;
  std::vector<ProcessState> states_;
  std::vector<std::uint64_t> sequences_;
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
};

}  // namespace farfault::phold
