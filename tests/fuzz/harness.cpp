// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace farfault::fuzz {
namespace {

// Number of bytes of the first character of `text`; 0: invalid UTF-8.
std::size_t utf8_length(std::string_view text) {
  auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  auto const first = byte(0);
  if (first < 0x80) return 1;
  std::size_t const length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;  // surrogates
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

}  // namespace

MemoryFile::MemoryFile()
    : descriptor_(::memfd_create("input", MFD_CLOEXEC)),
      path_("/proc/self/fd/" + std::to_string(descriptor_)) {
  expect(descriptor_ >= 0, "a file in memory can be created");
}

MemoryFile::~MemoryFile() {
  ::close(descriptor_);
}

void MemoryFile::set(Bytes content) {
  expect(::ftruncate(descriptor_, 0) == 0, "the file in memory can be truncated");
  auto const written = ::pwrite(descriptor_, content.data(), content.size(), 0);
  expect(written == static_cast<ssize_t>(content.size()), "the file in memory can be written");
}

MemoryFolder::MemoryFolder() : path_("/dev/shm/farfault-fuzz-XXXXXX") {
  expect(::mkdtemp(path_.data()) != nullptr, "a folder can be created in /dev/shm");
}

MemoryFolder::~MemoryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void MemoryFolder::set(std::string const& name, Bytes content) const {
  std::ofstream out(path_ + "/" + name, std::ios::binary);
  auto const text = text_of(content);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  expect(static_cast<bool>(out.flush()), "the folder in memory can be written");
}

void broken(std::string_view promise, std::string_view seen) {
  std::fprintf(stderr, "farfault: broken promise: %.*s\n  %.*s\n", static_cast<int>(promise.size()),
               promise.data(), static_cast<int>(seen.size()), seen.data());
  std::abort();
}

void expect_sentence(std::string_view message) {
  expect(!message.empty(), "an error message is not empty");
  for (auto rest = message; !rest.empty();) {
    auto const end = std::min(rest.find('\n'), rest.size());
    expect(end <= 4096, "a line of an error message has at most 4 KiB", rest.substr(0, 4096));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void expect_clean(std::string_view line) {
  for (auto rest = line; !rest.empty();) {
    auto const length = utf8_length(rest);
    expect(length != 0, "output is UTF-8", line);
    auto const byte = static_cast<unsigned char>(rest[0]);
    expect(byte >= 0x20 && byte != 0x7f, "output has no control characters", line);
    rest.remove_prefix(length);
  }
}

}  // namespace farfault::fuzz

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz_one({data, size});
  return 0;
}
