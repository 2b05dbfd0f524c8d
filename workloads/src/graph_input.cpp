// SPDX-License-Identifier: Apache-2.0
#include "graph_input.hpp"

#include <filesystem>
#include <utility>

namespace farfault::workloads {

void RmatSpec::describe(ParamTable& t) {
  t.count("scale", scale, {1, 31}, "log2 of the number of vertices", "assumed");
  t.count("edge_factor", edge_factor, {1, 4096}, "Edges per vertex",
          "Graph500 (16) unless the workload sets another value");
  t.number("a", a, {0.0, 1.0}, "Probability of the first quadrant", "Graph500");
  t.number("b", b, {0.0, 1.0}, "Probability of the second quadrant", "Graph500");
  t.number("c", c, {0.0, 1.0}, "Probability of the third quadrant. a = b = c = 0.25: uniform graph",
           "Graph500");
  t.flag("scramble", scramble, "Renumber the vertices randomly", "Graph500");
}

void GraphSpec::describe(ParamTable& t) {
  t.file("graph", file,
         "File of a graph (Matrix Market, SNAP, METIS; plain, .gz, .xz). Empty: generated R-MAT graph",
         "assumed");
  t.choice("format", format,
           {{"auto", GraphFormat::automatic, "detected from the content"},
            {"matrix-market", GraphFormat::matrix_market,
             "Matrix Market: size line, then one entry per line, from 1"},
            {"snap", GraphFormat::snap, "SNAP: one edge per line, # starts a comment"},
            {"metis", GraphFormat::metis, "METIS: line i has the neighbors of vertex i, from 1"}},
           "Format of the file", "assumed")
      .only_when(sibling("graph").is_not(""));
  t.flag("undirected", undirected, "Add the reverse of every edge of a directed graph", "assumed");
  t.section("rmat", rmat).only_when(sibling("graph").is(""));
}

CsrGraph load_graph(GraphSpec const& spec, BuildContext const& context, std::vector<InputFile>& inputs) {
  CsrGraph graph;
  if (spec.file.empty()) {
    graph = generate_rmat({spec.rmat.scale, spec.rmat.edge_factor, spec.rmat.a, spec.rmat.b, spec.rmat.c,
                           spec.rmat.scramble, context.seed, context.limits});
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

void check_whole_warps(std::string_view workload, std::uint32_t block, BuildContext const& context) {
  if (block % context.warp_width != 0)
    throw UserError(std::string(workload) + ": block " + std::to_string(block) +
                    " is not a multiple of the warp's " + std::to_string(context.warp_width) + " threads");
}

void check_undirected(std::string_view workload, CsrGraph const& graph) {
  if (graph.directed)
    throw UserError(
        std::string(workload) +
        ": the graph is directed, but the algorithm requires an undirected graph; set undirected = true "
        "to add reverse edges");
}

}  // namespace farfault::workloads
