// SPDX-License-Identifier: Apache-2.0
#include "fixed_latencies.hpp"

#include <algorithm>
#include <charconv>

#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::analysis {
namespace {

constexpr std::int64_t kPicoseconds = 1'000'000'000'000;  // per second
constexpr std::uint64_t kMostCycles = 1'000'000'000;

std::string_view without_quotes(std::string_view text) {
  bool const quoted = text.size() >= 2 && text.starts_with('"') && text.ends_with('"');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

std::uint64_t frequency_of(std::string_view text) {
  try {
    return static_cast<std::uint64_t>(parse_frequency(without_quotes(text)).hertz);
  } catch (UnitError const&) {
    return 0;
  }
}

std::uint64_t cycles_of(std::string_view text) {
  std::uint64_t n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc{} && end == text.data() + text.size() && n <= kMostCycles ? n : 0;
}

}  // namespace

Amount FixedLatencies::time_of(std::string_view stage, Amount visits) const {
  auto const found = std::ranges::find(kFixedLatencies, stage, &FixedLatency::stage);
  if (found == kFixedLatencies.end() || clock == 0) return {};
  auto const n = Amount::of(cycles[static_cast<std::size_t>(found - kFixedLatencies.begin())]);
  return scaled(scaled(visits, {n, Amount(1)}), {Amount(kPicoseconds), Amount::of(clock)});
}

FixedLatencies fixed_latencies(std::map<std::string, std::string> const& settings) {
  FixedLatencies fixed;
  if (auto const at = settings.find("gpu.clock"); at != settings.end())
    fixed.clock = frequency_of(at->second);
  for (std::size_t i = 0; i < kFixedLatencies.size(); ++i)
    if (auto const at = settings.find(std::string(kFixedLatencies[i].parameter)); at != settings.end())
      fixed.cycles[i] = cycles_of(at->second);
  return fixed;
}

}  // namespace farfault::analysis
