// SPDX-License-Identifier: Apache-2.0
// Matrix Market coordinate files (Boisvert, Pozo, Remington, NISTIR 5935): row and column of each nonzero,
// from 1.
#include <algorithm>
#include <cctype>

#include "graph_formats.hpp"

namespace farfault::workloads {
namespace {

std::string lower(std::string word) {
  for (auto& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

std::uint32_t read_index(TextScanner& in, std::string_view what, std::uint64_t n) {
  auto const index = in.read_count(what);
  if (index < 1 || index > n)
    in.fail(std::string(what) + " " + std::to_string(index) + " is not in 1 to " + std::to_string(n) +
            ", the size in the header");
  return static_cast<std::uint32_t>(index - 1);
}

}  // namespace

CsrGraph read_matrix_market(TextScanner& in, InputLimits const& limits) {
  if (in.read_word(64) != "%%MatrixMarket") in.fail("a Matrix Market file must start with %%MatrixMarket");
  auto const object = lower(in.read_word(64));
  auto const layout = lower(in.read_word(64));
  auto const field = lower(in.read_word(64));
  auto const symmetry = lower(in.read_word(64));
  if (object != "matrix" || layout != "coordinate")
    in.fail("'" + shown(object + " " + layout) + "' is not a sparse matrix ('matrix coordinate')");
  int values = 0;
  if (field == "real" || field == "integer" || field == "double") {
    values = 1;
  } else if (field == "complex") {
    values = 2;
  } else if (field != "pattern") {
    in.fail("field '" + shown(field) + "' is not one of: pattern, real, integer, complex");
  }
  bool const both_ways = symmetry == "symmetric" || symmetry == "skew-symmetric" || symmetry == "hermitian";
  if (!both_ways && symmetry != "general")
    in.fail("symmetry '" + shown(symmetry) +
            "' is not one of: general, symmetric, skew-symmetric, hermitian");
  in.next_line();

  if (!in.to_content('%')) in.fail("the file ends before its size line");
  auto const rows = in.read_count("the number of rows");
  auto const columns = in.read_count("the number of columns");
  auto const entries = in.read_count("the number of entries");
  if (rows != columns)
    in.fail("a matrix of " + std::to_string(rows) + " by " + std::to_string(columns) +
            " is not square, as required for a graph");
  if (entries > limits.edges)
    in.fail(std::to_string(entries) + " entries are more than " + limit_text("edges", limits.edges));
  check_vertices(in, rows, entries, limits);
  in.next_line();

  EdgeList edges;
  auto const expected = std::min<std::uint64_t>(entries, 1 << 20);
  edges.sources.reserve(expected);
  edges.targets.reserve(expected);
  for (std::uint64_t i = 0; i < entries; ++i) {
    if (!in.to_content('%'))
      in.fail("the header specifies " + std::to_string(entries) + " entries, but the file ends after " +
              std::to_string(i));
    auto const row = read_index(in, "row", rows);
    auto const column = read_index(in, "column", columns);
    for (int v = 0; v < values; ++v) in.skip_number("a value");
    in.skip_blanks();
    if (!in.at_line_end()) in.fail("the line continues after the entry of a " + field + " matrix");
    in.next_line();
    edges.add(row, column);
  }
  if (in.to_content('%'))
    in.fail("there are more entries than the " + std::to_string(entries) + " in the header");
  auto graph = build_csr(rows, std::move(edges), both_ways);
  graph.file_edges = entries;
  return graph;
}

}  // namespace farfault::workloads
