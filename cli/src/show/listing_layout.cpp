// SPDX-License-Identifier: Apache-2.0
#include "listing_layout.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <sstream>

#include "farfault/cli/progress.hpp"
#include "farfault/engine/error.hpp"

namespace farfault::cli {
namespace {

constexpr std::size_t kItem = 2, kText = 6, kAlternative = 8, kGap = 2;
constexpr char const* kColumnsOfFile = "100";  // of a file or pipe

// Characters of UTF-8 text.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (auto& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// Prints the words of `text` from column `at` on; further lines begin at `indent`.
void print_words(std::ostream& out, std::string_view text, std::size_t at, std::size_t indent,
                 std::size_t columns) {
  auto const last = std::max(columns, kNarrowest);
  std::istringstream words{std::string(text)};
  bool first = true;
  for (std::string word; words >> word; first = false) {
    auto const width = width_of(word);
    if (!first && at + 1 + width > last) {
      out << "\n" << std::string(indent, ' ');
      at = indent;
    } else if (!first) {
      out << " ";
      ++at;
    }
    out << word;
    at += width;
  }
  out << "\n";
}

}  // namespace

void print_wrapped(std::ostream& out, std::string_view text, std::size_t indent, std::size_t columns) {
  print_words(out, text, 0, indent, columns);
}

void print_pairs(std::ostream& out, std::vector<ListedPair> const& pairs, std::size_t indent,
                 std::size_t columns) {
  std::size_t widest = 0;
  for (auto const& [name, text] : pairs) widest = std::max(widest, width_of(name));
  auto start = indent + widest + kGap;
  bool const fits = start + kNarrowest / 2 <= std::max(columns, kNarrowest);
  if (!fits) start = indent + kGap;
  for (auto const& [name, text] : pairs) {
    out << std::string(indent, ' ') << name;
    if (!text.empty())
      out << (fits ? std::string(start - indent - width_of(name), ' ') : "\n" + std::string(start, ' '));
    print_words(out, text, start, start, columns);
  }
}

void print_item(std::ostream& out, ListedItem const& item, std::size_t columns) {
  out << std::string(kItem, ' ') << item.name << "\n" << std::string(kText, ' ');
  print_words(out, item.text, kText, kText, columns);
  print_pairs(out, item.alternatives, kAlternative, columns);
  print_pairs(out, item.properties, kText, columns);
}

std::size_t listing_columns() {
  auto const* const variable = std::getenv("COLUMNS");
  return terminal_columns(STDOUT_FILENO, variable != nullptr ? variable : kColumnsOfFile);
}

std::vector<std::string> search_words(std::vector<std::string> const& written) {
  std::vector<std::string> words;
  for (auto const& text : written) {
    std::istringstream parts(lower_case(text));
    for (std::string word; parts >> word;) words.push_back(word);
  }
  if (words.empty()) throw UserError("--search has no word; example: --search mshrs");
  return words;
}

bool has_words(std::string_view text, std::vector<std::string> const& words) {
  auto const lower = lower_case(text);
  return std::ranges::all_of(words, [&](auto const& word) { return lower.find(word) != lower.npos; });
}

void refuse_search(std::string_view what, std::vector<std::string> const& words) {
  std::string all;
  for (auto const& word : words) all += (all.empty() ? "'" : " and '") + shown(word) + "'";
  throw UserError("no " + std::string(what) + " contains " + all + "; use fewer or shorter words");
}

}  // namespace farfault::cli
