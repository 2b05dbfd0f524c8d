// SPDX-License-Identifier: Apache-2.0
// How many streaming multiprocessors (compute units) each GPU of a machine has.
#pragma once

#include <cstdint>

#include "farfault/topologies/machine.hpp"

namespace farfault::topologies {

// As many as are configured; where that is 0, as many as the machine says of its first GPU, or else 36.
std::uint32_t sms_of_gpu(Machine const& machine, std::uint32_t configured);

}  // namespace farfault::topologies
