// SPDX-License-Identifier: Apache-2.0
// SNAP edge lists: `#` comments, then two vertex numbers per line. Lines are directed edges, unless a comment
// contains "Undirected graph" (SNAP's own header for lists with each edge once). Further columns (weights,
// times) are skipped.
#include <algorithm>

#include "graph_formats.hpp"

namespace farfault::workloads {
namespace {

constexpr std::uint64_t kMaxNumber = 0xffff'fffe;

// Replaces each number by its rank among the numbers that occur; returns the number of ranks.
std::uint64_t rank_numbers(EdgeList& edges) {
  std::uint32_t largest = 0;
  for (auto const* list : {&edges.sources, &edges.targets})
    for (auto const v : *list) largest = std::max(largest, v);
  // A table over all numbers is faster; sparse numbers are ranked by sorting, which takes less memory.
  if (largest <= 4 * edges.sources.size() + 1'000'000) {
    std::vector<std::uint32_t> rank(std::size_t{largest} + 1, 0);
    for (auto const* list : {&edges.sources, &edges.targets})
      for (auto const v : *list) rank[v] = 1;
    std::uint32_t count = 0;
    for (auto& r : rank) r = r != 0 ? count++ : 0;
    for (auto* list : {&edges.sources, &edges.targets})
      for (auto& v : *list) v = rank[v];
    return count;
  }
  auto numbers = edges.sources;
  numbers.insert(numbers.end(), edges.targets.begin(), edges.targets.end());
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (auto* list : {&edges.sources, &edges.targets})
    for (auto& v : *list)
      v = static_cast<std::uint32_t>(std::lower_bound(numbers.begin(), numbers.end(), v) - numbers.begin());
  return numbers.size();
}

std::uint32_t read_vertex(TextScanner& in, std::string_view what) {
  auto const number = in.read_count(what);
  if (number > kMaxNumber) {
    // Successive appends: GCC 12 warns of an access out of bounds in a chain of +.
    std::string message(what);
    message += ' ';
    message += std::to_string(number);
    message += " is more than ";
    message += std::to_string(kMaxNumber);
    in.fail(message);
  }
  return static_cast<std::uint32_t>(number);
}

bool read_comment_is_undirected(TextScanner& in) {
  while (in.peek() == '#') in.skip();
  in.skip_blanks();
  std::string word;
  for (auto c = in.peek(); c > ' ' && word.size() < 16; c = in.peek()) {
    word += static_cast<char>(c);
    in.skip();
  }
  in.next_line();
  return word == "Undirected";
}

}  // namespace

CsrGraph read_edge_list(TextScanner& in, InputLimits const& limits) {
  bool both_ways = false;
  EdgeList edges;
  for (;;) {
    in.skip_blanks();
    if (in.at_end()) break;
    if (in.peek() == '#') {
      both_ways = read_comment_is_undirected(in) || both_ways;
      continue;
    }
    if (in.at_line_end() || in.peek() == '%') {
      in.next_line();
      continue;
    }
    auto const from = read_vertex(in, "the source vertex");
    auto const to = read_vertex(in, "the target vertex");
    if (edges.sources.size() == limits.edges)
      in.fail("there are more edges than " + limit_text("edges", limits.edges));
    in.next_line();
    edges.add(from, to);
  }
  if (edges.sources.empty()) in.fail("the edge list contains no edges");
  auto const lines = edges.sources.size();
  auto const vertices = rank_numbers(edges);
  check_vertices(in, vertices, lines, limits);
  auto graph = build_csr(vertices, std::move(edges), both_ways);
  graph.file_edges = lines;
  return graph;
}

}  // namespace farfault::workloads
