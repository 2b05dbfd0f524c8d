// SPDX-License-Identifier: Apache-2.0
// How much memory the simulation of a machine takes, before any of it is taken.
//
// An estimate, from what was measured of the components; it is meant to tell a machine that fits from one
// that is ten times too large. It takes time in proportion to the nodes and links. What grows faster than the
// machine: tables of routes with the square of the nodes, a switch with the square of its links.
#pragma once

#include "farfault/engine/input_limits.hpp"
#include "farfault/topologies/assembly.hpp"

namespace farfault::topologies {

ByteSize model_size(Machine const& machine, MachineConfig const& config);

// Throws UserError where the estimate is above limits.model; the sentence says which part is the largest.
void check_model_size(Machine const& machine, MachineConfig const& config, InputLimits const& limits);

}  // namespace farfault::topologies
