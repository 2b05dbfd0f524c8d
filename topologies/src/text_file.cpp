// SPDX-License-Identifier: Apache-2.0
#include "text_file.hpp"

#include <filesystem>
#include <fstream>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::topologies {

namespace {
constexpr std::uintmax_t kLargestFile = 64U << 20U;
}

std::string read_text_file(std::string const& path, std::string_view what) {
  auto const why_not = why_not_readable(path);
  if (!why_not.empty()) throw UserError(one_line(path) + ": " + why_not);
  std::error_code error;
  auto const size = std::filesystem::file_size(path, error);
  if (error) throw UserError(one_line(path) + ": cannot be read: " + error.message());
  if (size > kLargestFile) {
    throw UserError(one_line(path) + ": holds " + to_text(ByteSize{size}) + ", but " + std::string(what) +
                    " may have at most " + to_text(ByteSize{kLargestFile}));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!in || (size != 0 && !in.read(text.data(), static_cast<std::streamsize>(size)))) {
    throw UserError(one_line(path) + ": cannot be read");
  }
  return text;
}

}  // namespace farfault::topologies
