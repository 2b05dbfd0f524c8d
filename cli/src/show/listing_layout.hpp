// SPDX-License-Identifier: Apache-2.0
// Private: the layout of listings of parameters, statistics and workloads, for people.
//
//   gpu.router.policy
//       Routing of L2 TLB misses
//         centralized  always to the IOMMU
//       Default  gmmu_bypass
//       Source   GMMU Bypass (NPC 2020), section 3
//
// Lines are wrapped between words, to at least kNarrowest columns; a longer word has its own line.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace farfault::cli {

inline constexpr std::size_t kNarrowest = 40;

using ListedPair = std::pair<std::string, std::string>;  // a name and its text

struct ListedItem {
  std::string name;
  std::string text;
  std::vector<ListedPair> alternatives;
  std::vector<ListedPair> properties;
};

void print_item(std::ostream& out, ListedItem const& item, std::size_t columns);
// Two columns: names, and texts that start at the same column; on a narrow terminal, texts below their names.
void print_pairs(std::ostream& out, std::vector<ListedPair> const& pairs, std::size_t indent,
                 std::size_t columns);
// One paragraph whose lines after the first are indented.
void print_wrapped(std::ostream& out, std::string_view text, std::size_t indent, std::size_t columns);

// Width of standard output: that of its terminal, else COLUMNS, else 100.
std::size_t listing_columns();

// The words to search for, in lower case. Throws UserError if there is no word.
std::vector<std::string> search_words(std::vector<std::string> const& written);
// True if `text` contains every word, in upper or lower case.
bool has_words(std::string_view text, std::vector<std::string> const& words);
// Throws UserError: "no parameter contains 'a' and 'b'; ...".
[[noreturn]] void refuse_search(std::string_view what, std::vector<std::string> const& words);

}  // namespace farfault::cli
