// SPDX-License-Identifier: Apache-2.0
// Private: who may work in the folder of a sweep at a time.
//
// `DIR/sweep.lock`, which stays behind, is locked by fcntl; the lock goes with the process, however that
// ends. A whole sweep is alone; parts of it (tasks of an array job) work beside each other, and one that
// collects the table beside them. A file system without locks keeps nobody away.
#pragma once

#include <cstdint>
#include <string>

#include "farfault/engine/files.hpp"

namespace farfault::cli {

enum class FolderUse : std::uint8_t { whole, part, table };

// Throws UserError where others are at work that `use` does not go with: a sentence that names the folder
// and, where it is known, the process. Makes no file; a folder that is not there is free.
void check_folder_is_free(std::string const& folder, FolderUse use);

class FolderLock {
 public:
  // Throws as check_folder_is_free() does, and where the file cannot be made.
  FolderLock(std::string const& folder, FolderUse use);

  // In a child process, which is to end after its parent without keeping the lock.
  void leave() { file_ = FileHandle(); }

 private:
  FileHandle file_;
};

}  // namespace farfault::cli
