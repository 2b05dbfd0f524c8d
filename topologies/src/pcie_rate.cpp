// SPDX-License-Identifier: Apache-2.0
#include "pcie_rate.hpp"

#include <charconv>

namespace farfault::topologies {
namespace {

constexpr std::uint64_t kWidestSlot = 32;

// 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, 242 of 256 bytes of a flit from 64 GT/s on.
constexpr struct {
  std::string_view number;
  std::uint64_t transfers, payload, coded;
} kGenerations[] = {{"2.5", 2'500'000'000, 8, 10},     {"5", 5'000'000'000, 8, 10},
                    {"8", 8'000'000'000, 128, 130},    {"16", 16'000'000'000, 128, 130},
                    {"32", 32'000'000'000, 128, 130},  {"64", 64'000'000'000, 242, 256},
                    {"128", 128'000'000'000, 242, 256}};

}  // namespace

std::optional<Bandwidth> pcie_lanes(std::string_view speed, std::uint64_t lanes) {
  auto const space = speed.find(' ');
  if (space == speed.npos || !speed.substr(space).starts_with(" GT/s")) return std::nullopt;
  auto number = speed.substr(0, space);
  if (number.ends_with(".0")) number.remove_suffix(2);
  for (auto const& g : kGenerations)
    if (g.number == number) return Bandwidth{g.transfers / 8 * lanes * g.payload / g.coded};
  return std::nullopt;
}

std::optional<std::uint64_t> pcie_width(std::string_view text) {
  std::uint64_t lanes = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), lanes);
  bool const whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || lanes == 0 || lanes > kWidestSlot) return std::nullopt;
  return lanes;
}

}  // namespace farfault::topologies
