// SPDX-License-Identifier: Apache-2.0
#include "lookahead.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace farfault {

std::vector<Duration> shortest_paths_to(std::vector<std::uint32_t> const& targets, std::uint32_t lanes,
                                        std::vector<LaneLink> const& links) {
  std::vector<std::vector<std::pair<std::uint32_t, Duration>>> into(
      lanes);  // by destination: (source, latency)
  for (auto const& l : links) into[l.to].emplace_back(l.from, l.latency);

  std::vector<Duration> distances(targets.size() * lanes, Duration::max());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    auto* row = distances.data() + i * lanes;
    using Entry = std::pair<Duration, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> reached;
    auto extend = [&](std::uint32_t lane, Duration so_far) {
      for (auto const& [source, latency] : into[lane]) {
        auto const d = so_far + latency;
        if (d < row[source]) {
          row[source] = d;
          reached.emplace(d, source);
        }
      }
    };
    // Starting from the target's links instead of the target itself computes the shortest cycle for its own
    // entry.
    extend(targets[i], Duration::zero());
    while (!reached.empty()) {
      auto const [d, lane] = reached.top();
      reached.pop();
      if (d == row[lane] && lane != targets[i]) extend(lane, d);
    }
  }
  return distances;
}

}  // namespace farfault
