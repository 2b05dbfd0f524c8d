// SPDX-License-Identifier: Apache-2.0
// The TOML files that are embedded in the program, sorted by name: presets/ (configurations) and machines/
// (machine graphs). The build generates the files that define both functions.
#pragma once

#include <string_view>
#include <vector>

namespace farfault::topologies {

struct PresetText {
  std::string_view name;  // file name without .toml
  std::string_view text;
};

std::vector<PresetText> const& preset_texts();
std::vector<PresetText> const& machine_texts();

}  // namespace farfault::topologies
