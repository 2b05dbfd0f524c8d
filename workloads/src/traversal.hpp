// SPDX-License-Identifier: Apache-2.0
// Code shared by the breadth-first searches of GraphBIG: a property for the level, a kernel per level.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "graph_algorithms.hpp"
#include "property_graph.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads {

inline constexpr std::uint32_t kInitializeRegisters = 8;

struct Search : PropertyGraph {
  std::uint64_t source = 0;
  BreadthFirst search;
  VirtAddr levels = 0, changed = 0;

  VirtAddr level_of(std::uint64_t v) const { return levels + 4 * v; }
};

inline void prepare(PropertyGraphProgram& program, Search& run, std::uint64_t source) {
  run.source = start_vertex(run.csr, source);
  run.search = breadth_first(run.csr, run.source);
  program.check_kernels(1 + 2 * (run.search.depth + std::uint64_t{1}));
  run.levels = program.layout().add_result("levels", 4 * run.csr.vertices);
}

inline void initialize_levels(PropertyGraphProgram& program, Search const& run) {
  program.per_thread("initialize", kInitializeRegisters, Initialize<4>{{}, run.csr.vertices, {run.levels}});
}

// A thread or a warp that reads its vertex's level, and the row of a vertex in the current level.
struct OfLevel : Visit {
  std::shared_ptr<Search const> run;
  std::uint32_t level = 0;

  static constexpr std::uint32_t arguments = 5;
  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t, Item v) const { return run->level_of(v.vertex); }
  bool visits(Item v) const { return run->search.level[v.vertex] == level; }
  Row visited(Item v) const { return run->row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const { return run->row_bound(i, v.vertex); }
};

}  // namespace farfault::workloads
