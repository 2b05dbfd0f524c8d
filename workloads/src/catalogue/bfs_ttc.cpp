// SPDX-License-Identifier: Apache-2.0
// Breadth-first search of GraphBIG, topological and thread-centric (gpu_BFS/bfs_topo_thread_centric.cu).
//
// One kernel per level, one thread per vertex. A thread whose vertex is in the current level reads its row
// and the level of each neighbour; for an unset level it writes the flag, then the level.
#include "traversal.hpp"

namespace farfault::workloads::bfs_ttc {
namespace {

struct Level : OfLevel {
  static constexpr std::array head{load(4), compute(pieces(2, 1))};
  static constexpr std::array row{load(8), load(8), compute(pieces(1, 1))};
  static constexpr std::array edge{
      load(8), compute(pieces(1, 0)), load(4), compute(pieces(0, 1, 1)), store(1), store(4)};

  VirtAddr edge_at(std::size_t i, Item, std::uint64_t e) const {
    if (i == 0) return run->edge(e);
    if (i == 2) return run->level_of(run->target(e));
    if (!run->search.finds[e]) return kNone;
    return i == 4 ? run->changed : run->level_of(run->target(e));
  }
};

Workload build(TraversalSpec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Search>();
  PropertyGraphProgram program("bfs_ttc", spec, context, *run);
  prepare(program, *run, spec.source);
  run->changed = program.layout().add("changed", 1);
  initialize_levels(program, *run);
  for (std::uint32_t l = 0; l <= run->search.depth; ++l)
    program.per_thread("bfs_level" + std::to_string(l), 18, Level{{{}, run, l}});
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"bfs_ttc",
          "Breadth-first search, topological, thread-centric (GraphBIG)",
          &SpecBuilder<TraversalSpec, build>::make,
          {{kSmall, {{"rmat.scale", "10"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "18"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: one R-MAT graph for all of its "
            "workloads"}}};
}

}  // namespace farfault::workloads::bfs_ttc
