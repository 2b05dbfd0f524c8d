// SPDX-License-Identifier: Apache-2.0
// Number of streaming multiprocessors (compute units) of each GPU in a machine.
#pragma once

#include <cstdint>

#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

// The configured number; if it is 0, the number stated for the machine's first GPU, else 36.
std::uint32_t sms_of_gpu(Machine const& machine, std::uint32_t configured);

}  // namespace farfault::topologies
