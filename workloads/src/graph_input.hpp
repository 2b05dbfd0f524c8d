// SPDX-License-Identifier: Apache-2.0
// The parameters that select a graph, shared by the graph workloads: a file, or R-MAT.
#pragma once

#include <string>

#include "farfault/engine/params.hpp"
#include "farfault/workloads/graph.hpp"
#include "farfault/workloads/registry.hpp"

namespace farfault::workloads {

struct RmatSpec {
  std::uint32_t scale = 16;
  std::uint32_t edge_factor = 16;
  double a = 0.57;
  double b = 0.19;
  double c = 0.19;
  bool scramble = true;

  void describe(ParamTable& t);
};

struct GraphSpec {
  std::string file;
  GraphFormat format = GraphFormat::automatic;
  bool undirected = false;
  RmatSpec rmat;

  void describe(ParamTable& t);
};

// Loads or generates the selected graph. Adds the file's record to `inputs` if there is a file. Throws
// UserError also for a graph without edges or with more than 2^32 - 1 directed edges: the kernels' row
// offsets have 32 bits.
CsrGraph load_graph(GraphSpec const& spec, BuildContext const& context, std::vector<InputFile>& inputs);

// Throws ParameterError unless `block` threads are a multiple of the warp width.
void check_whole_warps(std::uint32_t block, BuildContext const& context);

// Throws ParameterError for the parameter `undirected` if the graph is directed.
void check_undirected(CsrGraph const& graph);

}  // namespace farfault::workloads
