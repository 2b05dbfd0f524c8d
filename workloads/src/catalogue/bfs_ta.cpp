// SPDX-License-Identifier: Apache-2.0
// Breadth-first search of GraphBIG, topological with atomics (gpu_BFS/bfs_topo_atomic.cu).
//
// The algorithm has no frontier. In every round every thread reads its vertex's row, and for each edge the
// level of its own vertex (an atomic may have changed it), the target, and the target's level. An edge that
// would lower the target's level takes the minimum by an atomic with a result. A thread that lowered a level
// writes the flag at its end.
//
// Rounds are synchronous here. On hardware a thread may see levels that others found in the same round, so
// that fewer rounds may suffice.
#include "traversal.hpp"

namespace farfault::workloads::bfs_ta {
namespace {

struct Round : OfLevel {
  static constexpr std::array row{load(8), load(8), compute(pieces(1, 1))};
  static constexpr std::array edge{load(4),
                                   load(8),
                                   compute(pieces(1, 0)),
                                   load(4),
                                   compute(pieces(0, 1, 1, 2)),
                                   atomic_load(4),
                                   compute(pieces(0, 1))};
  static constexpr std::array tail{store(1)};

  bool visits(Item) const { return true; }
  VirtAddr row_at(std::size_t i, Item v) const {
    return i == 0 ? run->row_begin(v.vertex) : run->row_end(v.vertex);
  }
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    if (i == 0) return run->level_of(v.vertex);
    if (i == 1) return run->edge(e);
    if (i == 5 && (run->search.level[v.vertex] != level || !run->search.finds[e])) return kNone;
    return run->level_of(run->target(e));
  }
  VirtAddr tail_at(std::size_t, Item v) const {
    if (run->search.level[v.vertex] != level) return kNone;
    auto const r = run->row(v.vertex);
    for (auto e = r.first; e < r.first + r.count; ++e)
      if (run->search.finds[e]) return run->changed;
    return kNone;
  }
};

Workload build(TraversalSpec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Search>();
  PropertyGraphProgram program("bfs_ta", spec, context, *run);
  prepare(program, *run, spec.source);
  run->changed = program.layout().add("changed", 1);
  initialize_levels(program, *run);
  for (std::uint32_t l = 0; l <= run->search.depth; ++l)
    program.per_thread("bfs_round" + std::to_string(l), 15, Round{{{}, run, l}});
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"bfs_ta",
          "Breadth-first search, topological, with atomics (GraphBIG)",
          &SpecBuilder<TraversalSpec, build>::make,
          {{kSmall, {{"rmat.scale", "9"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "18"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: one R-MAT graph for all of its "
            "workloads"}}};
}

}  // namespace farfault::workloads::bfs_ta
