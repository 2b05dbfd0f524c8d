// SPDX-License-Identifier: Apache-2.0
// Policies in tests: selected by name, with parameters as in a configuration, and their statistics.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/engine/component.hpp"
#include "farfault/engine/policy.hpp"

namespace farfault::test {

using Setting = std::pair<std::string_view, std::string_view>;  // "epoch", "1us"

template <class I>
PolicyChoice<I> chosen(std::string_view name, std::vector<Setting> const& settings = {}) {
  PolicyChoice<I> choice(name);
  ParamTable table;
  choice.describe(table, "policy", "of a test", "assumed");
  for (auto const& [key, value] : settings) {
    auto const* param = table.find(std::string(name) + "." + std::string(key));
    FF_CHECK(param != nullptr, "no parameter " + std::string(key) + " of " + std::string(name));
    param->set(value);
  }
  return choice;
}

inline std::uint64_t value_of(std::vector<StatInfo> const& infos, std::vector<std::uint64_t> const& values,
                              std::string_view stat) {
  std::size_t at = 0;
  for (auto const& info : infos) {
    if (info.name == stat) return values[at];
    at += info.bins;
  }
  panic("no statistic " + std::string(stat), __FILE__, __LINE__);
}

template <class I>
std::uint64_t stat_of(PolicyChoice<I> const& choice, Policy<I> const& policy, std::string_view stat) {
  auto const infos = choice.stats();
  std::vector<std::uint64_t> values(StatGroup{{}, infos}.values());
  policy.sample(values.data());
  return value_of(infos, values, stat);
}

// A statistic of a component, from its group `kind`, for one application or all; 0 if the group is missing.
inline std::uint64_t stat_of(AnyComponent const& component, std::string_view kind, std::string_view stat,
                             std::string_view application = {}) {
  auto const groups = component.stat_groups();
  std::vector<std::uint64_t> values;
  for (auto const& g : groups) values.resize(values.size() + g.values());
  component.sample(values.data());
  std::size_t begin = 0;
  for (auto const& g : groups) {
    if (g.kind == kind && g.application == application)
      return value_of(g.stats,
                      {values.begin() + static_cast<std::ptrdiff_t>(begin),
                       values.begin() + static_cast<std::ptrdiff_t>(begin + g.values())},
                      stat);
    begin += g.values();
  }
  return 0;
}

}  // namespace farfault::test
