// SPDX-License-Identifier: Apache-2.0
// A model whose links all differ: stations that forward numbers over links of 10 to 97 ns, with a different
// latency for each link and direction. The lookahead then differs between all pairs of lanes, and a slightly
// too long lookahead makes mail arrive in some lane's past.
#pragma once

#include <string>
#include <vector>

#include "farfault/engine/engine.hpp"

namespace uneven {

inline constexpr std::uint32_t kStations = 8;

struct Number {
  std::uint64_t value;
};
struct StationSpec {
  std::uint32_t index = 0;
};
struct StationState {
  std::uint64_t seen = 0;
};

class Station final : public farfault::Component<StationSpec, StationState> {
 public:
  explicit Station(farfault::Slot<StationSpec> slot) : Component(std::move(slot)) {
    for (std::uint32_t to = 0; to < kStations; ++to)
      if (to != spec().index) outs.push_back(out<Number>("to" + std::to_string(to)));
  }
  farfault::In<Number> number_in = in<&Station::on_number>("in");
  farfault::Self<Number> begin = timer<&Station::on_number>("begin");
  std::vector<farfault::Out<Number>> outs;
  std::string_view kind() const override { return "station"; }

  void on_number(Number const& n, Cx& cx) const {
    auto& seen = cx.state().seen;
    seen = (seen ^ n.value) * 0x9E3779B97F4A7C15ULL;
    cx.send(outs[(seen >> 32) % outs.size()], Number{seen >> 7});
  }
};

struct Model {
  farfault::System system;
  std::vector<Station*> stations;

  static farfault::Duration latency(std::uint32_t from, std::uint32_t to) {
    return farfault::Duration{10'000 + (from * 37 + to * 61) % 88 * 1000};
  }

  explicit Model(std::uint32_t numbers = 6) {  // of each station
    for (std::uint32_t i = 0; i < kStations; ++i)
      stations.push_back(&system.add<Station>("station" + std::to_string(i), {i}));
    for (std::uint32_t from = 0; from < kStations; ++from) {
      for (std::uint32_t to = 0, port = 0; to < kStations; ++to)
        if (to != from)
          system.connect(stations[from]->outs[port++], stations[to]->number_in,
                         farfault::Latency{latency(from, to)});
      for (std::uint32_t k = 0; k < numbers; ++k)
        system.post(stations[from]->begin, Number{from * 100 + k + 1},
                    farfault::Time{farfault::Duration{1000 * (k + 1) + 100 * from}});
    }
  }

  static farfault::Placement placement(std::uint32_t partitions) {
    farfault::Placement placement;
    placement.partitions = partitions;
    for (std::uint32_t i = 0; i < kStations; ++i) placement.partition_of.push_back(i % partitions);
    return placement;
  }
};

// The digest at `end`, on the rank that `transport` gives.
inline std::uint64_t digest(std::uint32_t partitions, farfault::EngineOptions options, farfault::Time end,
                            farfault::Transport& transport) {
  Model model;
  farfault::Engine engine(model.system, Model::placement(partitions), options, transport);
  engine.run_until(end);
  return engine.state_digest();
}

}  // namespace uneven
