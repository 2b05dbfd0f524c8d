// SPDX-License-Identifier: Apache-2.0
// Names of groups and datasets that schema_version 3 has changed. Readers of older files use the new names.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace farfault::results {

struct Renamed {
  std::string_view before, now;
};

// Also in python/farfault/renamed.py.
inline constexpr std::array<Renamed, 5> kRenamed{{{"blocks_given_way", "blocks_swapped_out"},
                                                  {"sm_blocks_given_way", "sm_blocks_swapped_out"},
                                                  {"time_under_way", "time_outstanding"},
                                                  {"sm_time_under_way", "sm_time_outstanding"},
                                                  {"under_way", "outstanding"}}};

// The present name of a member of any file.
inline std::string_view name_now(std::string_view name) {
  auto const known = std::ranges::find(kRenamed, name, &Renamed::before);
  return known == kRenamed.end() ? name : known->now;
}

// The name before schema_version 3; `name` itself if it is unchanged.
inline std::string_view name_before(std::string_view name) {
  auto const known = std::ranges::find(kRenamed, name, &Renamed::now);
  return known == kRenamed.end() ? name : known->before;
}

}  // namespace farfault::results
