// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/checkpoint.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"

namespace farfault {

namespace {

constexpr std::array<char, 8> kMagic = {'F', 'F', 'C', 'K', 'P', 'T', '\r', '\n'};
constexpr std::uint64_t kVersion = 4;

struct FixedHeader {
  std::array<char, 8> magic = kMagic;
  std::uint64_t version = kVersion;
  std::uint64_t bytes = 0;  // of the body that follows
  std::uint64_t hash = 0;   // of the body
};

std::string system_error() {
  return std::strerror(errno);
}

void write_all(int descriptor, std::byte const* data, std::size_t n, std::string const& path) {
  while (n > 0) {
    auto const done = ::write(descriptor, data, n);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENOSPC;
    if (done <= 0) throw RunError("checkpoint " + path + " cannot be written: " + system_error());
    data += done;
    n -= static_cast<std::size_t>(done);
  }
}

std::uint64_t hash_of(std::span<std::byte const> bytes) {
  Hasher hasher;
  hasher.raw(bytes.data(), bytes.size());
  return hasher.value();
}

std::string sentence(std::string const& path, std::string const& why) {
  return "checkpoint " + one_line(path) + " " + why;
}

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
  throw ResumeError(sentence(path, why));
}

void read_all(FileHandle const& file, std::string const& path, void* into, std::size_t n) {
  auto* at = static_cast<std::byte*>(into);
  while (n > 0) {
    auto const got = ::read(file.get(), at, n);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw UserError(sentence(path, "cannot be read: " + system_error()));
    if (got == 0) refuse(path, "is truncated");
    at += got;
    n -= static_cast<std::size_t>(got);
  }
}

struct OpenCheckpoint {
  FileHandle file;  // at the first byte of the body
  FixedHeader header;
};

OpenCheckpoint open_checkpoint(std::string const& path) {
  OpenCheckpoint opened{FileHandle(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), {}};
  // A socket can't even be opened.
  if (!opened.file.is_open())
    throw UserError(
        sentence(path, errno == ENXIO ? "is not a regular file" : "cannot be read: " + system_error()));
  struct stat status {};
  if (::fstat(opened.file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw UserError(sentence(path, "is not a regular file"));
  auto const size = static_cast<std::uint64_t>(status.st_size);
  auto& header = opened.header;
  if (size < sizeof header) refuse(path, "is too short for a checkpoint");
  read_all(opened.file, path, &header, sizeof header);
  if (header.magic != kMagic) refuse(path, "is not a Farfault checkpoint");
  if (header.version != kVersion)
    refuse(path, "has format version " + std::to_string(header.version) +
                     "; this version of farfault reads version " + std::to_string(kVersion));
  if (header.bytes != size - sizeof header)
    refuse(path, "is damaged: expected " + std::to_string(header.bytes) + " bytes, found " +
                     std::to_string(size - sizeof header));
  return opened;
}

// True if the file has the header and the length of a checkpoint: enough to detect truncation.
bool has_its_length(std::string const& path) {
  FileHandle const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  FixedHeader header;
  return file.is_open() && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::read(file.get(), &header, sizeof header) == static_cast<ssize_t>(sizeof header) &&
         header.magic == kMagic && header.bytes == static_cast<std::uint64_t>(status.st_size) - sizeof header;
}

// Renames the new file, after renaming the existing one to the name of the previous checkpoint. If any step
// fails, a valid checkpoint has one of the two names.
void take_name(std::string const& temporary, std::string const& path) {
  auto const previous = previous_checkpoint(path);
  auto const fail = [&](std::string const& what) {
    auto const reason = system_error();
    ::unlink(temporary.c_str());
    throw RunError("checkpoint " + path + " cannot be " + what + ": " + reason);
  };
  bool const kept = has_its_length(path);
  if (kept && std::rename(path.c_str(), previous.c_str()) != 0) fail("renamed to " + previous);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    int const error = errno;
    if (kept) std::rename(previous.c_str(), path.c_str());
    errno = error;
    fail("renamed into place");
  }
  sync_folder_of(path);
}

}  // namespace

void write_checkpoint(std::string const& path, Checkpoint checkpoint) {
  std::vector<std::byte> body;
  Saver saver(body);
  saver(checkpoint);
  FixedHeader header;
  header.bytes = body.size();
  header.hash = hash_of(body);

  auto const temporary = path + ".writing";
  ::unlink(temporary.c_str());  // a leftover of a killed run, or a link to another place
  try {
    FileHandle const file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!file.is_open()) throw RunError("checkpoint " + path + " cannot be written: " + system_error());
    write_all(file.get(), reinterpret_cast<std::byte const*>(&header), sizeof header, path);
    write_all(file.get(), body.data(), body.size(), path);
    if (::fsync(file.get()) != 0)
      throw RunError("checkpoint " + path + " cannot be synced: " + system_error());
  } catch (RunError const&) {
    ::unlink(temporary.c_str());
    throw;
  }
  take_name(temporary, path);
}

Checkpoint read_checkpoint(std::string const& path) {
  auto const [file, header] = open_checkpoint(path);
  std::vector<std::byte> body(header.bytes);
  read_all(file, path, body.data(), body.size());
  if (hash_of(body) != header.hash) refuse(path, "is damaged: checksum mismatch");
  Checkpoint checkpoint;
  Loader loader(body);
  try {
    loader(checkpoint);
  } catch (UserError const& e) {
    refuse(path, std::string("is damaged: ") + e.what());
  }
  if (!loader.at_end()) refuse(path, "has unread data at its end");
  return checkpoint;
}

Checkpoint read_checkpoint_head(std::string const& path) {
  constexpr std::uint64_t kMaxHead = std::uint64_t{1} << 20;  // the driver's data are a few words per table
  auto const [file, header] = open_checkpoint(path);
  std::vector<std::byte> begin(std::min(header.bytes, kMaxHead));
  read_all(file, path, begin.data(), begin.size());
  Checkpoint checkpoint;
  try {
    Loader loader(begin);
    loader(checkpoint.header, checkpoint.run);
  } catch (UserError const& e) {
    refuse(path, std::string("is damaged: ") + e.what());
  }
  return checkpoint;
}

std::string previous_checkpoint(std::string const& path) {
  return path + ".previous";
}

CheckpointLock::CheckpointLock(std::string const& path) : name_(path + ".lock") {
  check_replaceable(path);
  check_replaceable(previous_checkpoint(path));
  check_not_a_link(path + ".writing");
  file_ = create_locked(name_, path);
}

CheckpointLock::~CheckpointLock() {
  ::unlink(name_.c_str());
}

bool looks_like_checkpoint(std::string const& path) {
  FileHandle const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  std::array<char, 8> magic{};
  return file.is_open() && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::read(file.get(), magic.data(), magic.size()) == static_cast<ssize_t>(magic.size()) &&
         magic == kMagic;
}

}  // namespace farfault
