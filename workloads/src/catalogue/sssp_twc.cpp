// SPDX-License-Identifier: Apache-2.0
// Shortest paths of GraphBIG, topological and warp-centric (gpu_SSSP/sssp_topo_warp_centric.cu).
//
// Two kernels per round. In the first, a warp processes 32 vertices one after the other. If a vertex is
// marked, the threads read its distance, and its edges side by side with their weights, and lower the
// targets' new distances by an atomic without a result; the mark is cleared. In the second, one thread per
// vertex commits a lower new distance, marks its vertex and writes the flag; other threads overwrite the new
// distance with their distance.
#include "traversal.hpp"

namespace farfault::workloads::sssp_twc {
namespace {

struct Spec : TraversalSpec {
  ChunkSpec chunks;
  std::uint32_t max_weight = 1;

  void describe(ParamTable& t) {
    TraversalSpec::describe(t);
    chunks.describe(t);
    t.count("max_weight", max_weight, {1, 1U << 24},
            "Maximum edge weight; weights are random from 1 to this, and values in a graph file are ignored",
            "GraphBIG, gpu_SSSP/main.cpp: every edge has weight 1");
  }
};

struct Paths : PropertyGraph {
  ShortestPaths paths;
  VirtAddr distance = 0, update = 0, mask = 0, weights = 0, changed = 0;
};

struct Relax : Visit {
  std::shared_ptr<Paths const> run;
  std::uint32_t round = 0;

  static constexpr std::uint32_t arguments = 5;
  static constexpr std::array head{load(1), compute(pieces(2, 2, 0, 2))};
  static constexpr std::array row{load(8), load(8), load(4), compute(pieces(2, 1, 0, 4))};
  static constexpr std::array edge{load(8), load(4), compute(pieces(1, 0, 1, 3)), atomic_store(4)};
  static constexpr std::array tail{store(1)};

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t, Item v) const { return run->mask + v.vertex; }
  bool visits(Item v) const { return run->paths.is_read(v.vertex, round); }
  Row visited(Item v) const { return run->row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const {
    if (i < 2) return run->row_bound(i, v.vertex);
    return visited(v).count == 0 ? kNone : run->distance + 4 * v.vertex;
  }
  VirtAddr edge_at(std::size_t i, Item, std::uint64_t e) const {
    if (i == 0) return run->edge(e);
    return i == 1 ? run->weights + 4 * e : run->update + 4 * run->target(e);
  }
  VirtAddr tail_at(std::size_t, Item v) const { return run->mask + v.vertex; }
};

struct TakeOver : Visit {
  std::shared_ptr<Paths const> run;
  std::uint32_t round = 0;

  static constexpr std::uint32_t arguments = 5;
  static constexpr std::array head{load(4),  load(4), compute(pieces(2, 1, 0, 2)), store(4), store(1),
                                   store(1), store(4)};

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t i, Item v) const {
    auto const distance = run->distance + 4 * v.vertex;
    auto const update = run->update + 4 * v.vertex;
    if (i < 2) return i == 0 ? update : distance;
    if (!run->paths.is_read(v.vertex, round + 1)) return i == 6 ? update : kNone;
    switch (i) {
      case 3:
        return distance;
      case 4:
        return run->mask + v.vertex;
      case 5:
        return run->changed;
      default:
        return kNone;
    }
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Paths>();
  PropertyGraphProgram program("sssp_twc", spec, context, *run);
  auto const n = run->csr.vertices;
  run->paths = shortest_paths(run->csr, start_vertex(run->csr, spec.source), spec.max_weight, context.seed);
  auto const rounds = run->paths.rounds;
  program.check_kernels(1 + 2 * std::uint64_t{rounds});
  run->distance = program.layout().add_result("distance", 4 * n);
  run->mask = program.layout().add_result("mask", n);
  run->update = program.layout().add_result("update", 4 * n);
  run->weights = program.layout().add("weights", 4 * run->csr.targets.size());
  run->changed = program.layout().add("changed", 1);
  program.per_thread("initialize", kInitializeRegisters,
                     Initialize<4, 4, 1>{{}, n, {run->distance, run->update, run->mask}});
  for (std::uint32_t r = 0; r < rounds; ++r) {
    program.per_warp("sssp_kernel_round" + std::to_string(r), 30, spec.chunks.chunk, Relax{{}, run, r});
    program.per_thread("sssp_kernel2_round" + std::to_string(r), 8, TakeOver{{}, run, r});
  }
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"sssp_twc",
          "Single-source shortest paths, topological, warp-centric (GraphBIG)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "11"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "18"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: one R-MAT graph for all of its "
            "workloads"}}};
}

}  // namespace farfault::workloads::sssp_twc
