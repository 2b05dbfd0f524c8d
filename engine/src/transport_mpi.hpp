// SPDX-License-Identifier: Apache-2.0
// Private: the MPI transport, or null where the build has no MPI.
#pragma once

#include <cstddef>

#include "farfault/engine/transport.hpp"

namespace farfault {

// What is longer than `most_at_once` bytes is sent in pieces: MPI counts in int. Throws RunError where MPI
// gives too little thread support.
std::unique_ptr<Transport> make_mpi_transport(std::size_t most_at_once = std::size_t{1} << 30,
                                              bool share_memory = true);

}  // namespace farfault
