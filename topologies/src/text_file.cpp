// SPDX-License-Identifier: Apache-2.0
#include "text_file.hpp"

#include <system_error>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::topologies {

namespace {
constexpr std::uint64_t kLargestFile = 64U << 20U;
}

std::string read_text_file(std::string const& path, std::string_view what) {
  auto const input = open_input(path);
  if (!input.why_not.empty()) throw UserError(one_line(path) + ": " + input.why_not);
  if (input.bytes > kLargestFile) {
    throw UserError(one_line(path) + ": holds " + to_text(ByteSize{input.bytes}) + ", but " +
                    std::string(what) + " may have at most " + to_text(ByteSize{kLargestFile}));
  }
  try {
    return read_bytes(input.file, input.bytes);
  } catch (std::system_error const& e) {
    throw UserError(one_line(path) + ": cannot be read: " + e.code().message());
  }
}

}  // namespace farfault::topologies
