// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/routing.hpp"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths_no_color_map.hpp>
#include <functional>
#include <map>

namespace farfault::topologies {
namespace {

constexpr std::size_t kMaxDestinations = 65'535;
constexpr std::uint64_t kMaxEntries = 1ULL << 29U;

// (end points that forward, picoseconds, links) in one integer, so that additions and comparisons are plain
// arithmetic. validate() bounds latency and bandwidth, the Spec bounds the message: 64 bits of picoseconds
// cannot overflow.
__extension__ using Cost = unsigned __int128;
constexpr unsigned kTimeShift = 24;      // fewer than 2^24 links on a path
constexpr unsigned kForwardShift = 100;  // above 76 bits of time
constexpr Cost kUnreachable = ~Cost{0} >> 1U;

bool is_end_point(NodeKind kind) {
  return kind == NodeKind::gpu || kind == NodeKind::nic;
}

Cost crossing(MachineLink const& link, bool forward, ByteSize message) {
  auto const time = link.latency + (forward ? link.forward : link.backward).time_for(message.bytes);
  return (static_cast<Cost>(static_cast<std::uint64_t>(time.count())) << kTimeShift) + 1;
}

// An edge u -> v of the reversed graph: the cost for v to continue through u. Every path to d includes the
// "forwarding" of d itself, which changes no comparison.
struct Reversed {
  std::uint32_t link = 0;
  Cost cost = 0;
};
using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Reversed,
                                                 boost::no_property, std::uint32_t, std::uint32_t>;

struct Neighbour {
  std::uint32_t node;
  std::uint32_t link;
  bool between_gpus;
  Cost cost;
};
using Neighbours = std::vector<std::vector<Neighbour>>;  // by node

bool is_between_gpus(MachineLink const& link) {
  return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
}

// The machine with all edges reversed, or only its NVLinks and xGMI links.
Graph reversed(Neighbours const& neighbours, bool all) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::vector<Reversed> properties;
  for (std::uint32_t v = 0; v < neighbours.size(); ++v)
    for (auto const& next : neighbours[v]) {
      if (!all && !next.between_gpus) continue;
      edges.emplace_back(next.node, v);
      properties.push_back({next.link, next.cost});
    }
  return {boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), properties.begin(),
          static_cast<std::uint32_t>(neighbours.size())};
}

// Costs from every node to the destination.
void find_costs(Graph const& graph, std::uint32_t destination, std::vector<Cost>& cost) {
  boost::dijkstra_shortest_paths_no_color_map(graph, destination,
                                              boost::weight_map(boost::get(&Reversed::cost, graph))
                                                  .distance_map(cost.data())
                                                  .distance_inf(kUnreachable)
                                                  .distance_zero(Cost{0})
                                                  .distance_combine(std::plus<Cost>{})
                                                  .distance_compare(std::less<Cost>{}));
}

}  // namespace

void RoutingSpec::describe(ParamTable& t) {
  t.bytes(
      "message", message, {ByteSize{1}, ByteSize{1U << 20U}},
      "Message size for route selection: the cost of a link is its latency plus the transfer time of this "
      "size",
      "assumed: one 4 KiB page");
}

Routes::Routes(Machine const& machine, RoutingSpec const& spec) : machine_(machine) {
  column_.assign(machine.nodes.size(), kNotADestination);
  for (std::uint32_t i = 0; i < machine.nodes.size(); ++i) {
    if (!is_device(machine.nodes[i].kind)) continue;
    column_[i] = static_cast<std::uint32_t>(destinations_.size());
    destinations_.push_back(i);
  }
  auto const entries = static_cast<std::uint64_t>(destinations_.size()) * machine.nodes.size();
  if (destinations_.size() > kMaxDestinations || entries > kMaxEntries) {
    throw UserError("machine '" + shown(machine.name) + "': " + std::to_string(destinations_.size()) +
                    " GPUs, CPUs and NICs among " + std::to_string(machine.nodes.size()) +
                    " nodes are too many to route between (at most 65535 of them, and 2^29 pairs)");
  }
  compute(spec);
}

void Routes::compute(RoutingSpec const& spec) {
  auto const n = static_cast<std::uint32_t>(machine_.nodes.size());
  auto const width = destinations_.size();

  Neighbours neighbours(n);
  for (std::uint32_t i = 0; i < machine_.links.size(); ++i) {
    auto const& link = machine_.links[i];
    neighbours[link.a].push_back({link.b, i, is_between_gpus(link), crossing(link, true, spec.message)});
    neighbours[link.b].push_back({link.a, i, is_between_gpus(link), crossing(link, false, spec.message)});
  }
  // A path from v through u costs one more forwarding when u is an end point.
  for (auto& of_node : neighbours) {
    std::ranges::sort(of_node, {}, [](Neighbour const& x) { return std::pair(x.node, x.link); });
    for (auto& next : of_node)
      if (is_end_point(machine_.nodes[next.node].kind)) next.cost += Cost{1} << kForwardShift;
  }
  auto const graph = reversed(neighbours, true);
  auto const gpu_graph = reversed(neighbours, false);

  table_.assign(static_cast<std::size_t>(n) * width, 0);
  // Set 0 of each node is empty; each distinct set of a node is stored once.
  std::vector<std::map<std::vector<std::uint32_t>, std::uint16_t>> known(n);
  std::vector<std::vector<std::vector<std::uint32_t>>> sets(n);
  for (std::uint32_t v = 0; v < n; ++v) {
    known[v].emplace(std::vector<std::uint32_t>{}, std::uint16_t{0});
    sets[v].emplace_back();
  }
  std::vector<Cost> costs(n);
  std::vector<Cost> gpu_costs(n);
  std::vector<std::uint32_t> found;
  for (std::size_t column = 0; column < width; ++column) {
    auto const destination = destinations_[column];
    Cost const own = is_end_point(machine_.nodes[destination].kind) ? 1 : 0;
    find_costs(graph, destination, costs);
    find_costs(gpu_graph, destination, gpu_costs);
    for (std::uint32_t v = 0; v < n; ++v) {
      // Every node on a path between GPUs without forwarding has a path without forwarding.
      bool const joined = gpu_costs[v] >> kForwardShift == own;
      auto const& cost = joined ? gpu_costs : costs;
      if (v == destination || cost[v] == kUnreachable) continue;
      found.clear();
      for (auto const& next : neighbours[v])
        if ((next.between_gpus || !joined) && cost[next.node] != kUnreachable &&
            cost[next.node] + next.cost == cost[v])
          found.push_back(next.link);
      auto& id = table_[static_cast<std::size_t>(v) * width + column];
      if (sets[v].back() == found) {
        id = static_cast<std::uint16_t>(sets[v].size() - 1);
        continue;
      }
      auto const [it, added] = known[v].try_emplace(found, static_cast<std::uint16_t>(sets[v].size()));
      if (added) sets[v].push_back(found);
      id = it->second;
    }
  }
  for (std::uint32_t v = 0; v < n; ++v) {
    first_set_.push_back(static_cast<std::uint32_t>(sets_.size()));
    for (auto const& set : sets[v]) {
      sets_.push_back({static_cast<std::uint32_t>(pool_.size()), static_cast<std::uint32_t>(set.size())});
      pool_.insert(pool_.end(), set.begin(), set.end());
    }
  }
}

std::span<std::uint32_t const> Routes::next_links(std::uint32_t node, std::uint32_t destination) const {
  FF_CHECK(node < column_.size() && destination < column_.size() && is_destination(destination),
           "a route was requested to a node that is not a GPU, CPU or NIC");
  auto const id = table_[static_cast<std::size_t>(node) * destinations_.size() + column_[destination]];
  auto const& set = sets_[first_set_[node] + id];
  return {pool_.data() + set.first, set.size};
}

std::uint32_t Routes::next_link(std::uint32_t node, std::uint32_t destination, std::uint64_t flow) const {
  auto const links = next_links(node, destination);
  FF_CHECK(!links.empty(), "a route was requested from a node to itself");
  return links[flow % links.size()];
}

std::uint32_t Routes::other_end(std::uint32_t link, std::uint32_t node) const {
  auto const& l = machine_.links[link];
  return l.a == node ? l.b : l.a;
}

std::vector<Hop> Routes::path(std::uint32_t a, std::uint32_t b, std::uint64_t flow) const {
  std::vector<Hop> hops;
  while (a != b) {
    auto const link = next_link(a, b, flow);
    flow /= next_links(a, b).size();
    auto const to = other_end(link, a);
    hops.push_back({link, a, to});
    a = to;
  }
  return hops;
}

Duration Routes::latency(std::uint32_t a, std::uint32_t b) const {
  Duration sum{0};
  while (a != b) {
    auto const link = next_link(a, b);
    sum += machine_.links[link].latency;
    a = other_end(link, a);
  }
  return sum;
}

PathSummary summarize(Machine const& machine, std::span<Hop const> path) {
  PathSummary sum;
  for (auto const& hop : path) {
    auto const& link = machine.links[hop.link];
    auto const bandwidth = link.a == hop.from ? link.forward : link.backward;
    sum.bottleneck = sum.hops == 0 ? bandwidth : std::min(sum.bottleneck, bandwidth);
    sum.latency += link.latency;
    ++sum.hops;
  }
  return sum;
}

}  // namespace farfault::topologies
