// SPDX-License-Identifier: Apache-2.0
#include "farfault/analysis/csv.hpp"

#include <cstdlib>

#include "farfault/engine/error.hpp"

namespace farfault::analysis {
namespace {

bool is_number(std::string const& text) {
  char* end = nullptr;
  static_cast<void>(std::strtod(text.c_str(), &end));
  return !text.empty() && *end == '\0';
}

}  // namespace

std::string csv_cell(std::string const& text) {
  auto line = one_line(text);
  if (line.find_first_of("=+-@") == 0 && !is_number(line)) line.insert(0, 1, '\'');
  if (line.find_first_of(",\"") == std::string::npos) return line;
  std::string all = "\"";
  for (char const c : line) all += c == '"' ? std::string("\"\"") : std::string(1, c);
  return all + "\"";
}

}  // namespace farfault::analysis
