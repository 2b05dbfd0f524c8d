// SPDX-License-Identifier: Apache-2.0
// Private: foreign text as part of a page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace farfault::cli {

// Text between tags or in a quoted attribute: none of its characters is markup or invisible. Keeps line ends.
std::string escaped(std::string_view text);

// JSON as the content of a script element: no text in it ends the element or a string. `json` is ASCII.
std::string embedded(std::string json);

// A table of text, each cell escaped.
class HtmlTable {
 public:
  // Columns whose heading begins with '#' hold numbers, with '|' shares from 0 to 1 that are drawn as a bar.
  explicit HtmlTable(std::vector<std::string> headings);
  void add(std::vector<std::string> const& cells);
  bool empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  std::vector<std::string> headings_;
  std::string rows_;
};

// A heading that expands on a click, and its content.
std::string folded(std::string_view heading, std::string const& content);

}  // namespace farfault::cli
