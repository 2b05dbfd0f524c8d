// SPDX-License-Identifier: Apache-2.0
// A model made of ties: counters that exchange numbers on one coarse clock. Many messages from several
// senders reach one counter at the same time, and the counter's next action depends on their order. Any order
// other than the documented one changes its digest.
#pragma once

#include <string>
#include <vector>

#include "farfault/engine/engine.hpp"

namespace tied {

struct Number {
  std::uint64_t value;
};
struct CounterSpec {
  std::uint32_t counters = 0;
};
struct CounterState {
  std::uint64_t seen = 0;
};

class Counter final : public farfault::Component<CounterSpec, CounterState> {
 public:
  using Component::Component;
  farfault::In<Number> number_in = in<&Counter::on_number>("in");
  farfault::Out<Number> number_out = out<Number>("out");
  farfault::Self<Number> begin = timer<&Counter::on_number>("begin");
  std::string_view kind() const override { return "counter"; }

  void on_number(Number const& n, Cx& cx) const {
    auto& seen = cx.state().seen;
    seen = (seen ^ n.value) * 0x9E3779B97F4A7C15ULL;
    auto const next = static_cast<std::uint32_t>((seen >> 32) % spec().counters);
    cx.send(number_out, next, Number{seen >> 7});
  }
};

// The digest after `ticks` of the clock, with counter i in partition i % partitions.
inline std::uint64_t digest(std::uint32_t partitions, farfault::EngineOptions options, int ticks) {
  constexpr std::uint32_t kCounters = 8;
  constexpr std::uint32_t kNumbers = 4;  // of each counter
  farfault::System system;
  std::vector<Counter*> counters;
  std::vector<farfault::In<Number>> ins;
  farfault::Placement placement;
  placement.partitions = partitions;
  for (std::uint32_t i = 0; i < kCounters; ++i) {
    counters.push_back(&system.add<Counter>("counter" + std::to_string(i), {kCounters}));
    ins.push_back(counters.back()->number_in);
    placement.partition_of.push_back(i % partitions);
  }
  auto const family = system.family(ins);
  for (std::uint32_t i = 0; i < kCounters; ++i) {
    system.connect(counters[i]->number_out, family, farfault::Latency{farfault::Duration{10'000}});
    for (std::uint32_t k = 0; k < kNumbers; ++k)
      system.post(counters[i]->begin, Number{i * kNumbers + k + 1},
                  farfault::Time{farfault::Duration{10'000}});
  }
  auto const transport = farfault::make_single_transport();
  farfault::Engine engine(system, placement, options, *transport);
  engine.run_until(farfault::Time{ticks * farfault::Duration{10'000}});
  return engine.state_digest();
}

}  // namespace tied
