// SPDX-License-Identifier: Apache-2.0
// Private: the machine of a run as a drawing, its links coloured by utilization.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace farfault::cli {

// Colours from an idle to a fully utilized link, evenly spaced.
std::vector<std::string> const& use_colours();

// An SVG element of the nodes, links and link_use of a report (farfault/results/report.hpp). Hovering over a
// part shows its name. A direction of a link has its row of picture_use in data-use, a node the numbers of
// its GPUs in data-gpus. A machine of more than 64 GPUs is drawn in groups.
std::string machine_picture(nlohmann::ordered_json const& run);
// Utilization of each direction over time: {clock, scale, values}; for several links together, the busiest
// one.
nlohmann::ordered_json picture_use(nlohmann::ordered_json const& run);

}  // namespace farfault::cli
