// SPDX-License-Identifier: Apache-2.0
// Graphs in compressed sparse row form, read from files or generated.
//
// - Formats: Matrix Market coordinate files (pattern, real, integer, complex; general, symmetric,
//   skew-symmetric, hermitian), SNAP edge lists and METIS graphs; plain, gzip or xz.
// - Detection: by content. An edge list without comments and a METIS file can look alike; the file name's
//   ending then decides (.graph and .metis are METIS).
// - Guarantees: text is decompressed and read as a stream. Memory grows with the data that has been read, not
//   with sizes that a header declares. Edges of a row keep the order of the file, so the same file yields the
//   same graph on every machine.
// - Vertices are numbered from 0. In an edge list a vertex is the rank of its number among all numbers that
//   occur.
// - Limits: 2^32 - 1 vertices, and 16 vertices per edge plus a million; InputLimits bounds edges, vertices
//   and the text that a compressed file unpacks to. Memory: up to 32 bytes per edge and per vertex.
// - Errors: UserError with file, line, value and rule, also for a truncated or corrupt stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/input_limits.hpp"
#include "farfault/protocols/workload.hpp"

namespace farfault::workloads {

enum class GraphFormat { automatic, matrix_market, snap, metis };
std::string_view to_text(GraphFormat format);  // "auto", "matrix-market", "snap", "metis"

struct CsrGraph {
  std::uint64_t vertices = 0;
  std::vector<std::uint64_t> offsets;  // vertices + 1 entries
  std::vector<std::uint32_t> targets;
  bool directed = true;          // false: every edge is present in both directions (a self loop once)
  std::uint64_t file_edges = 0;  // edges as counted by the file format: entries, lines, or undirected edges
  GraphFormat format = GraphFormat::automatic;  // format of the file; automatic for a generated graph
  InputFile file;                               // empty for a generated graph
};

struct GraphOptions {
  GraphFormat format = GraphFormat::automatic;
  InputLimits limits{};
};

CsrGraph read_graph(std::string const& path, GraphOptions const& options = {});

// Parameters of the recursive-matrix (R-MAT) generator, by default Graph500's. The fourth probability is the
// remainder 1 - a - b - c. The graph is a function of the options in integer arithmetic.
struct RmatOptions {
  std::uint32_t scale = 16;        // 2^scale vertices
  std::uint32_t edge_factor = 16;  // edges per vertex
  double a = 0.57;
  double b = 0.19;
  double c = 0.19;
  bool scramble = true;  // renumber the vertices, so that numbers do not correlate with degrees
  std::uint64_t seed = 1;
  InputLimits limits{};
};

CsrGraph generate_rmat(RmatOptions const& options);

CsrGraph transposed(CsrGraph const& graph);
// Adds the reverse of every edge except self loops. Returns an undirected graph unchanged.
CsrGraph undirected(CsrGraph graph);

}  // namespace farfault::workloads
