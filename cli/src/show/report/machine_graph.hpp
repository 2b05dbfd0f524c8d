// SPDX-License-Identifier: Apache-2.0
// Private: the drawn graph of a machine: nodes, or groups of nodes in a large machine, with their positions.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace farfault::cli {

struct DrawnNode {
  std::string label;
  std::string kind;
  std::string text;               // text on hovering
  std::vector<std::size_t> gpus;  // numbers of its GPUs, in the order of the nodes
  std::size_t tier = 0;
  double x = 0;  // middle
  double y = 0;
  double width = 0;
};

// One direction between two drawn nodes.
struct DrawnLink {
  std::size_t from = 0;
  std::size_t to = 0;
  std::string text;
  std::optional<double> busy;      // the busiest link of the group
  std::optional<std::size_t> use;  // row of MachineGraph::over_time
};

struct MachineGraph {
  std::vector<DrawnNode> nodes;
  std::vector<DrawnLink> links;
  // Utilization over time of the busiest link in each drawn one: {clock, scale, values}, as in link_use.
  nlohmann::ordered_json over_time = nlohmann::ordered_json::array();
  double width = 0;
  double height = 0;
};

MachineGraph machine_graph(nlohmann::ordered_json const& run);

// Lays out tiers: the network and its NICs, CPUs, switches by distance from CPUs, GPUs, and switches between
// GPUs.
void lay_out(MachineGraph& graph);

}  // namespace farfault::cli
