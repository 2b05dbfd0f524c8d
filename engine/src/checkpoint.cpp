#include "farfault/engine/checkpoint.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/error.hpp"

namespace farfault {

namespace {

constexpr std::array<char, 8> kMagic = {'F', 'F', 'C', 'K', 'P', 'T', '\r', '\n'};
constexpr std::uint64_t kVersion = 2;

struct FixedHeader {
  std::array<char, 8> magic = kMagic;
  std::uint64_t version = kVersion;
  std::uint64_t bytes = 0;  // of the body that follows
  std::uint64_t hash = 0;   // of that body
};

struct File {
  explicit File(int d) : descriptor(d) {}
  ~File() {
    if (descriptor >= 0) ::close(descriptor);
  }
  File(File const&) = delete;
  File& operator=(File const&) = delete;
  int descriptor;
};

std::string system_error() {
  return std::strerror(errno);
}

void write_all(int descriptor, std::byte const* data, std::size_t n, std::string const& path) {
  while (n > 0) {
    auto const done = ::write(descriptor, data, n);
    if (done < 0 && errno == EINTR) continue;
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

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
  auto const older = path + ".previous";
  std::error_code ignored;
  throw UserError(
      "checkpoint " + path + " " + why +
      (std::filesystem::exists(older, ignored) ? "; the one before it is " + older : std::string{}));
}

template <class A>
void persist(A& a, Checkpoint& c) {
  a(c.header.config_hash, c.header.time, c.header.components, c.header.events, c.run, c.parts);
}

}  // namespace

void write_checkpoint(std::string const& path, Checkpoint const& checkpoint) {
  std::vector<std::byte> body;
  Saver saver(body);
  auto copy = checkpoint;
  persist(saver, copy);
  FixedHeader header;
  header.bytes = body.size();
  header.hash = hash_of(body);

  auto const temporary = path + ".writing";
  try {
    File const file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.descriptor < 0) throw RunError("checkpoint " + path + " cannot be written: " + system_error());
    write_all(file.descriptor, reinterpret_cast<std::byte const*>(&header), sizeof header, path);
    write_all(file.descriptor, body.data(), body.size(), path);
    if (::fsync(file.descriptor) != 0)
      throw RunError("checkpoint " + path + " cannot be synced: " + system_error());
  } catch (RunError const&) {
    ::unlink(temporary.c_str());
    throw;
  }
  std::rename(path.c_str(), (path + ".previous").c_str());  // the first time there is none
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    throw RunError("checkpoint " + path + " cannot be given its name: " + system_error());
  auto const folder = std::filesystem::absolute(path).parent_path().string();
  File const directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.descriptor >= 0) ::fsync(directory.descriptor);
}

Checkpoint read_checkpoint(std::string const& path) {
  File const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.descriptor < 0) refuse(path, "cannot be read: " + system_error());
  struct stat status {};
  if (::fstat(file.descriptor, &status) != 0 || !S_ISREG(status.st_mode)) refuse(path, "is not a file");
  auto const size = static_cast<std::uint64_t>(status.st_size);
  FixedHeader header;
  auto read_all = [&](void* into, std::size_t n) {
    auto* at = static_cast<std::byte*>(into);
    while (n > 0) {
      auto const got = ::read(file.descriptor, at, n);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) refuse(path, "ends early");
      at += got;
      n -= static_cast<std::size_t>(got);
    }
  };
  if (size < sizeof header) refuse(path, "is too short to be one");
  read_all(&header, sizeof header);
  if (header.magic != kMagic) refuse(path, "is not a Farfault checkpoint");
  if (header.version != kVersion)
    refuse(path, "has format version " + std::to_string(header.version) + "; this program reads " +
                     std::to_string(kVersion));
  if (header.bytes != size - sizeof header)
    refuse(path, "should hold " + std::to_string(header.bytes) + " bytes and holds " +
                     std::to_string(size - sizeof header));
  std::vector<std::byte> body(header.bytes);
  read_all(body.data(), body.size());
  if (hash_of(body) != header.hash) refuse(path, "is damaged: its contents do not match their checksum");
  Checkpoint checkpoint;
  try {
    Loader loader(body);
    persist(loader, checkpoint);
    if (!loader.at_end()) refuse(path, "holds more than it should");
  } catch (UserError const& e) {
    refuse(path, std::string("is damaged: ") + e.what());
  }
  return checkpoint;
}

bool looks_like_checkpoint(std::string const& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  std::array<char, 8> magic{};
  bool const is = std::fread(magic.data(), 1, magic.size(), file) == magic.size() && magic == kMagic;
  std::fclose(file);
  return is;
}

}  // namespace farfault
