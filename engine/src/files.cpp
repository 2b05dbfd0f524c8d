// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

[[noreturn]] void cannot_write(std::string const& path, std::string const& why) {
  throw UserError("cannot write '" + path + "': " + why);
}

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a directory";
  if (S_ISLNK(mode)) return "it is a symbolic link";
  return "it is not a regular file";
}

#ifdef F_OFD_SETLK
// A byte far behind the end, so that readers who lock the file are not kept away from a running simulation's
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

// Whether nobody else holds the lock; a file system without locks gives it to everybody.
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
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return reason_of(errno);
  if (!S_ISREG(status.st_mode)) return "not a regular file";
  if (::access(path.c_str(), R_OK) != 0) return reason_of(errno);
  return {};
}

bool is_there(std::string const& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

void check_replaceable(std::string const& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) cannot_write(path, std::strerror(errno));
    return;
  }
  if (!S_ISREG(status.st_mode)) cannot_write(path, kind_of(status.st_mode));
  if (::access(path.c_str(), W_OK) != 0) cannot_write(path, std::strerror(errno));
}

void check_not_a_link(std::string const& path) {
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
    // Between opening and locking, its owner may have given the file another name or none.
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
  FileHandle const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
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
