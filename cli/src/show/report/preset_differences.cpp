// SPDX-License-Identifier: Apache-2.0
#include "preset_differences.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "farfault/engine/config.hpp"
#include "farfault/topologies/machine_config.hpp"

namespace farfault::cli {
namespace {

constexpr std::size_t kFewestParameters = 20;

std::string without_quotes(std::string const& toml) {
  bool const quoted = toml.size() > 1 && toml.front() == '"' && toml.back() == '"';
  return quoted ? toml.substr(1, toml.size() - 2) : toml;
}

std::string key_of_parameter(std::string const& section, std::string const& name) {
  return section.empty() ? name : section + "." + name;
}

}  // namespace

void PresetTable::read() {
  for (auto const& name : extensions_.preset_names()) {
    Config config([this](std::string_view of) { return extensions_.find_preset(of); });
    auto const text = extensions_.find_preset(name);
    if (!text) continue;
    topologies::MachineConfig::prepare(config);
    config.read_text(*text, name);
    topologies::MachineConfig machine;
    machine.translation.read_names(config);
    std::set<std::string> policies;
    machine.each_section([&](std::string const& section, std::string_view, auto& spec) {
      ParamTable table(&extensions_.policies());
      spec.describe(table);
      config.bind(section, table);
      for (auto const& param : table.all())
        if (param.kind == ParamKind::choice) policies.insert(key_of_parameter(section, param.name));
    });
    auto& values = presets_[name];
    for (auto const& bound : config.bound())
      values[bound.key] = {without_quotes(bound.value), policies.contains(bound.key)};
  }
}

std::optional<PresetMatch> PresetTable::match(nlohmann::ordered_json const& settings,
                                              std::string const& command_line) {
  if (presets_.empty()) read();
  std::istringstream stream(command_line);
  std::set<std::string> words;
  for (std::string word; stream >> word;) words.insert(word);
  std::optional<PresetMatch> best;
  for (auto const& [name, values] : presets_) {
    PresetMatch match{name, words.contains(name), 0, {}};
    for (auto const& [key, toml] : settings.items()) {
      auto const found = values.find(key);
      if (found == values.end()) continue;
      ++match.common;
      auto const value = without_quotes(toml.get<std::string>());
      if (value != found->second.text)
        match.differences.push_back({key, found->second.text, value, found->second.is_policy});
    }
    bool const is_better =
        !best || match.is_named > best->is_named ||
        (match.is_named == best->is_named && match.differences.size() < best->differences.size());
    if (match.common >= kFewestParameters && is_better) best = std::move(match);
  }
  if (best) std::ranges::sort(best->differences, {}, &PresetDifference::key);
  return best;
}

}  // namespace farfault::cli
