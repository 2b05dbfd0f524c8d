// SPDX-License-Identifier: Apache-2.0
// Graphs that workloads run on, in compressed sparse row form: read from files, or generated.
//
// Files: Matrix Market coordinate files (pattern, real, integer, complex; general, symmetric, skew-symmetric,
// hermitian), SNAP edge lists and METIS graphs, each plain, gzip or xz. The format is told from the content;
// an edge list without comments and a METIS file can look alike, and then the name's ending decides (.graph
// and .metis are METIS). Guarantees: text is decompressed and read as a stream, and memory grows with what
// has been read, never with what a header promises; edges of a row keep the order of the file, so the same
// file gives the same graph everywhere. Vertices are numbered from 0. A vertex of an edge list is the rank of
// its number among all numbers that occur. A graph has at most 2^32 - 1 vertices, and at most 16 vertices per
// edge plus a million. Memory: up to 32 bytes for each edge and each vertex. Limits: edges, vertices, and the
// text that a compressed file unpacks to. Errors: UserError with file, line, value and rule; a truncated or
// corrupt stream is one.
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
  bool directed = true;          // false: every edge is present both ways (a self loop once)
  std::uint64_t file_edges = 0;  // as the file format counts them: entries, lines, or undirected edges
  GraphFormat format = GraphFormat::automatic;  // of the file; automatic for a generated graph
  InputFile file;                               // empty for a generated graph
};

struct GraphOptions {
  GraphFormat format = GraphFormat::automatic;
  InputLimits limits{};
};

CsrGraph read_graph(std::string const& path, GraphOptions const& options = {});

// The recursive-matrix generator with Graph500's parameters by default; the remaining probability is 1 - a -
// b - c. Deterministic: a function of the options in integer arithmetic.
struct RmatOptions {
  std::uint32_t scale = 16;        // 2^scale vertices
  std::uint32_t edge_factor = 16;  // edges per vertex
  double a = 0.57;
  double b = 0.19;
  double c = 0.19;
  bool scramble = true;  // renumber the vertices, so that a high degree says nothing about the number
  std::uint64_t seed = 1;
  InputLimits limits{};
};

CsrGraph generate_rmat(RmatOptions const& options);

CsrGraph transposed(CsrGraph const& graph);
// Adds the reverse of every edge that is no self loop; a graph that is undirected already comes back as it
// was.
CsrGraph undirected(CsrGraph graph);

}  // namespace farfault::workloads
