// SPDX-License-Identifier: Apache-2.0
// K-core decomposition of GraphBIG, topological and thread-centric (gpu_kCore/kcore.cu): the vertices that
// remain when vertices with a degree below k are removed repeatedly.
//
// Two kernels per round, one thread per vertex. In the first, a thread whose vertex is flagged reads its row
// and, for each neighbour, whether it is removed; if not, it lowers its degree by an atomic without a result.
// In the second, a thread whose vertex is not removed reads its degree; if it is below k, the thread removes
// and flags the vertex, counts it by an atomic, and writes the flag of another round.
#include "graph_algorithms.hpp"
#include "property_graph.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::kcore {
namespace {

struct Spec : PropertyGraphSpec {
  std::uint32_t k = 3;

  void describe(ParamTable& t) {
    PropertyGraphSpec::describe(t);
    t.count("k", k, {1, 1U << 30}, "Minimum degree within the core", "GraphBIG, gpu_kCore/main.cpp: kcore");
  }
};

struct Peeling : PropertyGraph {
  Core core;
  VirtAddr degrees = 0, removed = 0, flags = 0, count = 0, over = 0;

  VirtAddr degree_of(std::uint64_t v) const { return degrees + 4 * v; }
};

struct Degrees : Visit {
  std::shared_ptr<Peeling const> run;

  static constexpr std::array head{load(8),  load(8),  compute(pieces(3, 0, 0, 1)),
                                   store(4), store(1), store(1)};

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t i, Item v) const {
    if (i < 2) return i == 0 ? run->row_begin(v.vertex) : run->row_end(v.vertex);
    if (i == 3) return run->degree_of(v.vertex);
    return (i == 4 ? run->removed : run->flags) + v.vertex;
  }
};

struct Lower : Visit {
  std::shared_ptr<Peeling const> run;
  std::uint32_t round = 0;

  static constexpr std::uint32_t arguments = 5;
  static constexpr std::array head{load(1), compute(pieces(1, 1))};
  static constexpr std::array row{load(8), load(8), compute(pieces(1, 1))};
  static constexpr std::array edge{load(8), compute(pieces(1, 0)), load(1), compute(pieces(1, 1, 1)),
                                   atomic_store(4)};
  static constexpr std::array tail{store(1)};

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t, Item v) const { return run->flags + v.vertex; }
  bool visits(Item v) const { return round > 0 && run->core.removed[v.vertex] == round - 1; }
  Row visited(Item v) const { return run->row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const { return run->row_bound(i, v.vertex); }
  VirtAddr edge_at(std::size_t i, Item, std::uint64_t e) const {
    auto const w = run->target(e);
    if (i == 0) return run->edge(e);
    if (i == 2) return run->removed + w;
    return run->core.removed[w] < round ? kNone : run->degree_of(w);
  }
  VirtAddr tail_at(std::size_t, Item v) const { return run->flags + v.vertex; }
};

struct Remove : Visit {
  std::shared_ptr<Peeling const> run;
  std::uint32_t round = 0;

  static constexpr std::uint32_t arguments = 6;
  static constexpr std::array head{load(1), compute(pieces(1, 1))};
  static constexpr std::array row{load(4),  compute(pieces(1, 1)), store(1),
                                  store(1), atomic_store(4),       store(1)};

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t, Item v) const { return run->removed + v.vertex; }
  bool visits(Item v) const { return run->core.removed[v.vertex] >= round; }
  VirtAddr row_at(std::size_t i, Item v) const {
    if (i == 0) return run->degree_of(v.vertex);
    if (run->core.removed[v.vertex] != round) return kNone;
    if (i < 4) return (i == 2 ? run->removed : run->flags) + v.vertex;
    return i == 4 ? run->count : run->over;
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Peeling>();
  PropertyGraphProgram program("kcore", spec, context, *run);
  program.needs_undirected(*run);
  run->core = core(run->csr, spec.k);
  program.check_kernels(1 + 2 * std::uint64_t{run->core.rounds});
  auto const n = run->csr.vertices;
  run->degrees = program.layout().add_result("degrees", 4 * n);
  run->removed = program.layout().add_result("removed", n);
  run->flags = program.layout().add_result("flags", n);
  run->count = program.layout().add("removed_count", 4);
  run->over = program.layout().add("over", 1);
  program.per_thread("initialize", 10, Degrees{{}, run});
  for (std::uint32_t r = 0; r < run->core.rounds; ++r) {
    program.per_thread("kcore_kernel_round" + std::to_string(r), 20, Lower{{}, run, r});
    program.per_thread("kcore_kernel2_round" + std::to_string(r), 7, Remove{{}, run, r});
  }
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"kcore",
          "k-core decomposition, topological, thread-centric (GraphBIG)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "12"}}},
           {kMedium, {{"rmat.scale", "16"}}},
           {kPaper,
            {{"rmat.scale", "18"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: one R-MAT graph for all of its "
            "workloads"}}};
}

}  // namespace farfault::workloads::kcore
