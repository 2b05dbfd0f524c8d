// SPDX-License-Identifier: Apache-2.0
// The search for component bosses in mst by the lanes of a warp: up the trees of vertices, with an atomic and
// a load per step, then a store that makes the vertex name its boss.
#pragma once

#include <algorithm>
#include <cstdint>

#include "boruvka.hpp"
#include "graph_kernel.hpp"

namespace farfault::workloads {

// Each lane searches for the boss of start(lane).
class Find {
 public:
  Find(VirtAddr parents, Trees const& trees) : parents_(parents), trees_(&trees) {}

  // `longest`: the longest path of the lanes.
  static std::uint64_t steps(std::uint32_t longest) { return 3 + std::uint64_t{3} * longest; }

  template <class Start>
  std::uint32_t longest(std::uint64_t lanes, Start start) const {
    std::uint32_t most = 0;
    for_lanes(lanes, [&](auto lane) { most = std::max(most, depth(*trees_, start(lane))); });
    return most;
  }

  template <class Start>
  void play_step(std::uint64_t step, std::uint32_t longest, std::uint64_t lanes, Start start,
                 WarpInstruction& out) const {
    auto const all = [&](Step const& s) {
      play(s, lanes, out, [&](auto lane) { return element(start(lane)); });
    };
    if (step == 0) return all(atomic_load(4));
    if (step == 1) return set_compute(out, pieces(1, 1), kWait);
    if (step == steps(longest) - 1) return all(store(4));
    auto const hop = static_cast<std::uint32_t>((step - 2) / 3);
    auto const phase = (step - 2) % 3;
    if (phase == 2) return set_compute(out, pieces(1, 1, 1), kWait);
    // The vertex, then its parent, for lanes that have not reached the boss.
    play(phase == 0 ? load(4) : atomic_load(4, kWait), lanes, out, [&](auto lane) {
      auto v = start(lane);
      for (std::uint32_t i = 0; i < hop; ++i) v = (*trees_)[v];
      if ((*trees_)[v] == v) return kNone;
      return element(phase == 0 ? v : (*trees_)[v]);
    });
  }

 private:
  VirtAddr element(std::uint32_t v) const { return parents_ + std::uint64_t{4} * v; }

  VirtAddr parents_;
  Trees const* trees_;
};

}  // namespace farfault::workloads
