// SPDX-License-Identifier: Apache-2.0
#include "amounts.hpp"

#include <fmt/format.h>

#include "farfault/cli/readable.hpp"

namespace farfault::cli {
namespace {

// "3.2 MB" from "3.2 M" and "B".
std::string joined(std::string const& number, std::string const& units) {
  bool const prefixed = number.find(' ') != std::string::npos;
  return prefixed ? number + units : number + " " + units;
}

}  // namespace

std::string share_text(double share) {
  return fmt::format("{:.1f}%", 100 * share);
}

std::string time_text(double ps) {
  constexpr double kMax = 9e18;
  return for_people(Duration{static_cast<std::int64_t>(ps < kMax ? ps : kMax)});
}

std::string amount_text(double value, std::string const& units) {
  if (units == "ps") return time_text(value);
  auto const number = for_people(value);
  if (units == "1" || units.empty()) return number;
  if (units == "byte" || units == "bytes") return joined(number, "B");
  if (units == "byte s-1") return joined(number, "B/s");
  if (units == "s-1") return number + "/s";
  if (units == "s") return number + " s";
  return number + " " + units;
}

}  // namespace farfault::cli
