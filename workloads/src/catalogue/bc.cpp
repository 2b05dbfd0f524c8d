// SPDX-License-Identifier: Apache-2.0
// Betweenness centrality of GraphBIG, topological and thread-centric (gpu_BetweennessCentr/betweenness.cu).
//
// Kernels per root:
// - A kernel clears the properties.
// - Forward, one kernel per level: a thread whose vertex is in the level reads its row and the neighbours'
//   distances. It sets unset distances (and reads them again), writes the flag, and adds its number of
//   shortest paths (sigma) to the neighbours in the next level by an atomic without a result.
// - Backward, one kernel per level: a thread gathers distance, sigma and dependency (delta) of its
//   neighbours.
// - A kernel adds the dependencies to the centrality.
#include "graph_algorithms.hpp"
#include "property_graph.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::bc {
namespace {

struct Spec : TraversalSpec {
  std::uint32_t roots = 1;

  void describe(ParamTable& t) {
    TraversalSpec::describe(t);
    t.count("roots", roots, {1, 1U << 20},
            "Roots, consecutive from the start vertex (GraphBIG: all vertices)", "assumed");
  }
};

struct Run : PropertyGraph {
  VirtAddr centrality = 0, delta = 0, distance = 0, sigma = 0, over = 0;

  VirtAddr distance_of(std::uint64_t v) const { return distance + 4 * v; }
  VirtAddr sigma_of(std::uint64_t v) const { return sigma + 4 * v; }
  VirtAddr delta_of(std::uint64_t v) const { return delta + 4 * v; }
};

// The search from one root.
struct OfRoot : Visit {
  std::shared_ptr<Run const> run;
  std::shared_ptr<BreadthFirst const> search;

  static constexpr std::uint32_t arguments = 6;
  std::uint64_t items() const { return run->csr.vertices; }
  Row visited(Item v) const { return run->row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const { return run->row_bound(i, v.vertex); }
  std::uint32_t level(std::uint64_t v) const { return search->level[v]; }
};

struct Clear : Visit {
  std::shared_ptr<Run const> run;
  std::uint64_t root = 0;

  // The root's distance and sigma are written a second time.
  static constexpr std::array head{store(4), store(4), store(4), store(4), store(4)};

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t i, Item v) const {
    if (i > 2 && v.vertex != root) return kNone;
    if (i == 2) return run->delta_of(v.vertex);
    return i == 0 || i == 3 ? run->distance_of(v.vertex) : run->sigma_of(v.vertex);
  }
};

struct Forward : OfRoot {
  std::uint32_t current = 0;

  static constexpr std::array head{load(4), compute(pieces(1, 1))};
  static constexpr std::array row{load(8), load(8), compute(pieces(1, 1))};
  static constexpr std::array edge{
      load(8), compute(pieces(1, 0)), load(4),        compute(pieces(0, 2, 1)), store(4), store(1), load(4),
      load(4), compute(pieces(1, 0)), atomic_store(4)};

  VirtAddr head_at(std::size_t, Item v) const { return run->distance_of(v.vertex); }
  bool visits(Item v) const { return level(v.vertex) == current; }
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    auto const w = run->target(e);
    if (i == 0) return run->edge(e);
    if (i == 2) return run->distance_of(w);
    if (i < 7) {
      if (!search->finds[e]) return kNone;
      return i == 5 ? run->over : run->distance_of(w);
    }
    if (level(w) != current + 1) return kNone;
    return run->sigma_of(i == 7 ? v.vertex : w);
  }
};

// A division of doubles is 11 vector instructions and a reciprocal on gfx803; six convert and combine.
constexpr Work kDependency{.vector = 11 + 6 + kLoopVector, .special = 1, .scalar = kLoopScalar};

struct Backward : OfRoot {
  std::uint32_t current = 0;

  static constexpr std::array head{load(4), compute(pieces(1, 1))};
  static constexpr std::array row{load(8), load(8), compute(pieces(1, 1))};
  static constexpr std::array edge{
      load(8), compute(pieces(1, 0)), load(4), compute(pieces(2, 1)), load(4), load(4),
      load(4), compute(kDependency)};
  static constexpr std::array tail{load(4), compute({.vector = 1}), store(4)};

  VirtAddr head_at(std::size_t, Item v) const { return run->distance_of(v.vertex); }
  bool visits(Item v) const { return level(v.vertex) == current - 1; }
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    auto const w = run->target(e);
    if (i == 0) return run->edge(e);
    if (i == 2) return run->distance_of(w);
    if (level(w) != current) return kNone;
    if (i == 6) return run->delta_of(w);
    return run->sigma_of(i == 4 ? v.vertex : w);
  }
  VirtAddr tail_at(std::size_t, Item v) const { return run->delta_of(v.vertex); }
};

struct Sum : OfRoot {
  std::uint64_t root = 0;

  static constexpr std::array head{load(4), compute(pieces(2, 1))};
  static constexpr std::array row{load(4), load(4), compute({.vector = 1}), store(4)};

  VirtAddr head_at(std::size_t, Item v) const {
    return v.vertex == root ? kNone : run->distance_of(v.vertex);
  }
  bool visits(Item v) const { return v.vertex != root && level(v.vertex) != kNever; }
  Row visited(Item) const { return {0, 0}; }
  VirtAddr row_at(std::size_t i, Item v) const {
    return i == 1 ? run->delta_of(v.vertex) : run->centrality + 4 * v.vertex;
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Run>();
  PropertyGraphProgram program("bc", spec, context, *run);
  auto const first = start_vertex(run->csr, spec.source);
  auto const n = run->csr.vertices;
  auto const roots = std::min<std::uint64_t>(spec.roots, n);
  program.check_record(roots * (4 * n + run->csr.targets.size() / 8), std::to_string(roots) + " searches");
  run->centrality = program.layout().add("centrality", 4 * n);
  run->delta = program.layout().add_result("delta", 4 * n);
  run->distance = program.layout().add_result("distance", 4 * n);
  run->sigma = program.layout().add_result("sigma", 4 * n);
  run->over = program.layout().add("over", 1);
  std::uint64_t kernels = 0;
  for (std::uint64_t i = 0; i < roots; ++i) {
    auto const root = (first + i) % n;
    auto const search = std::make_shared<BreadthFirst const>(breadth_first(run->csr, root));
    program.check_kernels(kernels += 2 * search->depth + std::uint64_t{3});
    auto const name = [&](char const* kernel) { return kernel + std::to_string(root); };
    program.per_thread(name("bc_init_root"), 8, Clear{{}, run, root});
    for (std::uint32_t l = 0; l <= search->depth; ++l)
      program.per_thread(name("bc_forward_root"), 24, Forward{{{}, run, search}, l});
    for (auto l = search->depth; l > 0; --l)
      program.per_thread(name("bc_backward_root"), 39, Backward{{{}, run, search}, l});
    program.per_thread(name("bc_backsum_root"), 8, Sum{{{}, run, search}, root});
  }
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"bc",
          "Betweenness centrality, topological, thread-centric (GraphBIG)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "10"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "18"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: one R-MAT graph for all of its "
            "workloads"}}};
}

}  // namespace farfault::workloads::bc
