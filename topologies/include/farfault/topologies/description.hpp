// SPDX-License-Identifier: Apache-2.0
// Descriptions of a machine for users and programs.
//
// - describe_text: nodes, links, the routes between GPUs by class (links, latency, narrowest link), and the
//   assumptions.
// - describe_json: one line with all kinds of nodes and links:
//   {"kind":"topology","format":"nccl-xml","name":...,"nodes":{"gpu":8,...},"links":{"pcie":12,...},
//    "pairs":{...},"assumed":[...]}
//   "links" counts physical links (two NVLinks between the same GPUs are two), "pairs" the joined pairs of
//   nodes.
// - describe_dot: the graph in Graphviz's language; edges have latency, bandwidth and, above one, count.
//
// All three are functions of the machine alone.
#pragma once

#include <string>

#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

std::string describe_text(Machine const& machine);
std::string describe_json(Machine const& machine);
std::string describe_dot(Machine const& machine);

}  // namespace farfault::topologies
