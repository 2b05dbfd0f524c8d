// SPDX-License-Identifier: Apache-2.0
// A model whose links form a ring: places that work locally and sometimes send their state to a neighbour.
// The first of every `every` places works, the others only record arrivals.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "farfault/engine/engine.hpp"

namespace ring {

struct Number {
  std::uint64_t value;
};
struct PlaceSpec {
  std::uint64_t seed = 0;
  farfault::Duration pause{};  // between two pieces of work
};
struct PlaceState {
  std::uint64_t seen = 0;
  std::uint64_t pieces = 0;
};

class Place final : public farfault::Component<PlaceSpec, PlaceState> {
 public:
  using Component::Component;
  farfault::In<Number> from_left = in<&Place::on_number>("from_left");
  farfault::In<Number> from_right = in<&Place::on_number>("from_right");
  farfault::Out<Number> left = out<Number>("left");
  farfault::Out<Number> right = out<Number>("right");
  farfault::Self<Number> work = timer<&Place::on_work>("work");
  std::string_view kind() const override { return "place"; }

  void on_number(Number const& n, Cx& cx) const { mix(n, cx); }
  void on_work(Number const& n, Cx& cx) const {
    auto const seen = mix(n, cx);
    if (++cx.state().pieces % 4 == 0) cx.send((seen >> 40) % 2 == 0 ? left : right, Number{seen});
    cx.wake(work, Number{seen >> 3},
            farfault::Latency{spec().pause + farfault::Duration{static_cast<int>(seen >> 50 & 1023)}});
  }

 private:
  std::uint64_t mix(Number const& n, Cx& cx) const {
    auto& seen = cx.state().seen;
    return seen = (seen ^ n.value ^ spec().seed) * 0x9E3779B97F4A7C15ULL;
  }
};

struct Options {
  std::uint32_t places = 8;
  std::uint32_t every = 1;
  farfault::Duration pause{10'000};
  farfault::Duration link{100'000};
  farfault::Duration start{};   // of all work
  farfault::Duration longer{};  // latency difference between consecutive links
};

struct Model {
  farfault::System system;
  std::vector<Place*> places;

  explicit Model(Options const& o) {
    for (std::uint32_t i = 0; i < o.places; ++i)
      places.push_back(&system.add<Place>("place" + std::to_string(i), {i + 1, o.pause}));
    for (std::uint32_t i = 0; i < o.places; ++i) {
      auto& next = *places[(i + 1) % o.places];
      auto const latency = o.link + static_cast<int>(i) * o.longer;
      system.connect(places[i]->right, next.from_left, farfault::Latency{latency});
      system.connect(next.left, places[i]->from_right, farfault::Latency{latency + o.longer / 2});
      if (i % o.every == 0)
        system.post(places[i]->work, Number{i}, farfault::Time{o.start + farfault::Duration{i + 1}});
    }
  }

  farfault::Placement placement(std::uint32_t partitions) const {
    farfault::Placement placement;
    placement.partitions = partitions;
    for (std::size_t i = 0; i < places.size(); ++i)
      placement.partition_of.push_back(static_cast<std::uint32_t>(i * partitions / places.size()));
    return placement;
  }
};

}  // namespace ring
