// SPDX-License-Identifier: Apache-2.0
#include "html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "farfault/engine/error.hpp"

namespace farfault::cli {

std::string escaped(std::string_view text) {
  std::string all;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto const end = std::min(text.find('\n', begin), text.size());
    for (char const c : one_line(text.substr(begin, end - begin))) {
      if (c == '&')
        all += "&amp;";
      else if (c == '<')
        all += "&lt;";
      else if (c == '>')
        all += "&gt;";
      else if (c == '"')
        all += "&quot;";
      else if (c == '\'')
        all += "&#39;";
      else
        all += c;
    }
    if (end < text.size()) all += '\n';
    begin = end + 1;
  }
  return all;
}

std::string embedded(std::string json) {
  std::string all;
  all.reserve(json.size());
  for (char const c : json) {
    // These characters occur only in strings.
    if (c == '<' || c == '>' || c == '&')
      all += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      all += c;
  }
  return all;
}

HtmlTable::HtmlTable(std::vector<std::string> headings) : headings_(std::move(headings)) {}

void HtmlTable::add(std::vector<std::string> const& cells) {
  rows_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    auto const kind = i < headings_.size() && !headings_[i].empty() ? headings_[i][0] : ' ';
    if (kind == '|')
      rows_ += fmt::format(
          "<td><svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\"><rect width=\"{:.2f}\" "
          "height=\"10\"/></svg></td>",
          100 * std::clamp(std::strtod(cells[i].c_str(), nullptr), 0.0, 1.0));
    else
      rows_ += (kind == '#' ? "<td class=\"number\">" : "<td>") + escaped(cells[i]) + "</td>";
  }
  rows_ += "</tr>\n";
}

std::string HtmlTable::text() const {
  std::string all = "<div class=\"wide\"><table><thead><tr>";
  for (auto const& h : headings_) {
    bool const marked = !h.empty() && (h[0] == '#' || h[0] == '|');
    all += (marked && h[0] == '#' ? "<th class=\"number\">" : "<th>") + escaped(h.substr(marked ? 1 : 0)) +
           "</th>";
  }
  return all + "</tr></thead><tbody>\n" + rows_ + "</tbody></table></div>\n";
}

std::string folded(std::string_view heading, std::string const& content) {
  return "<details><summary>" + escaped(heading) + "</summary>\n" + content + "</details>\n";
}

}  // namespace farfault::cli
