// SPDX-License-Identifier: Apache-2.0
// Graph files of the format FARFAULT_FUZZ_FORMAT, plain or compressed.
#include "farfault/workloads/graph.hpp"
#include "harness.hpp"

using namespace farfault;
using namespace farfault::workloads;

namespace {

void expect_sound(CsrGraph const& graph) {
  fuzz::expect(graph.offsets.size() == graph.vertices + 1 && graph.offsets.front() == 0 &&
                   graph.offsets.back() == graph.targets.size(),
               "a graph has one row for each vertex");
  for (std::uint64_t v = 0; v < graph.vertices; ++v)
    fuzz::expect(graph.offsets[v] <= graph.offsets[v + 1], "rows are in order");
  for (auto const target : graph.targets)
    fuzz::expect(target < graph.vertices, "an edge ends at a vertex of the graph");
}

}  // namespace

void fuzz_one(fuzz::Bytes input) {
  static fuzz::MemoryFile file;
  file.set(input);
  GraphOptions options;
  options.limits = fuzz::small_limits();
  options.format = GraphFormat::FARFAULT_FUZZ_FORMAT;
  CsrGraph graph;
  if (!fuzz::accepts([&] { graph = read_graph(file.path(), options); })) return;
  expect_sound(graph);
  expect_sound(transposed(graph));
  expect_sound(undirected(std::move(graph)));
}
