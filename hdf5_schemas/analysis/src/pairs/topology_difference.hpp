// SPDX-License-Identifier: Apache-2.0
// Private: the links in which the machines of two results differ.
#pragma once

#include <optional>
#include <string>

#include "farfault/results/reader.hpp"
#include "result_file.hpp"

namespace farfault::analysis {

// The first changed quantity, "bandwidth of link switch0 - gpu2" with its values, and the number of changed
// links if there are several. nullopt if nodes or ends of links differ, if no link does, or without
// /topology.
std::optional<SettingDifference> topology_difference(ObjectId a, ObjectId b);

}  // namespace farfault::analysis
