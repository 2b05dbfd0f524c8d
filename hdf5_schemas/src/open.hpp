// SPDX-License-Identifier: Apache-2.0
// Opening of files and objects that anybody may have written: the only calls of HDF5 that open a file, a
// group or a dataset for reading, or look up a name.
//
// Guarantees
// - Nothing outside the file is opened or read. Each component of a path is a hard link, never a soft,
// external or
//   user-defined one; a dataset has no external storage and no virtual layout.
// - No plug-in is loaded: the filters of a dataset are the writer's, shuffle and deflate.
// - An object has one name, so a walk of all paths ends and visits each object once.
// - A file is a regular one; a FIFO or a device is refused, not waited for.
// Errors: Hdf5Failure, which names the object.
#pragma once

#include <string>
#include <vector>

#include "handle.hpp"

namespace farfault::results {

inline constexpr hsize_t kMaxNames = 1'000'000;  // in a group, or of attributes of an object
inline constexpr int kMaxDepth = 16;             // of groups within groups

// Opens a file for reading, without a lock, so that the file of a run in progress can be read. Within
// read_guarded all files are opened by it: HDF5 refuses to open one file in two ways.
Handle open_to_read(std::string const& path, char const* failure);

// After it, this process opens no file but by open_to_read, whatever HDF5 finds in the open ones.
void forbid_opening();

// Paths are relative to `parent`, or to the root group where they begin with '/'.
Handle open_object(hid_t parent, std::string const& path);  // a group, a dataset or a named type
Handle open_group(hid_t parent, std::string const& path);
Handle open_dataset(hid_t parent, std::string const& path);
H5O_type_t type_of(hid_t object);

// Whether `path` exists, to its last component. Throws where a component is a link to elsewhere.
bool has(hid_t parent, std::string const& path);

std::vector<std::string> link_names(hid_t group);  // of hard links, sorted

}  // namespace farfault::results
