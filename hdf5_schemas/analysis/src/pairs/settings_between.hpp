// SPDX-License-Identifier: Apache-2.0
// Private: the settings in which two results differ.
#pragma once

#include <string>
#include <vector>

#include "farfault/results/reader.hpp"

namespace farfault::analysis {

// By name; names and values on one line.
std::vector<results::SettingDifference> settings_between(std::string const& a, std::string const& b);

}  // namespace farfault::analysis
