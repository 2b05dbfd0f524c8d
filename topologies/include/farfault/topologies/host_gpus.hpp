// SPDX-License-Identifier: Apache-2.0
// How many GPUs a host has that runs the applications: those of all machines of its instance (assembly.hpp).
#pragma once

#include <cstdint>

#include "farfault/paging/memory_scope.hpp"
#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

// Of hosts that differ, those of the one that has the fewest.
std::uint32_t gpus_of_host(Machine const& machine, MemoryScope const& scope);

}  // namespace farfault::topologies
