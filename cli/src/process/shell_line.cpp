// SPDX-License-Identifier: Apache-2.0
#include "shell_line.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>

namespace farfault::cli {

std::string shell_word(std::string const& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (char const c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string shell_line(std::vector<std::string> const& words) {
  std::string line = "farfault";
  for (auto const& word : words) line += ' ' + shell_word(word);
  return line;
}

std::string program_path() {
  std::error_code error;
  auto const path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string("farfault") : path.string();
}

}  // namespace farfault::cli
