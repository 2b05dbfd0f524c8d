// SPDX-License-Identifier: Apache-2.0
// METIS graphs (Karypis, METIS 5 manual, 4.1.1): a header `vertices edges [fmt [ncon]]`, then one line per
// vertex with its neighbours, numbered from 1; each edge is on both lines. Digits of fmt: vertex sizes,
// vertex weights, edge weights.
#include "graph_formats.hpp"

namespace farfault::workloads {
namespace {

// METIS allows comments anywhere, but an empty line is a vertex without neighbours.
void skip_comments(TextScanner& in) {
  for (;;) {
    in.skip_blanks();
    if (in.peek() != '%') return;
    in.next_line();
  }
}

}  // namespace

CsrGraph read_metis(TextScanner& in, InputLimits const& limits) {
  if (!in.to_content('%')) in.fail("the file ends before its header");
  auto const vertices = in.read_count("the number of vertices");
  auto const edges = in.read_count("the number of edges");
  std::uint64_t format = 0;
  std::uint64_t weights = 1;
  in.skip_blanks();
  if (!in.at_line_end()) format = in.read_count("the format");
  in.skip_blanks();
  if (!in.at_line_end()) weights = in.read_count("the number of weights");
  in.skip_blanks();
  if (!in.at_line_end()) in.fail("a METIS header must have two to four numbers");
  if (format % 10 > 1 || format / 10 % 10 > 1 || format / 100 > 1)
    in.fail("format " + std::to_string(format) + " is not three digits of 0 or 1");
  if (weights > 1000) in.fail(std::to_string(weights) + " weights per vertex exceed 1000");
  if (edges > limits.edges)
    in.fail(std::to_string(edges) + " edges are more than " + limit_text("edges", limits.edges));
  check_vertices(in, vertices, edges, limits);
  bool const edge_weights = format % 10 == 1;
  auto const skipped = (format / 100 == 1 ? 1 : 0) + (format / 10 % 10 == 1 ? weights : 0);
  in.next_line();

  CsrGraph graph;
  graph.vertices = vertices;
  graph.directed = false;
  graph.file_edges = edges;
  graph.offsets.push_back(0);
  std::uint64_t self_loops = 0;
  for (std::uint64_t v = 0; v < vertices; ++v) {
    skip_comments(in);
    if (in.at_end())
      in.fail("the header specifies " + std::to_string(vertices) + " vertices, but the file ends after " +
              std::to_string(v));
    for (std::uint64_t i = 0; i < skipped; ++i) in.read_count("a vertex weight");
    for (in.skip_blanks(); !in.at_line_end(); in.skip_blanks()) {
      auto const neighbour = in.read_count("a neighbour");
      if (neighbour < 1 || neighbour > vertices)
        in.fail("neighbour " + std::to_string(neighbour) + " is not in 1 to " + std::to_string(vertices) +
                ", the vertices in the header");
      if (edge_weights) in.read_count("an edge weight");
      // A self loop appears once or twice in its own list, so this bound also holds with self loops.
      if (graph.targets.size() == 2 * edges)
        in.fail("there are more neighbours than the " + std::to_string(edges) + " edges in the header allow");
      if (neighbour - 1 == v) ++self_loops;
      graph.targets.push_back(static_cast<std::uint32_t>(neighbour - 1));
    }
    in.next_line();
    graph.offsets.push_back(graph.targets.size());
  }
  if (in.to_content('%'))
    in.fail("there are more lines than the " + std::to_string(vertices) + " vertices in the header");
  auto const listed = graph.targets.size();
  if (listed > 2 * edges || listed + self_loops < 2 * edges)
    in.fail("the header specifies " + std::to_string(edges) + " edges, but the lists contain " +
            std::to_string(listed) + " neighbours instead of twice as many");
  return graph;
}

}  // namespace farfault::workloads
