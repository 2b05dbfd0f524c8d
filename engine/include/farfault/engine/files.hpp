// SPDX-License-Identifier: Apache-2.0
// Files named by a user: opened without blocking, and without destroying files by mistake.
//
// Guarantees: no call blocks on a FIFO or a device, and none throws a std::filesystem error; a file is
// written through no link, and by one process at a time. Errors: UserError, one sentence.
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
// Opens every file named by a user (tests/cli/special_files.sh checks that no other function is used), except
// results, which HDF5 opens in a child process under limits. Follows links.
Input open_input(std::string const& path);
// The bytes of `file` from its current position, at most `most`. Throws std::system_error.
std::string read_bytes(FileHandle const& file, std::uint64_t most);
// The first bytes of a file, at most `most`; empty if it cannot be read.
std::string first_bytes(std::string const& path, std::uint64_t most);

// True if anything has this name, a broken link included.
bool is_there(std::string const& path);

// Throws UserError if a file of this name could not be replaced by a new one: the existing file is not a
// regular file (through links as well), or may not be written.
void check_replaceable(std::string const& path);
// The same for a file that is written in place: a link is refused as well.
void check_not_a_link(std::string const& path);

// Creates `path`, or empties an existing file, and locks it until the handle is closed. Throws
// UserError if another process holds the lock, or the name belongs to a link or is not a regular file. A file
// with further names (hard links) keeps its content under them. `owner`: the file that messages name instead,
// for an auxiliary file.
FileHandle create_locked(std::string const& path, std::string const& owner = {});

// True if another process, or another handle of this one, holds that lock.
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
