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
  // Columns whose heading begins with '#' hold numbers. Shares are drawn as bars: with '|' from 0 to 1, with
  // '~' from -1 to 1, from the middle.
  explicit HtmlTable(std::vector<std::string> headings);
  void add_row(std::vector<std::string> const& cells);
  bool empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  std::vector<std::string> headings_;
  std::string rows_;
};

// A heading that expands on a click, and its content.
std::string folded(std::string_view heading, std::string const& content);

// Folded sections, and an index of links to them.
class Folds {
 public:
  // `prefix`: of the identifiers in the page, without markup.
  explicit Folds(std::string prefix) : prefix_(std::move(prefix)) {}
  // `hint` summarizes the content of the folded section.
  void add(std::string const& name, std::string const& heading, std::string const& hint,
           std::string const& content);
  void link(std::string const& id, std::string const& heading);  // to a section outside
  std::string index() const;
  std::string const& html() const { return html_; }

 private:
  std::string prefix_, index_, html_;
};

}  // namespace farfault::cli
