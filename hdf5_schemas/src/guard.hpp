// SPDX-License-Identifier: Apache-2.0
// Reading of untrusted HDF5 files.
//
// The HDF5 library can be brought to crash, loop or take all memory by a damaged file. So a child process
// reads the file under limits on memory, processor time and wall-clock time, and sends back what it found; if
// it dies or exceeds a limit, the file is damaged. The child opens no file but through open_to_read.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "handle.hpp"
#include "pack.hpp"

namespace farfault::results {

// Runs `read` on the open file in the child and returns its text. Throws UserError, with what a UserError or
// an Hdf5Failure in the child said, or that the file is damaged; or `other`, where `read` opens that too.
// `longest`: wall-clock time after which the child is stopped. 0: a limit that grows with the size of the
// file.
std::string read_guarded(std::string const& path, std::function<std::string(hid_t file)> const& read,
                         std::string const& other = {}, std::chrono::milliseconds longest = {});

// Throws UserError unless `path` can be opened and holds a result.
void check_readable(std::string const& path);

// Throws Hdf5Failure unless the open file is a result of a schema that this program knows.
void check_is_result(hid_t file);
// The same, of the version alone, for the root group of any file of ours that has one.
void check_schema(hid_t root);

}  // namespace farfault::results
