// SPDX-License-Identifier: Apache-2.0
// Factors on the latency and bandwidth of links, for machines whose source states them.
//
// - Factors of a kind apply to all its links, factors of by_name to single links: gpu0-nvswitch1 (the names
//   of the nodes at its ends, in either order). A link with both has the product. Both directions are scaled.
// - Values are rounded to 1 ps and 1 B/s. A link with a factor of 1 keeps its exact values.
#pragma once

#include <array>
#include <string>

#include "farfault/engine/config.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

struct LinkScale {
  struct Factors {
    double bandwidth = 1;
    double latency = 1;
    void describe(ParamTable& t);
  };
  std::array<Factors, kLinkKinds.size()> kinds;  // by LinkKind
  std::string by_name;

  void describe(ParamTable& t);
  // Scales the links. Errors: an invalid by_name, an unknown link, a value outside the limits of validate().
  void apply(Machine& machine, Config& config) const;
};

}  // namespace farfault::topologies
