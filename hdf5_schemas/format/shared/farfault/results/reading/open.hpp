// SPDX-License-Identifier: Apache-2.0
// Opening of untrusted files and their objects. No other code calls HDF5 functions that open a file, a group
// or a dataset for reading, or look up a name.
//
// Guarantees:
// - Nothing outside the file is opened or read. Each component of a path is a hard link, never a soft,
//   external or user-defined link. A dataset has no external storage and no virtual layout.
// - No plug-in is loaded: the filters of a dataset are shuffle and deflate, as the writer uses them.
// - An object has one name, so a walk of all paths ends and visits each object once.
// - Only regular files are opened. A FIFO or a device is refused without waiting.
// Errors: Hdf5Failure with the name of the object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/results/reading/handle.hpp"

namespace farfault::results {

inline constexpr std::uint64_t kMaxNames = 1'000'000;  // in a group, or of attributes of an object
inline constexpr int kMaxDepth = 16;                   // of nested groups

// Opens a file for reading, without a lock, so that the file of a run in progress is readable. Open all files
// within read_guarded with it: HDF5 refuses to open one file in two ways.
Handle open_to_read(std::string const& path, char const* failure);

// Afterwards this process opens files only by open_to_read, whatever HDF5 finds in the open ones.
void forbid_opening();

// Paths are relative to `parent`, or to the root group if they begin with '/'. Members that schema_version 3
// has renamed are found in older files by their present names, too.
Handle open_object(ObjectId parent, std::string const& path);  // a group, a dataset or a named type
Handle open_group(ObjectId parent, std::string const& path);
Handle open_dataset(ObjectId parent, std::string const& path);

// True if all components of `path` exist. Throws for a component that is not a hard link.
bool has(ObjectId parent, std::string const& path);

// Of hard links, sorted. link_names: present names; stored_names: the names in the file.
std::vector<std::string> link_names(ObjectId group);
std::vector<std::string> stored_names(ObjectId group);

}  // namespace farfault::results
