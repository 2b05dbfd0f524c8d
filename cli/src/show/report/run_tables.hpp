// SPDX-License-Identifier: Apache-2.0
// Private: the tables of a run, from report_data. A table has at most 20 rows, and the number of all rows;
// a value that the result lacks is "-".
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "preset_differences.hpp"

namespace farfault::cli {

using RunJson = nlohmann::ordered_json;

std::string kernels_table(RunJson const& kernels);
std::string batches_table(RunJson const& batches);
std::string traffic_table(RunJson const& traffic);
std::string links_table(RunJson const& uses);
std::string figures_table(RunJson const& figures);
std::string profile_table(RunJson const& values);
std::string preset_table(PresetMatch const& match);

}  // namespace farfault::cli
