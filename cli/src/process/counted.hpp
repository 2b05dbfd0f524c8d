// SPDX-License-Identifier: Apache-2.0
// Private: counts with their noun.
#pragma once

#include <concepts>
#include <string>

namespace farfault::cli {

// "1 run", "2 runs"
template <std::integral Number>
std::string counted(Number n, std::string const& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

// The word for one, or for several: chosen(n, "is", "are").
template <std::integral Number>
constexpr char const* chosen(Number n, char const* one, char const* several) {
  return n == 1 ? one : several;
}

}  // namespace farfault::cli
