// Private: what is drawn of a machine: nodes, or groups of them where there are many, and where each is.
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
  std::string text;  // what hovering tells
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
  std::optional<std::size_t> use;  // row of link_use, of a single link
};

struct MachineGraph {
  std::vector<DrawnNode> nodes;
  std::vector<DrawnLink> links;
  double width = 0;
  double height = 0;
};

MachineGraph machine_graph(nlohmann::ordered_json const& run);

// In tiers: the network and its NICs, CPUs, switches by their distance from them, GPUs, and what joins GPUs.
void lay_out(MachineGraph& graph);

}  // namespace farfault::cli
