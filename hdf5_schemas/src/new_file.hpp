// SPDX-License-Identifier: Apache-2.0
// A new HDF5 file, of the format that all of Farfault's have.
#pragma once

#include <string>

#include "commit_file.hpp"
#include "handle.hpp"

namespace farfault::results {

// An empty file under `file`. All but its first blocks have the format of HDF5 1.10, which takes a fifth of
// the room for many small datasets. The first blocks are older for two reasons: the superblock of 1.10 would
// keep every reader away until the file is closed, also from the file of a killed run; and that of 1.8 comes
// with a block that holds the time of day.
Handle create_file(CommitFile& file, std::string const& path);

// Closes it, so that all of it has reached the CommitFile. Nothing in it may be open.
void close_file(Handle& hdf5);

}  // namespace farfault::results
