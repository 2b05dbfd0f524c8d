// SPDX-License-Identifier: Apache-2.0
// R-MAT (Chakrabarti, Zhan, Faloutsos, SDM'04) as in the Graph500 specification: each edge descends `scale`
// levels of the adjacency matrix and selects a quadrant at each.
#include <cmath>
#include <utility>

#include "farfault/engine/error.hpp"
#include "graph_formats.hpp"
#include "random.hpp"

namespace farfault::workloads {
namespace {

// A permutation of [0, 2^bits): each step is invertible within the mask.
std::uint64_t scrambled(std::uint64_t v, std::uint32_t bits) {
  auto const mask = (std::uint64_t{1} << bits) - 1;
  auto const shift = (bits + 1) / 2;
  v = (v * 0x9e3779b97f4a7c15ULL) & mask;
  v ^= v >> shift;
  v = (v * 0xbf58476d1ce4e5b9ULL) & mask;
  v ^= v >> shift;
  return v;
}

std::uint64_t threshold(double p) {
  return static_cast<std::uint64_t>(std::llround(p * 4294967296.0));
}

}  // namespace

CsrGraph generate_rmat(RmatOptions const& options) {
  if (options.scale < 1 || options.scale > 31)
    throw UserError("R-MAT scale " + std::to_string(options.scale) + " is not in 1 to 31");
  if (options.a < 0 || options.b < 0 || options.c < 0 || options.a + options.b + options.c > 1)
    throw UserError("R-MAT probabilities a, b and c must not be negative, and their sum must not exceed 1");
  auto const vertices = std::uint64_t{1} << options.scale;
  auto const edges = vertices * options.edge_factor;
  auto const limits = options.limits.of_this_machine();
  if (vertices > limits.vertices)
    throw UserError("R-MAT scale " + std::to_string(options.scale) + " gives " + std::to_string(vertices) +
                    " vertices, more than " + limit_text("vertices", limits.vertices));
  if (edges > limits.edges)
    throw UserError("R-MAT scale " + std::to_string(options.scale) + " with edge factor " +
                    std::to_string(options.edge_factor) + " gives " + std::to_string(edges) +
                    " edges, more than " + limit_text("edges", limits.edges));
  auto const up_to_a = threshold(options.a);
  auto const up_to_b = threshold(options.a + options.b);
  auto const up_to_c = threshold(options.a + options.b + options.c);

  EdgeList list;
  list.sources.reserve(edges);
  list.targets.reserve(edges);
  Random random(options.seed);
  for (std::uint64_t e = 0; e < edges; ++e) {
    std::uint64_t row = 0;
    std::uint64_t column = 0;
    std::uint64_t bits = 0;
    for (std::uint32_t level = 0; level < options.scale; ++level) {
      bits = level % 2 == 0 ? random.next() : bits >> 32;
      auto const draw = bits & 0xffff'ffff;
      auto const quadrant =
          std::uint64_t{draw >= up_to_a} + std::uint64_t{draw >= up_to_b} + std::uint64_t{draw >= up_to_c};
      row = 2 * row + (quadrant >> 1);
      column = 2 * column + (quadrant & 1);
    }
    if (options.scramble) {
      row = scrambled(row, options.scale);
      column = scrambled(column, options.scale);
    }
    list.add(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column));
  }
  auto graph = build_csr(vertices, std::move(list), false);
  graph.file_edges = edges;
  return graph;
}

}  // namespace farfault::workloads
