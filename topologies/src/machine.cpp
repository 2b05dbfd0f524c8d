// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/machine.hpp"

#include <algorithm>
#include <boost/graph/connected_components.hpp>
#include <unordered_set>

#include "farfault/engine/error.hpp"
#include "link_key.hpp"
#include "machine_graph.hpp"

namespace farfault::topologies {
namespace {

constexpr std::array<std::string_view, 6> kNodeNames = {"gpu",      "cpu", "pcie_switch",
                                                        "nvswitch", "nic", "network_switch"};
constexpr std::array<std::string_view, 5> kLinkNames = {"pcie", "nvlink", "xgmi", "cpu_interconnect",
                                                        "network"};

std::string quoted(std::string const& text) {
  return "'" + shown(text) + "'";
}

void check_sizes(Machine const& m, std::string const& where) {
  if (m.nodes.size() > kMaxNodes) {
    throw UserError(where + ": " + std::to_string(m.nodes.size()) +
                    " nodes, but a machine may have at most " + std::to_string(kMaxNodes));
  }
  if (m.links.size() > kMaxLinks) {
    throw UserError(where + ": " + std::to_string(m.links.size()) +
                    " links, but a machine may have at most " + std::to_string(kMaxLinks));
  }
}

void check_nic(MachineNode const& node, std::string const& where) {
  if (node.bandwidth == Bandwidth{}) return;
  auto const text =
      where + ": " + quoted(node.name) + " has a bandwidth of " + to_text(node.bandwidth) + ", but ";
  if (node.kind != NodeKind::nic)
    throw UserError(text + "only a NIC may state a bandwidth, and it is a " +
                    std::string(name_of(node.kind)));
  if (node.bandwidth < kLowestBandwidth || node.bandwidth > kHighestBandwidth)
    throw UserError(text + "it must be " + to_text(kLowestBandwidth) + " to " + to_text(kHighestBandwidth));
}

void check_nodes(Machine const& m, std::string const& where) {
  std::unordered_set<std::string_view> names;
  names.reserve(m.nodes.size());
  for (auto const& node : m.nodes) {
    if (node.name.empty()) throw UserError(where + ": a node has no name");
    if (node.name.size() > kLongestName)
      throw UserError(where + ": the node name " + quoted(node.name) + " has " +
                      std::to_string(node.name.size()) + " bytes, but it may have at most " +
                      std::to_string(kLongestName));
    if (!names.insert(node.name).second) {
      throw UserError(where + ": two nodes are named " + quoted(node.name) + ", but names must be unique");
    }
    check_nic(node, where);
  }
  if (m.count(NodeKind::gpu) == 0)
    throw UserError(where + ": the machine has no GPU, but it needs at least one");
}

void check_links(Machine const& m, std::string const& where) {
  std::unordered_set<std::uint64_t> seen;
  seen.reserve(m.links.size());
  for (auto const& link : m.links) {
    if (link.a >= m.nodes.size() || link.b >= m.nodes.size()) {
      throw UserError(where + ": link " + std::to_string(&link - m.links.data()) +
                      " of the list ends at node " + std::to_string(std::max(link.a, link.b)) +
                      ", but the nodes are numbered 0 to " + std::to_string(m.nodes.size() - 1));
    }
    // Composed only for an error message: a machine may have millions of links.
    auto const text = [&] {
      return "the " + std::string(name_of(link.kind)) + " link " + quoted(m.nodes[link.a].name) + " - " +
             quoted(m.nodes[link.b].name);
    };
    if (link.a == link.b) {
      throw UserError(where + ": a " + std::string(name_of(link.kind)) + " link joins node " +
                      quoted(m.nodes[link.a].name) + " to itself, but a link needs two different nodes");
    }
    if (!seen.insert(link_key(link.a, link.b, link.kind)).second) {
      throw UserError(where + ": " + text() + " is listed twice, but parallel links must be merged into one");
    }
    if (link.latency <= Duration::zero() || link.latency > kLongestLatency) {
      throw UserError(where + ": " + text() + " has a latency of " + to_text(link.latency) +
                      ", but it must be greater than 0 and at most " + to_text(kLongestLatency));
    }
    if (link.count == 0 || link.count > kMaxParallelLinks) {
      throw UserError(where + ": " + text() + " has a count of " + std::to_string(link.count) +
                      ", but it must be 1 to " + std::to_string(kMaxParallelLinks));
    }
    for (auto const bandwidth : {link.forward, link.backward})
      if (bandwidth < kLowestBandwidth || bandwidth > kHighestBandwidth)
        throw UserError(where + ": " + text() + " has a bandwidth of " + to_text(bandwidth) +
                        ", but it must be " + to_text(kLowestBandwidth) + " to " +
                        to_text(kHighestBandwidth));
  }
}

void check_machines(Machine const& m, std::string const& where) {
  // At most as many machines as nodes: a greater number implies a gap.
  std::vector<bool> named(m.nodes.size());
  for (auto const& node : m.nodes) {
    bool const device = node.kind == NodeKind::gpu || node.kind == NodeKind::cpu;
    if (node.machine < 0 && device)
      throw UserError(where + ": " + quoted(node.name) +
                      " belongs to no machine, but every GPU and CPU must");
    if (node.machine < 0) continue;
    auto const number = static_cast<std::size_t>(node.machine);
    if (number >= named.size())
      throw UserError(where + ": " + quoted(node.name) + " belongs to machine " + std::to_string(number) +
                      ", but machines are numbered from 0 without gaps");
    named[number] = true;
  }
  auto const machines = static_cast<std::size_t>(m.machines());
  for (std::size_t i = 0; i < machines; ++i)
    if (!named[i])
      throw UserError(where + ": no node belongs to machine " + std::to_string(i) +
                      ", but machines are numbered from 0 without gaps");
}

void check_connected(Machine const& m, std::string const& where) {
  auto const graph = to_undirected(m);
  std::vector<std::uint32_t> component(m.nodes.size());
  boost::connected_components(graph, component.data());
  auto const other = std::ranges::find_if(component, [&](auto c) { return c != component.front(); });
  if (other == component.end()) return;
  auto const index = static_cast<std::size_t>(other - component.begin());
  throw UserError(where + ": no path of links joins " + quoted(m.nodes.front().name) + " and " +
                  quoted(m.nodes[index].name) + ", but every node must be reachable from every other");
}

}  // namespace

std::string_view name_of(NodeKind kind) {
  return kNodeNames[static_cast<std::size_t>(kind)];
}
std::string_view name_of(LinkKind kind) {
  return kLinkNames[static_cast<std::size_t>(kind)];
}

std::vector<std::uint32_t> Machine::nodes_of(NodeKind kind) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].kind == kind) found.push_back(i);
  return found;
}

std::optional<std::uint32_t> Machine::find(std::string_view node_name) const {
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].name == node_name) return i;
  return std::nullopt;
}

std::uint64_t Machine::count(NodeKind kind) const {
  return static_cast<std::uint64_t>(std::ranges::count(nodes, kind, &MachineNode::kind));
}

std::uint64_t Machine::count(LinkKind kind) const {
  std::uint64_t sum = 0;
  for (auto const& link : links)
    if (link.kind == kind) sum += link.count;
  return sum;
}

std::uint64_t Machine::pairs(LinkKind kind) const {
  return static_cast<std::uint64_t>(std::ranges::count(links, kind, &MachineLink::kind));
}

std::uint32_t Machine::machines() const {
  auto const last = std::ranges::max_element(nodes, {}, &MachineNode::machine);
  return last == nodes.end() || last->machine < 0 ? 1 : static_cast<std::uint32_t>(last->machine) + 1;
}

std::optional<Bandwidth> Machine::nic_bandwidth(std::uint32_t a, std::uint32_t b) const {
  std::optional<Bandwidth> slower;
  for (auto const node : {a, b})
    if (nodes[node].bandwidth != Bandwidth{})
      slower = std::min(slower.value_or(nodes[node].bandwidth), nodes[node].bandwidth);
  return slower;
}

bool Machine::states_nic_bandwidth() const {
  return std::ranges::any_of(nodes, [](auto const& node) { return node.bandwidth != Bandwidth{}; });
}

std::string machine_name(int machine) {
  return machine < 0 ? std::string() : "m" + std::to_string(machine);
}

void validate(Machine const& machine, std::string const& where) {
  check_sizes(machine, where);
  check_nodes(machine, where);
  check_machines(machine, where);
  check_links(machine, where);
  check_connected(machine, where);
}

}  // namespace farfault::topologies
