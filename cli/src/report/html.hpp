// SPDX-License-Identifier: Apache-2.0
// Private: text of others as part of a page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace farfault::cli {

// Text between tags or in a quoted attribute: no character of it is markup, none is invisible. Keeps the ends
// of lines.
std::string escaped(std::string_view text);

// JSON as the content of a script element: nothing in it ends the element or the string that it stands in.
// `json` is ASCII.
std::string embedded(std::string json);

// A table of text, each cell escaped.
class HtmlTable {
 public:
  // The columns; those whose heading begins with '#' hold numbers, and with '|' shares from 0 to 1 as a bar.
  explicit HtmlTable(std::vector<std::string> headings);
  void add(std::vector<std::string> const& cells);
  bool empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  std::vector<std::string> headings_;
  std::string rows_;
};

// A heading that opens on a click, and what is below it.
std::string folded(std::string_view heading, std::string const& content);

}  // namespace farfault::cli
