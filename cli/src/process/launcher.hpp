// SPDX-License-Identifier: Apache-2.0
// Private: detects copies of the program that were started by a launcher but not joined by MPI.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace farfault::cli {

// Returns a variable of the environment, or a null pointer.
using Environment = std::function<char const*(char const*)>;

// The missing piece, as a sentence, if the launcher started several copies of the program and each one has
// only one rank: all copies would write the same output. `ranks`: the ranks of MPI.
std::optional<std::string> missing_mpi(std::uint32_t ranks, Environment const& environment);

}  // namespace farfault::cli
