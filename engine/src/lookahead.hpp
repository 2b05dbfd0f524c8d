// SPDX-License-Identifier: Apache-2.0
// Private: shortest link paths between lanes, the lookahead of the engine's horizons.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/engine/time.hpp"

namespace farfault {

struct LaneLink {
  std::uint32_t from;
  std::uint32_t to;
  Duration latency;
};

// distances[i * lanes + j]: the shortest path from lane j to targets[i], over at least one link (for j ==
// targets[i] the shortest cycle); Duration::max() if there is none.
std::vector<Duration> shortest_paths_to(std::vector<std::uint32_t> const& targets, std::uint32_t lanes,
                                        std::vector<LaneLink> const& links);

}  // namespace farfault
