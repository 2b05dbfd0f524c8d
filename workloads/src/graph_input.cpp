// SPDX-License-Identifier: Apache-2.0
#include "graph_input.hpp"

#include <filesystem>
#include <utility>

namespace farfault::workloads {

void RmatSpec::describe(ParamTable& t) {
  t.count("scale", scale, {1, 31}, "log2 of the number of vertices", "assumed");
  t.count("edge_factor", edge_factor, {1, 4096},
          "Generated edges per vertex, without the reverse edges that undirected = true adds",
          "Graph500: 16");
  t.number("a", a, {0.0, 1.0},
           "R-MAT probability a: upper left quadrant of the adjacency matrix, at each level. a + b + c must "
           "not exceed 1",
           "Graph500");
  t.number("b", b, {0.0, 1.0}, "R-MAT probability b: upper right quadrant of the adjacency matrix",
           "Graph500");
  t.number("c", c, {0.0, 1.0},
           "R-MAT probability c: lower left quadrant of the adjacency matrix; the lower right one has the "
           "rest. a = b = c = 0.25: uniform graph",
           "Graph500");
  t.flag("scramble", scramble, "Renumber the vertices randomly", "Graph500");
}

void GraphSpec::describe(ParamTable& t) {
  t.file("graph", file,
         "Graph file (Matrix Market, SNAP or METIS; plain, .gz or .xz). Empty: generated R-MAT graph",
         "simulator setting");
  t.choice("format", format,
           {{"auto", GraphFormat::automatic, "detected from the content"},
            {"matrix-market", GraphFormat::matrix_market,
             "Matrix Market: size line, then one entry per line, from 1"},
            {"snap", GraphFormat::snap, "SNAP: one edge per line, # starts a comment"},
            {"metis", GraphFormat::metis, "METIS: line i has the neighbours of vertex i, from 1"}},
           "Format of the graph file", "simulator setting")
      .only_when(sibling("graph").is_not(""));
  t.flag("undirected", undirected, "Add the reverse of every edge of a directed graph", "assumed");
  t.section("rmat", rmat).only_when(sibling("graph").is(""));
}

CsrGraph load_graph(GraphSpec const& spec, BuildContext const& context, std::vector<InputFile>& inputs) {
  CsrGraph graph;
  if (spec.file.empty()) {
    graph = generate_rmat({.scale = spec.rmat.scale,
                           .edge_factor = spec.rmat.edge_factor,
                           .a = spec.rmat.a,
                           .b = spec.rmat.b,
                           .c = spec.rmat.c,
                           .scramble = spec.rmat.scramble,
                           .seed = context.seed,
                           .limits = context.limits});
  } else {
    std::filesystem::path path(spec.file);
    if (path.is_relative() && !context.base_folder.empty()) path = context.base_folder / path;
    graph = read_graph(path.string(), {spec.format, context.limits});
    inputs.push_back(graph.file);
  }
  if (spec.undirected) graph = undirected(std::move(graph));
  auto const name = spec.file.empty() ? std::string("the R-MAT graph") : shown(spec.file);
  if (graph.targets.empty()) throw UserError(name + ": a graph workload requires at least one edge");
  if (graph.targets.size() >= (1ULL << 32))
    throw UserError(name + ": " + std::to_string(graph.targets.size()) +
                    " directed edges exceed 2^32 - 1, the range of the kernels' row offsets");
  return graph;
}

void check_whole_warps(std::uint32_t block, BuildContext const& context) {
  if (block % context.warp_width != 0)
    throw ParameterError("block", block,
                         "must be a multiple of the warp width, " + std::to_string(context.warp_width));
}

void check_undirected(CsrGraph const& graph) {
  if (graph.directed)
    throw ParameterError("undirected", "false",
                         "must be true, because the graph is directed and the algorithm needs an undirected "
                         "graph");
}

}  // namespace farfault::workloads
