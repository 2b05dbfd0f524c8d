// SPDX-License-Identifier: Apache-2.0
// Common code of the fuzz harnesses. A harness passes bytes to a parser in its own process. The parser must
// accept them or refuse them with a UserError of short sentences. Any other outcome ends the process, and
// libFuzzer keeps the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "farfault/engine/error.hpp"
#include "farfault/engine/input_limits.hpp"

namespace farfault::fuzz {

using Bytes = std::span<std::uint8_t const>;

inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

// Limits of the content of a file, so small that any further resource use is a defect of the parser.
inline InputLimits small_limits() {
  InputLimits limits;
  limits.names = ByteSize{std::uint64_t{1} << 20U};
  limits.nodes = 10'000;
  limits.links = 40'000;
  limits.vertices = 1'000'000;
  limits.edges = 10'000;
  limits.unpacked = ByteSize{std::uint64_t{16} << 20U};
  limits.model = ByteSize{std::uint64_t{1} << 30U};
  return limits;
}

// A regular file in memory, private to the process, for parsers that read files. HDF5 cannot open it, because
// its path does not lead to a file with a name.
class MemoryFile {
 public:
  MemoryFile();
  MemoryFile(MemoryFile const&) = delete;
  MemoryFile& operator=(MemoryFile const&) = delete;
  ~MemoryFile();

  std::string const& path() const { return path_; }
  void set(Bytes content);

 private:
  int descriptor_;
  std::string path_;
};

// A folder in memory, initially empty and deleted at the end of the process.
class MemoryFolder {
 public:
  MemoryFolder();
  MemoryFolder(MemoryFolder const&) = delete;
  MemoryFolder& operator=(MemoryFolder const&) = delete;
  ~MemoryFolder();

  std::string const& path() const { return path_; }
  void set(std::string const& name, Bytes content) const;

 private:
  std::string path_;
};

// Ends the process because the parser broke a guarantee.
[[noreturn]] void broken(std::string_view promise, std::string_view seen);
inline void expect(bool holds, std::string_view promise, std::string_view seen = {}) {
  if (!holds) broken(promise, seen);
}

// Checks a message: not empty, and at most 4 KiB per line, whatever the input contains.
void expect_sentence(std::string_view message);
// Checks a printed line: UTF-8 without control characters.
void expect_clean(std::string_view line);

// Runs `parse`. False: it refused its input.
template <class Parse>
bool accepts(Parse&& parse) {
  try {
    parse();
    return true;
  } catch (UserError const& refusal) {
    expect_sentence(refusal.what());
    return false;
  }
}

}  // namespace farfault::fuzz

// Defined by each harness: processes one input, independent of earlier ones.
void fuzz_one(farfault::fuzz::Bytes input);
