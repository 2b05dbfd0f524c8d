// SPDX-License-Identifier: Apache-2.0
#include "folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "farfault/engine/error.hpp"
#include "places.hpp"

namespace farfault::cli {
namespace {

// Byte ranges far beyond the end of the file: parts share the lock for runs; the lock for the table is
// exclusive.
constexpr off_t kRuns = off_t{1} << 61, kTable = kRuns + 1;

// Parses "process 12 on host", written by a whole sweep; empty for any other content.
std::string owner_in(int file) {
  std::array<char, 300> text{};
  auto const n = ::pread(file, text.data(), text.size() - 1, 0);
  std::string_view const line(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  auto const end = line.find('\n');
  return line.starts_with("process ") && end != line.npos ? shown(std::string(line.substr(0, end)))
                                                          : std::string();
}

struct flock range_of(FolderUse use) {
  struct flock range {};
  range.l_type = use == FolderUse::part ? F_RDLCK : F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = use == FolderUse::table ? kTable : kRuns;
  range.l_len = use == FolderUse::whole ? 2 : 1;
  return range;
}

[[noreturn]] void refuse(std::string const& folder, int file, struct flock const& held) {
  // Parts share the first byte; a process that writes the table holds the second one.
  auto const others = held.l_type == F_RDLCK   ? "parts of a sweep are"
                      : held.l_start == kTable ? "farfault sweep --collect is"
                                               : "another farfault sweep is";
  auto const owner = held.l_type != F_RDLCK && held.l_start == kRuns ? owner_in(file) : std::string();
  throw UserError(fmt::format("{} running in '{}'{}; rerun this command afterwards", others, one_line(folder),
                              owner.empty() ? "" : " (" + owner + ")"));
}

void check(std::string const& folder, int file, FolderUse use) {
  auto range = range_of(use);
  if (::fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK) refuse(folder, file, range);
}

}  // namespace

void check_folder_is_free(std::string const& folder, FolderUse use) {
  FileHandle const file(::open(lock_path(folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.is_open()) check(folder, file.get(), use);
}

FolderLock::FolderLock(std::string const& folder, FolderUse use) {
  auto const path = lock_path(folder);
  check_not_a_link(path);
  file_ = FileHandle(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  if (!file_.is_open()) throw UserError("cannot write '" + one_line(path) + "': " + std::strerror(errno));
  auto range = range_of(use);
  while (::fcntl(file_.get(), F_OFD_SETLK, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES) return;  // the file system has no locks
    check(folder, file_.get(), use);                 // unless it has just been released
  }
  if (use != FolderUse::whole) return;
  // For the message of a refused sweep; omitted if it cannot be written.
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  auto const owner = fmt::format("process {} on {}\n", ::getpid(), host.data());
  [[maybe_unused]] bool const told =
      ::ftruncate(file_.get(), 0) == 0 && ::pwrite(file_.get(), owner.data(), owner.size(), 0) > 0;
}

}  // namespace farfault::cli
