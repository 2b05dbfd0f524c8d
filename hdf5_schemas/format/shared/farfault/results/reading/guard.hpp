// SPDX-License-Identifier: Apache-2.0
// Reading of untrusted HDF5 files.
//
// A damaged file can make the HDF5 library crash, loop or use all memory. A child process therefore reads the
// file under limits on memory, processor time and wall-clock time, and returns the result. If it dies or
// exceeds a limit, the file is reported as damaged. The child opens files only through open_to_read.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "farfault/results/reading/handle.hpp"
#include "farfault/results/reading/pack.hpp"

namespace farfault::results {

// Runs `read` on the open file in the child and returns its text. Throws UserError with the message of a
// UserError or Hdf5Failure in the child, or because the file is damaged. `other`: a second file that `read`
// opens. `longest`: wall-clock limit. 0: a limit that grows with the size of the file.
std::string read_guarded(std::string const& path, std::function<std::string(ObjectId file)> const& read,
                         std::string const& other = {}, std::chrono::milliseconds longest = {});

// Throws UserError unless `path` can be opened and is a result.
void check_readable(std::string const& path);

// Throws Hdf5Failure unless the open file is a result with a supported schema version.
void check_is_result(ObjectId file);
// The schema_version of a file's root group. Throws Hdf5Failure if it is not a number.
std::int64_t version_of(ObjectId root);
// Checks only the version, for the root group of any Farfault file that has one.
void check_schema(ObjectId root);

}  // namespace farfault::results
