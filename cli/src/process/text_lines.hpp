// SPDX-License-Identifier: Apache-2.0
// Private: lines of cells for a terminal, each column as wide as its widest cell.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace farfault::cli {

class TextLines {
 public:
  void add(std::vector<std::string> cells) { lines_.push_back(std::move(cells)); }
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> lines_;
};

}  // namespace farfault::cli
