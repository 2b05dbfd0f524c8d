// SPDX-License-Identifier: Apache-2.0
// Which MPI the program speaks, in the library's own words, on one line; "none" where it was built without.
#pragma once

#include <string>

namespace farfault {

std::string mpi_library();

}  // namespace farfault
