// SPDX-License-Identifier: Apache-2.0
// What two results were asked for, compared parameter by parameter.
#pragma once

#include <vector>

#include "farfault/results/reader.hpp"
#include "handle.hpp"

namespace farfault::results {

// Parameters of /config/toml whose values differ, then input files whose contents differ.
std::vector<SettingDifference> setting_differences(hid_t a, hid_t b);

}  // namespace farfault::results
