// SPDX-License-Identifier: Apache-2.0
// Replaces the reader in a child process (hdf5_schemas/format/src/reading/guard.cpp) by one in this process,
// for files whose HDF5 structures are undamaged.
#include "farfault/engine/error.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/walk.hpp"

namespace farfault::results {

std::string read_guarded(std::string const& path, std::function<std::string(ObjectId)> const& read,
                         std::string const& other, std::chrono::milliseconds) {
  quiet();
  try {
    auto const file = open_to_read(path, "HDF5 cannot open it");
    return read(file);
  } catch (Hdf5Failure const& problem) {
    auto const names = other.empty() ? path : path + " or " + other;
    throw UserError(names + " is damaged or not a Farfault result: " + problem.what());
  }
}

}  // namespace farfault::results
