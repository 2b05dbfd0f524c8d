// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "farfault/engine/error.hpp"

namespace farfault {

namespace {

std::string reason_of(int error) {
  return error == ENOENT ? "no such file" : std::strerror(error);
}

// The system would use only the part before it.
constexpr char const* kNulInName = "its name contains a NUL character";
bool has_nul(std::string const& path) {
  return path.find('\0') != path.npos;
}

[[noreturn]] void cannot_write(std::string const& path, std::string const& why) {
  throw UserError("cannot write '" + one_line(path) + "': " + why);
}

// The refusal of a file that is not regular.
std::string why_not_regular(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a directory, not a regular file";
  auto const* const kind = S_ISFIFO(mode) ? "FIFO" : S_ISSOCK(mode) ? "socket" : "device";
  return std::string("it is a ") + kind + ", not a regular file; copy its contents to a file first";
}

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a directory";
  if (S_ISLNK(mode)) return "it is a symbolic link";
  return "it is not a regular file";
}

#ifdef F_OFD_SETLK
// A byte far beyond the end, so that readers that lock the file are not blocked from a running simulation's
// results.
struct flock lock_range() {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = off_t{1} << 61;
  range.l_len = 1;
  return range;
}
#endif

// True if no other handle holds the lock; a file system without locks always grants it.
bool lock(int descriptor) {
#ifdef F_OFD_SETLK
  auto range = lock_range();
  return ::fcntl(descriptor, F_OFD_SETLK, &range) == 0 || (errno != EAGAIN && errno != EACCES);
#else
  return descriptor >= 0;
#endif
}

std::string full_name(std::string const& path) {
  std::error_code error;
  auto const absolute = std::filesystem::absolute(path, error);
  if (error) return path;
  auto const canonical = std::filesystem::weakly_canonical(absolute, error);
  return error ? absolute.lexically_normal().string() : canonical.string();
}

}  // namespace

FileHandle::~FileHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string why_not_readable(std::string const& path) {
  if (has_nul(path)) return kNulInName;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return reason_of(errno);
  if (!S_ISREG(status.st_mode)) return why_not_regular(status.st_mode);
  if (::access(path.c_str(), R_OK) != 0) return reason_of(errno);
  return {};
}

Input open_input(std::string const& path) {
  Input input;
  // Checked first, because opening a device may have an effect.
  input.why_not = why_not_readable(path);
  if (!input.why_not.empty()) return input;
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
    input.why_not = reason_of(errno);
  } else if (!S_ISREG(status.st_mode)) {
    input.why_not = why_not_regular(status.st_mode);
  } else {
    input.file = std::move(file);
    input.bytes = static_cast<std::uint64_t>(status.st_size);
  }
  return input;
}

std::string read_bytes(FileHandle const& file, std::uint64_t most) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 16;
  std::string bytes;
  while (bytes.size() < most) {
    auto const before = bytes.size();
    bytes.resize(before + std::min(std::max(kPiece, std::uint64_t{before}), most - before));
    auto const n = ::read(file.get(), bytes.data() + before, bytes.size() - before);
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category());
    if (n == 0) break;
  }
  return bytes;
}

std::string first_bytes(std::string const& path, std::uint64_t most) {
  auto const input = open_input(path);
  try {
    return input.file.is_open() ? read_bytes(input.file, most) : std::string();
  } catch (std::system_error const&) {
    return {};
  }
}

bool exists(std::string const& path) {
  struct stat status {};
  return !has_nul(path) && ::lstat(path.c_str(), &status) == 0;
}

void check_replaceable(std::string const& path) {
  if (has_nul(path)) cannot_write(path, kNulInName);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) cannot_write(path, std::strerror(errno));
    return;
  }
  if (!S_ISREG(status.st_mode)) cannot_write(path, kind_of(status.st_mode));
  if (::access(path.c_str(), W_OK) != 0) cannot_write(path, std::strerror(errno));
}

void check_not_a_link(std::string const& path) {
  if (has_nul(path)) cannot_write(path, kNulInName);
  struct stat named {};
  if (::lstat(path.c_str(), &named) == 0 && !S_ISREG(named.st_mode))
    cannot_write(path, kind_of(named.st_mode));
}

FileHandle create_locked(std::string const& path, std::string const& owner) {
  auto const& name = owner.empty() ? path : owner;
  for (;;) {
    check_not_a_link(path);
    FileHandle file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    if (!file.is_open()) cannot_write(name, std::strerror(errno));
    struct stat opened {};
    struct stat named {};
    if (::fstat(file.get(), &opened) != 0) cannot_write(path, std::strerror(errno));
    if (!S_ISREG(opened.st_mode)) cannot_write(path, kind_of(opened.st_mode));
    if (!lock(file.get())) cannot_write(name, "another run is writing it");
    // Between opening and locking, its owner may have renamed or deleted the file.
    if (::lstat(path.c_str(), &named) != 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev)
      continue;
    if (opened.st_nlink > 1) {
      if (::unlink(path.c_str()) != 0) cannot_write(path, std::strerror(errno));
      continue;
    }
    if (::ftruncate(file.get(), 0) != 0) cannot_write(path, std::strerror(errno));
    return file;
  }
}

bool is_locked(std::string const& path) {
#ifdef F_OFD_SETLK
  auto const file = open_input(path).file;
  auto range = lock_range();
  return file.is_open() && ::fcntl(file.get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
#else
  return false;
#endif
}

bool same_file(std::string const& a, std::string const& b) {
  struct stat of_a {};
  struct stat of_b {};
  bool const a_there = ::stat(a.c_str(), &of_a) == 0;
  bool const b_there = ::stat(b.c_str(), &of_b) == 0;
  if (a_there && b_there) return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  return a_there == b_there && full_name(a) == full_name(b);
}

void write_bytes(FileHandle const& file, std::string_view bytes) {
  while (!bytes.empty()) {
    auto const n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category());
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
}

void sync_folder_of(std::string const& path) {
  auto folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  FileHandle const handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.is_open()) ::fsync(handle.get());
}

std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (char const c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace farfault
