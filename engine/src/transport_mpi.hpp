// Private: the MPI transport, or null where the build has no MPI.
#pragma once

#include "farfault/engine/transport.hpp"

namespace farfault {

std::unique_ptr<Transport> make_mpi_transport();

}  // namespace farfault
