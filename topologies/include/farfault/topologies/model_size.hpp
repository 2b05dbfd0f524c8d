// SPDX-License-Identifier: Apache-2.0
// Estimate of the memory that the simulation of a machine needs, before it is allocated.
//
// The estimate is based on measured sizes of components; it distinguishes a machine that fits from one that
// is ten times too large. Time: linear in nodes and links. The size of route tables grows with the square of
// the nodes, the size of a switch with the square of its links.
#pragma once

#include "farfault/engine/input_limits.hpp"
#include "farfault/topologies/machine_config.hpp"

namespace farfault::topologies {

ByteSize model_size(Machine const& machine, MachineConfig const& config);

// Throws UserError if the estimate exceeds limits.model; the message names the largest part.
void check_model_size(Machine const& machine, MachineConfig const& config, InputLimits const& limits);

}  // namespace farfault::topologies
