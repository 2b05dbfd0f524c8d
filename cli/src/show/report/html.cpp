// SPDX-License-Identifier: Apache-2.0
#include "html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

namespace {

// A bar from the middle: to the left for a negative share, to the right for a positive one.
std::string signed_bar(double share) {
  auto const width = 50 * std::abs(share);
  return fmt::format(
      "<svg class=\"bar signed\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\"><rect class=\"{}\" "
      "x=\"{:.2f}\" width=\"{:.2f}\" height=\"10\"/><path d=\"M50 0V10\"/></svg>",
      share < 0 ? "less" : "more", share < 0 ? 50 - width : 50.0, width);
}

}  // namespace

HtmlTable::HtmlTable(std::vector<std::string> headings) : headings_(std::move(headings)) {}

void HtmlTable::add_row(std::vector<std::string> const& cells) {
  rows_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    auto const kind = i < headings_.size() && !headings_[i].empty() ? headings_[i][0] : ' ';
    if (kind == '|')
      rows_ += fmt::format(
          "<td><svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\"><rect width=\"{:.2f}\" "
          "height=\"10\"/></svg></td>",
          100 * std::clamp(std::strtod(cells[i].c_str(), nullptr), 0.0, 1.0));
    else if (kind == '~')
      rows_ += "<td>" + signed_bar(std::clamp(std::strtod(cells[i].c_str(), nullptr), -1.0, 1.0)) + "</td>";
    else
      rows_ += (kind == '#' ? "<td class=\"number\">" : "<td>") + escaped(cells[i]) + "</td>";
  }
  rows_ += "</tr>\n";
}

std::string HtmlTable::text() const {
  std::string all = "<div class=\"wide\"><table><thead><tr>";
  for (auto const& h : headings_) {
    bool const marked = !h.empty() && (h[0] == '#' || h[0] == '|' || h[0] == '~');
    all += (marked && h[0] == '#' ? "<th class=\"number\">" : "<th>") + escaped(h.substr(marked ? 1 : 0)) +
           "</th>";
  }
  return all + "</tr></thead><tbody>\n" + rows_ + "</tbody></table></div>\n";
}

std::string folded(std::string_view heading, std::string const& content) {
  return "<details><summary>" + escaped(heading) + "</summary>\n" + content + "</details>\n";
}

void Folds::add(std::string const& name, std::string const& heading, std::string const& hint,
                std::string const& content) {
  auto const id = prefix_ + name;
  index_ += "<a href=\"#" + id + "\">" + escaped(heading) + "</a>\n";
  html_ += "<details class=\"part\" id=\"" + id + "\"><summary><span class=\"heading\">" + escaped(heading) +
           "</span> <span class=\"hint\">" + escaped(hint) + "</span></summary>\n" + content + "</details>\n";
}

void Folds::link(std::string const& id, std::string const& heading) {
  index_ += "<a href=\"#" + id + "\">" + escaped(heading) + "</a>\n";
}

std::string Folds::index() const {
  return index_.empty()
             ? ""
             : "<nav class=\"index\">" + index_ + "<span class=\"live\" data-draw=\"folds\"></span></nav>\n";
}

}  // namespace farfault::cli
