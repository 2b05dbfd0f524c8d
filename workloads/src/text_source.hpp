// SPDX-License-Identifier: Apache-2.0
// The text of a file, decompressed as it is read: plain, gzip or xz, told from the first bytes.
//
// Memory: a few buffers of 64 KiB, and what xz needs up to 256 MiB. Errors: UserError that names the file,
// for a file that cannot be read, a corrupt or truncated stream, and one that unpacks to more text than the
// limit.
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

  // Fills `out` as far as the text goes; less than `size` only at the end.
  std::size_t read(char* out, std::size_t size);
  // Reads what is left of the file, and gives its name, length and hash.
  InputFile finish();
  std::string const& path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace farfault::workloads
