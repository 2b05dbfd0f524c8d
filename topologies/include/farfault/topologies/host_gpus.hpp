// SPDX-License-Identifier: Apache-2.0
// Number of GPUs of a host that runs the applications: the GPUs of all machines of its instance
// (assembly.hpp).
#pragma once

#include <cstdint>

#include "farfault/paging/memory_scope.hpp"
#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

// If hosts differ, the smallest number.
std::uint32_t gpus_of_host(Machine const& machine, MemoryScope::Facts const& scope);

}  // namespace farfault::topologies
