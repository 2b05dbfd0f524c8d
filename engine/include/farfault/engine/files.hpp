// SPDX-License-Identifier: Apache-2.0
// Files named by a user: opened without blocking, and without destroying files by mistake.
//
// - Guarantees: no call blocks on a FIFO or a device, and none throws a std::filesystem error. A file of
//   create_locked() is never opened through a symbolic link, and has one writer at a time if the file system
//   supports locks.
// - Errors: UserError, one sentence; read_bytes() and write_bytes() throw std::system_error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace farfault {

// An open file, closed with its owner.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int descriptor) : descriptor_(descriptor) {}
  FileHandle(FileHandle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileHandle();

  int get() const { return descriptor_; }
  // The caller closes the descriptor.
  int release() { return std::exchange(descriptor_, -1); }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// Why `path` cannot be read as a file, in a few words ("no such file", "Permission denied", "it is a
// directory, not a regular file"), or empty. Follows links.
std::string why_not_readable(std::string const& path);

// A regular file, opened for reading. The check is made on the open descriptor, so a FIFO cannot replace the
// file in between; a read that would block fails.
struct Input {
  FileHandle file;  // not open: `why_not` holds the reason, as why_not_readable() returns it
  std::string why_not;
  std::uint64_t bytes = 0;  // size of the file when it was opened
};
// All input files named by a user are opened with this function (checked by tests/cli/special_files.sh).
// Exception: results, which a child process with limited memory and time opens with HDF5. Follows links.
Input open_input(std::string const& path);
// The bytes of `file` from its current position, at most `most`. Throws std::system_error.
std::string read_bytes(FileHandle const& file, std::uint64_t most);
// The first bytes of a file, at most `most`; empty if it cannot be read.
std::string first_bytes(std::string const& path, std::uint64_t most);

// True if `path` exists; a broken link counts.
bool exists(std::string const& path);

// Throws UserError if a file of this name could not be replaced by a new one: the existing file is not a
// regular file (through links as well), or may not be written.
void check_replaceable(std::string const& path);
// Throws UserError if `path` exists and is a symbolic link or not a regular file. Does not check the
// permission to write: call check_replaceable() as well.
void check_not_a_link(std::string const& path);

// Creates `path`, or empties an existing file, and locks it until the handle is closed. Throws
// UserError if another process holds the lock, or the name belongs to a link or is not a regular file. A file
// with further names (hard links) keeps its content under them. `owner`: the file that messages name instead,
// for an auxiliary file.
FileHandle create_locked(std::string const& path, std::string const& owner = {});

// True if another process, or another handle of this one, holds the lock of create_locked(). False if the
// system has no locks of open files (F_OFD_SETLK).
bool is_locked(std::string const& path);

// True if both are one file, by device and inode; missing files are compared by their full names.
bool same_file(std::string const& a, std::string const& b);

// FNV-1a of the bytes: identifies an input file.
std::uint64_t fnv1a(std::string_view bytes);

// Writes all of `bytes` at the current position of `file`. Throws std::system_error.
void write_bytes(FileHandle const& file, std::string_view bytes);

// Makes renames in the folder of `path` durable across a power failure, if the file system supports it.
void sync_folder_of(std::string const& path);

}  // namespace farfault
