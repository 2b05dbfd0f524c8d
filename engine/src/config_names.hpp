// SPDX-License-Identifier: Apache-2.0
// Private: names and places of a configuration's entries.
#pragma once

#include <string>
#include <string_view>

namespace farfault {

// The file name of entries from --set.
inline constexpr std::string_view kSet = "--set";

inline std::string join_keys(std::string_view outer, std::string_view inner) {
  return outer.empty() ? std::string(inner) : std::string(outer) + "." + std::string(inner);
}

}  // namespace farfault
