// SPDX-License-Identifier: Apache-2.0
// Breadth-first search of GraphBIG, topological with a frontier (gpu_BFS/bfs_topo_frontier.cu).
//
// Two kernels per level, one thread per vertex. In the first, a thread whose vertex is in the frontier
// removes it and reads its row; for each unvisited neighbour it reads its own level, and writes the
// neighbour's level and its entry in the next frontier. Vertices are marked visited only in the second
// kernel, so that a neighbour is written by each edge that leads to it. In the second, each vertex of the
// next frontier is added to the current one, marked visited, and removed from the next; the flag is written.
#include "traversal.hpp"

namespace farfault::workloads::bfs_tf {
namespace {

struct FrontierSearch : Search {
  VirtAddr frontier = 0, updating = 0, visited = 0;
};

struct Expand : Visit {
  std::shared_ptr<FrontierSearch const> run;
  std::uint32_t level = 0;

  static constexpr std::uint32_t arguments = 6;
  static constexpr std::array head{load(1), compute(pieces(1, 1))};
  static constexpr std::array row{store(1), load(8), load(8), compute(pieces(2, 1))};
  static constexpr std::array edge{load(8), compute(pieces(1, 0)),       load(1),  compute(pieces(0, 1)),
                                   load(4), compute(pieces(2, 0, 1, 1)), store(4), store(1)};

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t, Item v) const { return run->frontier + v.vertex; }
  bool visits(Item v) const { return run->search.level[v.vertex] == level; }
  Row visited(Item v) const { return run->row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const {
    return i == 0 ? run->frontier + v.vertex : run->row_bound(i - 1, v.vertex);
  }
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    auto const w = run->target(e);
    if (i == 0) return run->edge(e);
    if (i == 2) return run->visited + w;
    if (run->search.level[w] <= level) return kNone;
    if (i == 4) return run->level_of(v.vertex);
    return i == 6 ? run->level_of(w) : run->updating + w;
  }
};

struct Update : Visit {
  std::shared_ptr<FrontierSearch const> run;
  std::uint32_t level = 0;

  static constexpr std::array head{load(1), compute(pieces(2, 1))};
  static constexpr std::array row{store(1), store(1), store(1), store(1)};

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t, Item v) const { return run->updating + v.vertex; }
  bool visits(Item v) const { return run->search.level[v.vertex] == level + 1; }
  VirtAddr row_at(std::size_t i, Item v) const {
    if (i == 3) return run->changed;
    return (i == 0 ? run->frontier : i == 1 ? run->visited : run->updating) + v.vertex;
  }
};

Workload build(TraversalSpec const& spec, BuildContext const& context) {
  auto run = std::make_shared<FrontierSearch>();
  PropertyGraphProgram program("bfs_tf", spec, context, *run);
  prepare(program, *run, spec.source);
  auto const n = run->csr.vertices;
  run->frontier = program.layout().add_result("frontier", n);
  run->updating = program.layout().add_result("updating", n);
  run->visited = program.layout().add_result("visited", n);
  run->changed = program.layout().add("changed", 1);
  program.per_thread(
      "initialize", kInitializeRegisters,
      Initialize<1, 1, 1, 4>{{}, n, {run->frontier, run->updating, run->visited, run->levels}});
  for (std::uint32_t l = 0; l <= run->search.depth; ++l) {
    program.per_thread("bfs_kernel_1_level" + std::to_string(l), 24, Expand{{}, run, l});
    program.per_thread("bfs_kernel_2_level" + std::to_string(l), 6, Update{{}, run, l});
  }
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"bfs_tf",
          "Breadth-first search, topological, with a frontier (GraphBIG)",
          &SpecBuilder<TraversalSpec, build>::make,
          {{kSmall, {{"rmat.scale", "10"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "18"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: one R-MAT graph for all of its "
            "workloads"}}};
}

}  // namespace farfault::workloads::bfs_tf
