// SPDX-License-Identifier: Apache-2.0
// The settings of a result, and the comparison of two.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "farfault/results/reader.hpp"
#include "farfault/results/reading/handle.hpp"

namespace farfault::results {

// Parameters of /config/toml, except names of input files, with their values as TOML text: "gpu.line_bytes"
// -> "64".
std::map<std::string, std::string> settings_of(ObjectId file);

// Parameters of /config/toml with different values, then input files with different content.
std::vector<SettingDifference> setting_differences(ObjectId a, ObjectId b);

}  // namespace farfault::results
