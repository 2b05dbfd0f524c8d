// SPDX-License-Identifier: Apache-2.0
// Compares the settings of two results.
#pragma once

#include <vector>

#include "farfault/results/reader.hpp"
#include "farfault/results/reading/handle.hpp"

namespace farfault::results {

// Parameters of /config/toml with different values, then input files with different content.
std::vector<SettingDifference> setting_differences(ObjectId a, ObjectId b);

}  // namespace farfault::results
