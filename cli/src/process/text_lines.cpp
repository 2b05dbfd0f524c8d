// SPDX-License-Identifier: Apache-2.0
#include "text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

namespace farfault::cli {

void TextLines::print(std::ostream& out) const {
  std::vector<std::size_t> widths;
  for (auto const& line : lines_) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (auto const& line : lines_) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) text += fmt::format("  {:<{}}", line[i], widths[i]);
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << "\n";
  }
}

}  // namespace farfault::cli
