// SPDX-License-Identifier: Apache-2.0
// A new HDF5 file in the format of all Farfault files.
#pragma once

#include <string>

#include "commit_file.hpp"
#include "farfault/results/reading/handle.hpp"

namespace farfault::results {

// Creates an empty file on `file`. All but the first blocks have the format of HDF5 1.10, which takes 20% of
// the space for many small datasets. The first blocks have an older format for two reasons: readers refuse a
// superblock of 1.10 until the file is closed, also in the file of a killed run; and the superblock of 1.8
// has a block that contains the time of day.
Handle create_file(CommitFile& file, std::string const& path);

// Closes the file, so that all data has reached the CommitFile. No object of the file may be open.
void close_file(Handle& hdf5);

}  // namespace farfault::results
