// SPDX-License-Identifier: Apache-2.0
// Generated machines: a node of n GPUs, and clusters of N copies of any machine.
//
// - The result has passed validate(); the same Spec gives the same machine, node for node. Sizes are checked
//   before anything is built.
// - In a cluster, copy i of machine node "x" is "m<i>.x". Network switches are "net...."; they belong to no
//   machine.
// - Every NIC of every copy is joined to the network by one link, with the NIC's bandwidth. A machine without
//   NICs gets one, on its first CPU (listed in `assumed`).
// - Links between switches have ClusterSpec::switch_bandwidth. All other values are LinkDefaults.
// - Errors: UserError with the parameter, its value and the rule.
#pragma once

#include <cstdint>

#include "farfault/engine/params.hpp"
#include "farfault/topologies/link_defaults.hpp"
#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

enum class GenericFabric : std::uint8_t { pcie, nvlink_mesh };

// One CPU, a root complex, PCIe switches below it, GPUs below the switches; with nvlink_mesh also NVLinks
// between all pairs of GPUs. Each PCIe link includes half of the latency of each switch at its ends:
// pcie_latency for a link to an end point, twice that between two switches. With 4 GPUs, two per switch, this
// is paper-gmmu-bypass.
struct GenericSpec {
  std::uint32_t gpus = 4;
  std::uint32_t gpus_per_switch = 2;
  std::uint32_t nics_per_switch = 0;
  GenericFabric fabric = GenericFabric::pcie;
  std::uint32_t nvlinks_per_pair = 1;

  void describe(ParamTable& t);
};

Machine generate_generic(GenericSpec const& spec, LinkDefaults const& defaults = {});

// Shapes of the network:
// - fat_tree: a folded Clos of switches with `radix` ports, with the fewest levels that hold all NICs: one
//   switch, leaves and spines, or the three-level fat tree (leaves, aggregation, core) of up to radix^3 / 4
//   NICs. Full bisection bandwidth.
// - rail_optimized: NIC j of every machine is on the leaves of rail j, half of a leaf's ports lead to
//   machines; spines above.
// - dragonfly: groups of routers joined all to all, and one link between every two groups (Kim et al., ISCA
//   2008).
// - torus: one router per machine in a three-dimensional grid with wrap-around.
enum class ClusterShape : std::uint8_t { fat_tree, rail_optimized, dragonfly, torus };

struct ClusterSpec {
  ClusterShape shape = ClusterShape::fat_tree;
  std::uint32_t machines = 2;
  std::uint32_t radix = 64;
  Bandwidth switch_bandwidth{0};
  std::uint32_t routers_per_group = 8;
  std::uint32_t nics_per_router = 4;
  std::uint32_t global_links_per_router = 4;
  std::uint32_t x = 0, y = 0, z = 0;

  void describe(ParamTable& t);
};

Machine generate_cluster(Machine const& machine, ClusterSpec const& spec, LinkDefaults const& defaults = {});

}  // namespace farfault::topologies
