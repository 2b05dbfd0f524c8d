// SPDX-License-Identifier: Apache-2.0
// A machine for people and for other programs.
//
// describe_text: nodes, links, the routes between GPUs by class (links, latency, narrowest link) and what was
// assumed. describe_json: one line, {"kind":"topology","format":"nccl-xml","name":...,"nodes":{"gpu":8,...},
//   "links":{"pcie":12,...},"pairs":{...},"assumed":[...]}; every kind of node and link is present. "links"
//   counts physical links (two NVLinks between the same GPUs are two), "pairs" the pairs of nodes that they
//   join.
// describe_dot: the graph in Graphviz's language; an edge says its latency, bandwidth and, where more than
// one, count. All three are functions of the machine alone.
#pragma once

#include <string>

#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

std::string describe_text(Machine const& machine);
std::string describe_json(Machine const& machine);
std::string describe_dot(Machine const& machine);

}  // namespace farfault::topologies
