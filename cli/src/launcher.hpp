// SPDX-License-Identifier: Apache-2.0
// Private: copies of the program that a launcher started and MPI did not join.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace farfault::cli {

// A variable of the environment, or a null pointer.
using Environment = std::function<char const*(char const*)>;

// What is missing, as a sentence, where the launcher started several copies of the program and each believes
// that it is alone: they would all write the same output. `ranks` are those that MPI knows of.
std::optional<std::string> missing_mpi(std::uint32_t ranks, Environment const& environment);

}  // namespace farfault::cli
