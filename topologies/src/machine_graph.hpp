// SPDX-License-Identifier: Apache-2.0
// A machine as a graph for Boost.Graph. Vertex i is node i; an edge carries the index of its link.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>

#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

struct LinkIndex {
  std::uint32_t link = 0;
};

using UndirectedGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property, LinkIndex>;

inline UndirectedGraph to_undirected(Machine const& machine) {
  UndirectedGraph graph(machine.nodes.size());
  for (std::uint32_t i = 0; i < machine.links.size(); ++i)
    boost::add_edge(machine.links[i].a, machine.links[i].b, LinkIndex{i}, graph);
  return graph;
}

}  // namespace farfault::topologies
