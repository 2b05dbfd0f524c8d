// SPDX-License-Identifier: Apache-2.0
// Private: the preset behind a configuration, and the parameters that differ from it.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "farfault/cli/extensions.hpp"

namespace farfault::cli {

struct PresetDifference {
  std::string key;
  std::string preset, value;  // as text, strings without quotes
  bool is_policy = false;     // one of several implementations or behaviours, selected by name
};

struct PresetMatch {
  std::string name;
  bool is_named = false;  // the command line names it; otherwise it is the preset with the fewest differences
  std::size_t common = 0;                     // parameters of both
  std::vector<PresetDifference> differences;  // by key
};

// The presets of the program, read when they are first compared.
class PresetTable {
 public:
  explicit PresetTable(Extensions const& extensions) : extensions_(extensions) {}
  // `settings`: resolved parameters, key -> TOML text. Workload, seed and sampling are not compared. nullopt
  // if the settings have too few parameters for a comparison.
  std::optional<PresetMatch> match(nlohmann::ordered_json const& settings, std::string const& command_line);

 private:
  struct Value {
    std::string text;
    bool is_policy;
  };
  using Values = std::map<std::string, Value>;
  void read();

  Extensions const& extensions_;
  std::map<std::string, Values> presets_;
};

}  // namespace farfault::cli
