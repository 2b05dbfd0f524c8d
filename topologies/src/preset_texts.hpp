// SPDX-License-Identifier: Apache-2.0
// The TOML files that are part of the program, sorted by name: presets/ (configurations) and machines/
// (machine graphs). Both functions are defined by files that the build writes from those folders.
#pragma once

#include <string_view>
#include <vector>

namespace farfault::topologies {

struct PresetText {
  std::string_view name;  // the file's name without .toml
  std::string_view text;
};

std::vector<PresetText> const& preset_texts();
std::vector<PresetText> const& machine_texts();

}  // namespace farfault::topologies
