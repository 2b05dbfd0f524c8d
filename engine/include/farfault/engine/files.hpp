// SPDX-License-Identifier: Apache-2.0
// Files that a user names: opened so that nothing waits and nothing is destroyed by mistake.
//
// Guarantees: no call blocks on a FIFO or a device, and none throws a std::filesystem error; a file to be
// written is written through no link, and by one process at a time. Errors: UserError, one sentence.
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
  // Whoever calls it closes the descriptor.
  int release() { return std::exchange(descriptor_, -1); }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// Why `path` cannot be read as a file, in a few words ("no such file", "Permission denied", "it is a
// directory, not a regular file"), or nothing. Follows links.
std::string why_not_readable(std::string const& path);

// A regular file, opened for reading. The check is made on the open descriptor, so a FIFO cannot replace the
// file in between; a read that would block fails.
struct Input {
  FileHandle file;  // not open: `why_not` holds the reason, as why_not_readable() returns it
  std::string why_not;
  std::uint64_t bytes = 0;  // of the file, when it was opened
};
// Every file that a user names is opened by this (tests/cli/special_files.sh looks for other ways), but for
// results, which HDF5 opens in a child process under limits. Follows links.
Input open_input(std::string const& path);
// The bytes of `file` from its place on, at most `most`. Throws std::system_error.
std::string read_bytes(FileHandle const& file, std::uint64_t most);
// The first bytes of a file, at most `most`; nothing of one that cannot be read.
std::string first_bytes(std::string const& path, std::uint64_t most);

// Whether anything has this name, a link that leads nowhere included.
bool is_there(std::string const& path);

// Throws UserError when a file of this name could not be replaced by a new one: what has the name is no
// regular file (through links, too), or may not be written.
void check_replaceable(std::string const& path);
// The same for a file that is written in place: a link is refused, too.
void check_not_a_link(std::string const& path);

// Creates `path`, or empties what an earlier run left there, and locks it until the handle is closed. Throws
// UserError where another process holds the lock, or the name belongs to a link or to no regular file. A file
// that has other names, too, keeps its content under them. `owner` is the file that a message names in place
// of one that serves it.
FileHandle create_locked(std::string const& path, std::string const& owner = {});

// Whether another process, or another handle of this one, holds that lock.
bool is_locked(std::string const& path);

// Whether both are one file, told by device and inode; of files that are not there, by their full names.
bool same_file(std::string const& a, std::string const& b);

// FNV-1a of the bytes: what tells one input file from another.
std::uint64_t fnv1a(std::string_view bytes);

// All of `bytes`, at the place of `file`. Throws std::system_error.
void write_bytes(FileHandle const& file, std::string_view bytes);

// Makes renames in the folder of `path` last through a power cut, where the file system can.
void sync_folder_of(std::string const& path);

}  // namespace farfault
