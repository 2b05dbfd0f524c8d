// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/readable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace farfault::cli {
namespace {

// Three significant digits, and no exponent below 1000.
std::string three_digits(double x) {
  return x >= 100 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

}  // namespace

std::string for_people(Duration d) {
  static constexpr std::array kUnits = {"ps", "ns", "us", "ms", "s"};
  auto x = static_cast<double>(picoseconds(d));
  std::size_t unit = 0;
  for (; x >= 999.5 && unit + 1 < kUnits.size(); ++unit) x /= 1000;
  return three_digits(x) + " " + kUnits[unit];
}

std::string for_people(double amount) {
  static constexpr std::array kPrefixes = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  for (; amount >= 999.5 && prefix + 1 < kPrefixes.size(); ++prefix) amount /= 1000;
  return three_digits(amount) + kPrefixes[prefix];
}

std::string wall_time(double seconds) {
  auto const s = static_cast<std::uint64_t>(std::clamp(std::round(seconds), 0.0, 1e9));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace farfault::cli
