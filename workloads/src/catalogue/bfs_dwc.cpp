// SPDX-License-Identifier: Apache-2.0
// Breadth-first search of GraphBIG, data-driven and warp-centric (gpu_BFS/bfs_data_warp_centric.cu).
//
// One kernel per level; the frontier is a work list in memory, of 64 bits per vertex. A warp processes 32
// entries one after the other: its threads read a row side by side and the levels of the neighbours, write
// unset levels, and keep these vertices. At its end each thread reserves space in the next list by an atomic
// on the list's end and writes its vertices there. They are kept in local memory, which has no addresses
// here. GraphBIG also writes them whenever a thread holds 128 entries; here only at the end.
#include "traversal.hpp"

namespace farfault::workloads::bfs_dwc {
namespace {

struct Spec : TraversalSpec {
  ChunkSpec chunks;
  std::uint64_t worklist = 0;

  void describe(ParamTable& t) {
    TraversalSpec::describe(t);
    chunks.describe(t);
    t.count("worklist", worklist, {0, 1ULL << 32},
            "8-byte entries of each of the two work lists (GraphBIG: 16777216). 0: one per vertex",
            "assumed");
  }
};

struct ListSearch : Search {
  Frontiers lists;
  std::array<VirtAddr, 2> items{}, ends{};
};

struct Level : Visit {
  std::shared_ptr<ListSearch const> run;
  std::uint32_t level = 0;

  static constexpr std::uint32_t arguments = 6;
  static constexpr std::array begin{load(4), compute(pieces(0, 2, 0, 2))};
  static constexpr std::array head{load(8), compute(pieces(1, 0))};
  static constexpr std::array row{load(8), load(8), compute(pieces(1, 1, 0, 4))};
  static constexpr std::array edge{load(8), compute(pieces(1, 0)), load(4), compute(pieces(1, 2, 1, 1)),
                                   store(4)};
  static constexpr std::array finish{atomic_load(4), compute(pieces(1, 1))};
  static constexpr std::array push{store(8), compute(pieces(0, 0, 1))};

  std::uint64_t items() const { return run->lists.first[level + std::size_t{1}] - run->lists.first[level]; }
  std::uint64_t vertex(std::uint64_t at) const { return run->lists.vertices[run->lists.first[level] + at]; }
  VirtAddr begin_at(std::size_t) const { return run->ends[level % 2]; }
  VirtAddr head_at(std::size_t, Item v) const { return run->items[level % 2] + 8 * v.at; }
  bool visits(Item) const { return true; }
  Row visited(Item v) const { return run->row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const { return run->row_bound(i, v.vertex); }
  VirtAddr edge_at(std::size_t i, Item, std::uint64_t e) const {
    if (i == 0) return run->edge(e);
    if (i == 4 && !run->search.finds[e]) return kNone;
    return run->level_of(run->target(e));
  }
  VirtAddr finish_at(std::size_t, std::uint64_t) const { return run->ends[1 - level % 2]; }
  std::uint64_t pushes(std::uint64_t thread) const { return before(thread + 1) - before(thread); }
  VirtAddr push_at(std::size_t, std::uint64_t thread, std::uint64_t i) const {
    return run->items[1 - level % 2] + 8 * (before(thread) + i);
  }

 private:
  std::uint64_t before(std::uint64_t thread) const {
    return run->lists.pushed[run->lists.first_thread[level] + thread];
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<ListSearch>();
  PropertyGraphProgram program("bfs_dwc", spec, context, *run);
  prepare(program, *run, spec.source);
  run->lists = frontiers(run->csr, run->search, run->source, spec.chunks.chunk);
  auto const entries = program.worklist_entries(spec.worklist, *run);
  for (std::size_t i = 0; i < 2; ++i) {
    run->items[i] = program.layout().add_result("worklist" + std::to_string(i + 1), 8 * entries);
    run->ends[i] = program.layout().add("worklist" + std::to_string(i + 1) + "_end", 4);
  }
  initialize_levels(program, *run);
  for (std::uint32_t l = 0; l <= run->search.depth; ++l)
    program.per_warp("bfs_level" + std::to_string(l), 64, spec.chunks.chunk, Level{{}, run, l});
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"bfs_dwc",
          "Breadth-first search, data-driven, warp-centric (GraphBIG)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "11"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "18"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: one R-MAT graph for all of its "
            "workloads"}}};
}

}  // namespace farfault::workloads::bfs_dwc
