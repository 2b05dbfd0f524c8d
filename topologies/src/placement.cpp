// SPDX-License-Identifier: Apache-2.0
// Assignment of an Assembly's components to partitions and ranks.
#include <algorithm>

#include "farfault/topologies/assembly.hpp"
#include "farfault/topologies/partitioning.hpp"

namespace farfault::topologies {

std::vector<std::uint32_t> Assembly::nodes_of_components() const {
  std::vector<std::uint32_t> nodes(system_->component_count());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    auto const last = i + 1 < groups_.size() ? groups_[i + 1].first : nodes.size();
    for (std::size_t id = groups_[i].first; id < last; ++id) nodes[id] = groups_[i].device;
  }
  return nodes;
}

std::vector<std::uint32_t> Assembly::gpus_of_components() const {
  auto const gpu_nodes = machine_.nodes_of(NodeKind::gpu);
  std::vector<std::uint32_t> gpu_of_node(machine_.nodes.size(), kNone);
  for (std::uint32_t g = 0; g < gpu_nodes.size(); ++g) gpu_of_node[gpu_nodes[g]] = g;
  auto gpus = nodes_of_components();
  for (auto& of : gpus) of = gpu_of_node[of];
  return gpus;
}

Placement Assembly::placement(Granularity granularity, std::uint32_t ranks,
                              std::vector<std::uint64_t> const& node_loads) const {
  if (!node_loads.empty() && node_loads.size() != machine_.nodes.size())
    throw UserError("the result in --profile is of a machine with " + std::to_string(node_loads.size()) +
                    " nodes, but this machine has " + std::to_string(machine_.nodes.size()) +
                    "; use a result of this machine, or omit --profile");
  Placement placement;
  if (granularity == Granularity::one) return placement;
  // Partitions are numbered in the order of their first component.
  std::vector<std::uint32_t> number(machine_.nodes.size() * kGroups, ~0U);
  std::vector<std::uint32_t> node_of;
  std::vector<std::uint64_t> node_weight(machine_.nodes.size());
  placement.partitions = 0;
  placement.partition_of.resize(system_->component_count());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    auto const& [first, device, group] = groups_[i];
    auto const key = device * kGroups + (granularity == Granularity::device ? 0 : group);
    if (number[key] == ~0U) {
      number[key] = placement.partitions++;
      node_of.push_back(device);
    }
    auto const last =
        i + 1 < groups_.size() ? groups_[i + 1].first : static_cast<ComponentId>(system_->component_count());
    node_weight[device] += last - first;
    for (auto id = first; id < last; ++id) placement.partition_of[id] = number[key];
  }
  // A device stays on one rank: its components communicate every cycle, devices only at link latencies.
  std::vector<PartitionEdge> edges;
  for (auto const& l : machine_.links) {
    auto const closeness =
        static_cast<std::uint64_t>(std::max<std::int64_t>(1, picoseconds(1us) / picoseconds(l.latency)));
    edges.push_back({l.a, l.b, closeness});
  }
  if (!node_loads.empty()) node_weight = node_loads;
  auto const rank_of_node = assign_ranks(node_weight, edges, ranks);
  for (auto const node : node_of) placement.rank_of.push_back(rank_of_node[node]);
  return placement;
}

}  // namespace farfault::topologies
