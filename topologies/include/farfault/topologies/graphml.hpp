// SPDX-License-Identifier: Apache-2.0
// Machines as GraphML, for graph tools (yEd, Gephi, networkx) and back.
//
// - Node attributes: kind, numa, sm_count, model. Edge attributes: kind, latency, forward, backward (or
//   bandwidth for both), count. Names are the ids of the nodes.
// - Units: quantities carry their unit ("16GB/s"); bandwidths are per physical link of `count`.
// - Guarantees: parse_machine(write_graphml(m)) has the nodes and links of m, in order, if every link's
//   bandwidth is a multiple of its count (otherwise it is rounded down to one).
// - Directed graphs are read too: an edge gives the bandwidth of its direction; an edge without a partner
//   counts for both directions.
#pragma once

#include <string>

#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

std::string write_graphml(Machine const& machine);

}  // namespace farfault::topologies
