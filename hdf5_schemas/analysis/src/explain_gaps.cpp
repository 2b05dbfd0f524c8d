// SPDX-License-Identifier: Apache-2.0
// The time with no kernel on a GPU, by the activity of the host, from the host's tables.
#include "explain_resources.hpp"
#include "host_timeline.hpp"

namespace farfault::analysis {

std::vector<TimePart> read_gaps(ObjectId file, std::uint64_t end, bool completed) {
  auto const line = read_timeline(file, end, completed);
  if (!line || !line->recorded) return {};
  std::vector<TimePart> gaps;
  for (std::size_t activity = 0; activity < kHostActivities.size(); ++activity) {
    std::uint64_t ps = 0;
    for (auto const& place : line->gaps) ps += place[activity];
    auto const& [name, what] = kHostActivities[activity];
    if (ps != 0) gaps.push_back({name, what, ps});
  }
  return gaps;
}

}  // namespace farfault::analysis
