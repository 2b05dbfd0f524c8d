// SPDX-License-Identifier: Apache-2.0
// The MPI library in use, in its own words, on one line; "none" in a build without MPI.
#pragma once

#include <string>

namespace farfault {

std::string mpi_library();

}  // namespace farfault
