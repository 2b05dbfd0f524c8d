// SPDX-License-Identifier: Apache-2.0
// Private: the MPI transport, or null in a build without MPI.
#pragma once

#include <cstddef>

#include "farfault/engine/transport.hpp"

namespace farfault {

// Data longer than `max_at_once` bytes is sent in pieces: MPI counts in int. Throws RunError if MPI's
// thread support is insufficient.
std::unique_ptr<Transport> make_mpi_transport(std::size_t max_at_once = std::size_t{1} << 30,
                                              bool share_memory = true);

}  // namespace farfault
