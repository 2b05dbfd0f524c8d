// SPDX-License-Identifier: Apache-2.0
// The text of a file, decompressed as it is read: plain, gzip or xz, detected from the first bytes.
//
// - Memory: a few buffers of 64 KiB, and up to 256 MiB for xz.
// - Errors: UserError with the file's name for an unreadable file, a corrupt or truncated stream, and a file
//   that unpacks to more text than the limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "farfault/engine/input_limits.hpp"
#include "farfault/protocols/workload.hpp"

namespace farfault::workloads {

class TextSource {
 public:
  TextSource(std::string path, InputLimits const& limits);
  ~TextSource();
  TextSource(TextSource&&) noexcept;

  // Fills `out`; returns less than `size` only at the end of the text.
  std::size_t read(char* out, std::size_t size);
  // Reads the rest of the file and returns its name, length and hash.
  InputFile finish();
  std::string const& path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace farfault::workloads
