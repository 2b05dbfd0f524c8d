// SPDX-License-Identifier: Apache-2.0
// Private: excludes concurrent sweeps from a folder.
//
// `DIR/sweep.lock` is locked by fcntl; the file is kept, and the kernel releases the lock when the process
// ends. A whole sweep is exclusive. Parts of a sweep (tasks of an array job) may run concurrently, together
// with one process that writes the table. On a file system without locks, nothing is excluded.
#pragma once

#include <cstdint>
#include <string>

#include "farfault/engine/files.hpp"

namespace farfault::cli {

enum class FolderUse : std::uint8_t { whole, part, table };

// Throws UserError if another process holds a lock that is incompatible with `use`: a sentence that names the
// folder and, if known, the process. Creates no file; a missing folder is free.
void check_folder_is_free(std::string const& folder, FolderUse use);

class FolderLock {
 public:
  // Throws like check_folder_is_free(), and if the file cannot be created.
  FolderLock(std::string const& folder, FolderUse use);

  // In a child process, which may outlive its parent and must not keep the lock.
  void leave() { file_ = FileHandle(); }

 private:
  FileHandle file_;
};

}  // namespace farfault::cli
