// SPDX-License-Identifier: Apache-2.0
#include "farfault/workloads/graph.hpp"

#include <utility>

#include "graph_formats.hpp"

namespace farfault::workloads {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The number of numeric columns of a line, or -1 if the line contains anything else; the first two must be
// integers.
int columns_of(std::string_view line) {
  int columns = 0;
  std::size_t i = 0;
  while (i < line.size()) {
    if (is_blank(line[i])) {
      ++i;
      continue;
    }
    bool whole = true;
    for (; i < line.size() && !is_blank(line[i]); ++i) {
      whole = whole && is_digit(line[i]);
      if (!is_digit(line[i]) && line[i] != '.' && line[i] != '-' && line[i] != '+' && line[i] != 'e')
        return -1;
    }
    if (!whole && columns < 2) return -1;
    ++columns;
  }
  return columns;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool named_metis(std::string_view path) {
  for (auto const end : {".gz", ".xz"})
    if (ends_with(path, end)) path.remove_suffix(3);
  return ends_with(path, ".graph") || ends_with(path, ".metis");
}

}  // namespace

std::string_view to_text(GraphFormat format) {
  switch (format) {
    case GraphFormat::automatic:
      return "auto";
    case GraphFormat::matrix_market:
      return "matrix-market";
    case GraphFormat::snap:
      return "snap";
    case GraphFormat::metis:
      return "metis";
  }
  return "?";
}

std::optional<GraphFormat> detect_graph(std::string_view sample, bool sample_is_all, std::string_view path) {
  if (sample.substr(0, 14) == "%%MatrixMarket") return GraphFormat::matrix_market;
  std::optional<GraphFormat> by_comment;
  int first_columns = -1;
  bool same_columns = true;
  bool blank = false;
  std::size_t data_lines = 0;
  while (!sample.empty()) {
    auto const end = sample.find('\n');
    if (end == std::string_view::npos && !sample_is_all && data_lines > 0) break;  // truncated line
    auto const line = sample.substr(0, end);
    sample.remove_prefix(end == std::string_view::npos ? sample.size() : end + 1);
    if (!line.empty() && (line[0] == '#' || line[0] == '%')) {
      if (!by_comment) by_comment = line[0] == '#' ? GraphFormat::snap : GraphFormat::metis;
      continue;
    }
    auto const columns = columns_of(line);
    if (columns == 0) {
      blank = data_lines > 0;
      continue;
    }
    if (columns < 0 || (data_lines == 0 && columns < 2)) return std::nullopt;
    // An empty line between others is a vertex without neighbours; an empty line at the end is ignored.
    if (std::exchange(blank, false)) same_columns = false;
    if (data_lines == 0) first_columns = columns;
    same_columns = same_columns && columns == first_columns;
    ++data_lines;
  }
  if (data_lines == 0) return std::nullopt;
  if (by_comment) return by_comment;
  if (named_metis(path) || !same_columns || first_columns > 4) return GraphFormat::metis;
  return GraphFormat::snap;
}

CsrGraph read_graph(std::string const& path, GraphOptions const& options) {
  TextSource source(path, options.limits);
  TextScanner in(source);
  if (in.sample().empty())
    throw UserError(one_line(path) + ": the file is empty, but a graph has at least a header");
  auto format = options.format;
  if (format == GraphFormat::automatic) {
    auto const detected = detect_graph(in.sample(), in.sample_is_all(), path);
    if (!detected)
      throw UserError(one_line(path) +
                      ": not a graph of a known format (Matrix Market, SNAP edge list or METIS)");
    format = *detected;
  }
  auto const limits = options.limits.of_this_machine();
  CsrGraph graph;
  switch (format) {
    case GraphFormat::automatic:
    case GraphFormat::matrix_market:
      graph = read_matrix_market(in, limits);
      break;
    case GraphFormat::snap:
      graph = read_edge_list(in, limits);
      break;
    case GraphFormat::metis:
      graph = read_metis(in, limits);
      break;
  }
  graph.format = format;
  graph.file = source.finish();
  return graph;
}

void check_vertices(TextScanner const& in, std::uint64_t vertices, std::uint64_t edges,
                    InputLimits const& limits) {
  if (vertices >= (1ULL << 32)) in.fail(std::to_string(vertices) + " vertices are more than 2^32 - 1");
  if (vertices > 16 * edges + 1'000'000)
    in.fail(std::to_string(vertices) + " vertices for " + std::to_string(edges) +
            " edges are more than 16 vertices per edge plus a million");
  if (vertices > limits.vertices)
    in.fail(std::to_string(vertices) + " vertices are more than " + limit_text("vertices", limits.vertices));
}

CsrGraph build_csr(std::uint64_t vertices, EdgeList&& edges, bool both_ways) {
  CsrGraph graph;
  graph.vertices = vertices;
  graph.directed = !both_ways;
  auto const m = edges.sources.size();
  graph.offsets.assign(vertices + 1, 0);
  for (std::size_t i = 0; i < m; ++i) {
    ++graph.offsets[edges.sources[i] + std::size_t{1}];
    if (both_ways && edges.sources[i] != edges.targets[i]) ++graph.offsets[edges.targets[i] + std::size_t{1}];
  }
  for (std::uint64_t v = 0; v < vertices; ++v) graph.offsets[v + 1] += graph.offsets[v];
  graph.targets.resize(graph.offsets[vertices]);
  // The offsets serve as cursors while the rows are filled, and are then shifted back by one row.
  for (std::size_t i = 0; i < m; ++i) {
    graph.targets[graph.offsets[edges.sources[i]]++] = edges.targets[i];
    if (both_ways && edges.sources[i] != edges.targets[i])
      graph.targets[graph.offsets[edges.targets[i]]++] = edges.sources[i];
  }
  for (auto v = vertices; v > 0; --v) graph.offsets[v] = graph.offsets[v - 1];
  graph.offsets[0] = 0;
  edges = {};
  return graph;
}

CsrGraph transposed(CsrGraph const& graph) {
  CsrGraph result = graph;
  result.offsets.assign(graph.vertices + 1, 0);
  for (auto const t : graph.targets) ++result.offsets[t + std::size_t{1}];
  for (std::uint64_t v = 0; v < graph.vertices; ++v) result.offsets[v + 1] += result.offsets[v];
  auto cursor = result.offsets;
  for (std::uint64_t v = 0; v < graph.vertices; ++v)
    for (auto e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
      result.targets[cursor[graph.targets[e]]++] = static_cast<std::uint32_t>(v);
  return result;
}

CsrGraph undirected(CsrGraph graph) {
  if (!graph.directed) return graph;
  EdgeList edges;
  edges.sources.reserve(graph.targets.size());
  for (std::uint64_t v = 0; v < graph.vertices; ++v)
    edges.sources.insert(edges.sources.end(), graph.offsets[v + 1] - graph.offsets[v],
                         static_cast<std::uint32_t>(v));
  edges.targets = std::move(graph.targets);
  auto result = build_csr(graph.vertices, std::move(edges), true);
  result.file_edges = graph.file_edges;
  result.format = graph.format;
  result.file = std::move(graph.file);
  return result;
}

}  // namespace farfault::workloads
