// SPDX-License-Identifier: Apache-2.0
// Machines as GraphML, for graph tools (yEd, Gephi, networkx) and back.
//
// Node attributes: kind, numa, sm_count, model; edge attributes: kind, latency, forward, backward (or
// bandwidth for both), count. Quantities carry their unit ("16GB/s"); bandwidths are those of one physical
// link of `count`. Guarantees: parse_machine(write_graphml(m)) has the nodes and links of m, in order, where
// every link's bandwidth is a multiple of its count (it is rounded down to one otherwise). Names are the ids
// of the nodes. A directed graph is read too: an edge gives the bandwidth of its direction; one without a
// partner works both ways.
#pragma once

#include <string>

#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

std::string write_graphml(Machine const& machine);

}  // namespace farfault::topologies
