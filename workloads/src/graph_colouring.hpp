// SPDX-License-Identifier: Apache-2.0
// Code shared by the two graph colourings of GraphBIG: properties, and the accesses of a thread to its
// vertex.
//
// A thread whose vertex has no colour reads the vertex's random number and row. For each neighbour it reads
// the colour and, unless an earlier round set it, the random number; a larger number ends the loop. If no
// number was larger, the thread writes the round as the vertex's colour.
#pragma once

#include <array>
#include <memory>

#include "graph_algorithms.hpp"
#include "property_graph.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads {

struct ColouredGraph : PropertyGraph {
  Colouring colouring;
  VirtAddr colours = 0, numbers = 0;

  VirtAddr colour_of(std::uint64_t v) const { return colours + 4 * v; }
  VirtAddr number_of(std::uint64_t v) const { return numbers + 4 * v; }
};

inline void prepare(PropertyGraphProgram& program, ColouredGraph& run, std::uint64_t seed) {
  program.needs_undirected(run);
  run.colouring = colouring(run.csr, seed);
  run.colours = program.layout().add_result("colours", 4 * run.csr.vertices);
  run.numbers = program.layout().add("numbers", 4 * run.csr.vertices);
}

inline void initialize_colours(PropertyGraphProgram& program, ColouredGraph const& run) {
  program.per_thread("initialize", 8, Initialize<4>{{}, run.csr.vertices, {run.colours}});
}

template <class Run>
struct Colour : Visit {
  std::shared_ptr<Run const> run;
  std::uint32_t round = 0;

  static constexpr std::array row{load(4), load(8), load(8), compute(pieces(1, 1))};
  static constexpr std::array edge{load(8), compute(pieces(1, 0)),   load(4), compute(pieces(1, 1)),
                                   load(4), compute(pieces(0, 2, 1))};

  bool coloured_now(std::uint64_t v) const { return run->colouring.colour[v] == round; }
  bool visits(Item v) const { return run->colouring.colour[v.vertex] >= round; }
  Row visited(Item v) const {
    return {run->csr.offsets[v.vertex], run->colouring.looked_at(run->csr, v.vertex, round)};
  }
  VirtAddr row_at(std::size_t i, Item v) const {
    return i == 0 ? run->number_of(v.vertex) : run->row_bound(i - 1, v.vertex);
  }
  VirtAddr edge_at(std::size_t i, Item, std::uint64_t e) const {
    auto const w = run->target(e);
    if (i == 0) return run->edge(e);
    if (i == 2) return run->colour_of(w);
    return run->colouring.colour[w] < round ? kNone : run->number_of(w);
  }
};

}  // namespace farfault::workloads
