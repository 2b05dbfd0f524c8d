// SPDX-License-Identifier: Apache-2.0
// Breadth-first search of GraphBIG, topological and warp-centric (gpu_BFS/bfs_topo_warp_centric.cu).
//
// One kernel per level. A warp processes 32 vertices one after the other: all its threads read the vertex's
// level. If it is the current one, they read the row side by side and the levels of the neighbours; for an
// unset level they write the level, then the flag.
#include "traversal.hpp"

namespace farfault::workloads::bfs_twc {
namespace {

struct Spec : TraversalSpec {
  ChunkSpec chunks;

  void describe(ParamTable& t) {
    TraversalSpec::describe(t);
    chunks.describe(t);
  }
};

struct Level : OfLevel {
  static constexpr std::array head{load(4), compute(pieces(2, 2, 0, 2))};
  static constexpr std::array row{load(8), load(8), compute(pieces(1, 1, 0, 4))};
  static constexpr std::array edge{
      load(8), compute(pieces(1, 0)), load(4), compute(pieces(0, 1, 1)), store(4), store(1)};

  VirtAddr edge_at(std::size_t i, Item, std::uint64_t e) const {
    if (i == 0) return run->edge(e);
    if (i == 2) return run->level_of(run->target(e));
    if (!run->search.finds[e]) return kNone;
    return i == 4 ? run->level_of(run->target(e)) : run->changed;
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Search>();
  PropertyGraphProgram program("bfs_twc", spec, context, *run);
  prepare(program, *run, spec.source);
  run->changed = program.layout().add("changed", 1);
  initialize_levels(program, *run);
  for (std::uint32_t l = 0; l <= run->search.depth; ++l)
    program.per_warp("bfs_level" + std::to_string(l), 20, spec.chunks.chunk, Level{{{}, run, l}});
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"bfs_twc",
          "Breadth-first search, topological, warp-centric (GraphBIG)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "11"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "18"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: one R-MAT graph for all of its "
            "workloads"}}};
}

}  // namespace farfault::workloads::bfs_twc
