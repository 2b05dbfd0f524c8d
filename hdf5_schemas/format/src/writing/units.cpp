// SPDX-License-Identifier: Apache-2.0
#include "units.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace farfault::results {

std::string udunits(std::string_view declared) {
  static constexpr std::array<std::pair<char const*, char const*>, 9> kNames{{{"ps", "ps"},
                                                                              {"ns", "ns"},
                                                                              {"us", "us"},
                                                                              {"ms", "ms"},
                                                                              {"s", "s"},
                                                                              {"bytes", "byte"},
                                                                              {"bytes/s", "byte s-1"},
                                                                              {"1/s", "s-1"},
                                                                              {"Hz", "Hz"}}};
  for (auto const& [ours, theirs] : kNames)
    if (declared == ours) return theirs;
  return "1";
}

}  // namespace farfault::results
