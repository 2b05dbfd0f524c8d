// SPDX-License-Identifier: Apache-2.0
// Betweenness centrality of Pannotia (bc). Kernels per root:
// - A kernel clears the properties.
// - Forward, one kernel per level: a vertex of the level reads its row and its neighbours' levels, sets unset
//   levels and requests another level, and adds its number of shortest paths (rho) to the neighbours in the
//   next level.
// - Backward, one kernel per level over the reversed graph: adds a vertex's dependency (sigma) to its
//   predecessors by atomics, and to the centrality.
// The reversed graph has its own arrays, even if it equals the graph.
#include <memory>
#include <string>

#include "graph_algorithms.hpp"
#include "pannotia.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::bc_pannotia {
namespace {

struct Spec : PannotiaSpec {
  std::uint64_t source = 0;
  std::uint32_t roots = 1;

  Spec() : PannotiaSpec(128) {}
  void describe(ParamTable& t) {
    PannotiaSpec::describe(t);
    t.count("source", source, {0, 0xffff'ffff},
            "First root, a vertex numbered from 0. If it has no edges: the next vertex that has one",
            "Pannotia, bc");
    t.count("roots", roots, {1, 1U << 20}, "Roots, consecutive from the first (Pannotia: all vertices)",
            "assumed");
  }
};

struct Run : PannotiaGraph {
  PannotiaGraph reversed;
  VirtAddr centrality = 0, levels = 0, rho = 0, sigma = 0, stop = 0;
};

struct OfRoot : Visit {
  std::shared_ptr<Run const> run;
  std::shared_ptr<BreadthFirst const> search;
  std::uint64_t root = 0;
  std::uint32_t current = 0;

  static constexpr std::uint32_t arguments = 6;
  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr of(VirtAddr base, std::uint64_t v) const { return base + 4 * v; }
  VirtAddr head_at(std::size_t, Item v) const { return of(run->levels, v.vertex); }
  std::uint32_t level(std::uint64_t v) const { return search->level[v]; }
  bool visits(Item v) const { return level(v.vertex) == current; }
};

struct ClearCentrality : OfRoot {
  static constexpr std::array head{store(4)};
  VirtAddr head_at(std::size_t, Item v) const { return of(run->centrality, v.vertex); }
  bool visits(Item) const { return false; }
};

struct Clear : OfRoot {
  static constexpr std::array head{store(4), compute(pieces(2, 1)), store(4), store(4)};
  VirtAddr head_at(std::size_t i, Item v) const {
    return of(i == 0 ? run->sigma : i == 2 ? run->rho : run->levels, v.vertex);
  }
  bool visits(Item) const { return false; }
};

struct Forward : OfRoot {
  static constexpr std::array head{load(4), compute(pieces(1, 1))};
  static constexpr std::array row{load(4), load(4), compute(pieces(1, 1))};
  static constexpr std::array edge{
      load(4), compute(pieces(1, 0)), load(4),        compute(pieces(0, 2, 1)), store(4), store(4),
      load(4), compute(pieces(1, 0)), atomic_store(4)};

  Row visited(Item v) const { return run->row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const { return run->row_bound(i, v.vertex); }
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    auto const w = run->target(e);
    if (i == 0) return run->column(e);
    if (i == 2) return of(run->levels, w);
    if (i < 6) {
      if (!search->finds[e]) return kNone;
      return i == 4 ? run->stop : of(run->levels, w);
    }
    if (level(w) != current + 1) return kNone;
    return of(run->rho, i == 6 ? v.vertex : w);
  }
};

// A division of floats takes 9 vector instructions and a reciprocal on gfx803.
constexpr Work kDependency{.vector = 9 + 2 + kAddressVector, .special = 1};

struct Backward : OfRoot {
  static constexpr std::array head{load(4), compute(pieces(1, 1))};
  static constexpr std::array row{load(4), load(4), compute(pieces(1, 1))};
  static constexpr std::array edge{
      load(4), compute(pieces(1, 0)), load(4),        compute(pieces(1, 1, 1)), load(4), load(4),
      load(4), compute(kDependency),  atomic_store(4)};
  static constexpr std::array tail{compute(pieces(1, 1)), load(4), load(4), compute({.vector = 1}), store(4)};

  Row visited(Item v) const { return run->reversed.row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const { return run->reversed.row_bound(i, v.vertex); }
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    auto const w = run->reversed.target(e);
    if (i == 0) return run->reversed.column(e);
    if (i == 2) return of(run->levels, w);
    // In the suite, an unreached level is -1, one less than the root's: kNever + 1 is 0.
    if (level(w) + 1 != current) return kNone;
    if (i == 4) return of(run->rho, v.vertex);
    if (i == 5) return of(run->rho, w);
    return of(run->sigma, i == 6 ? v.vertex : w);
  }
  VirtAddr tail_at(std::size_t i, Item v) const {
    if (v.vertex == root) return kNone;
    return of(i == 1 ? run->sigma : run->centrality, v.vertex);
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Run>();
  PannotiaProgram program("bc_pannotia", spec, context, *run);
  auto const first = start_vertex(run->csr, spec.source);
  auto const n = run->csr.vertices;
  auto const roots = std::min<std::uint64_t>(spec.roots, n);
  if (roots * (4 * n + run->csr.targets.size() / 8) > (1ULL << 30))
    throw UserError(
        "bc_pannotia: " + std::to_string(roots) +
        " searches need more than 1 GiB of host memory, the maximum; use a smaller graph or lower "
        "roots");
  run->reversed.csr = transposed(run->csr);
  auto& layout = program.layout();
  run->reversed.rows = layout.add("row_reversed", 4 * n);
  run->reversed.columns = layout.add("column_reversed", 4 * run->csr.targets.size());
  run->centrality = layout.add_result("centrality", 4 * n);
  run->levels = layout.add_result("levels", 4 * n);
  run->sigma = layout.add_result("sigma", 4 * n);
  run->rho = layout.add_result("rho", 4 * n);
  run->stop = layout.add("stop", 4);
  for (std::uint64_t i = 0; i < roots; ++i) {
    auto const root = (first + i) % n;
    auto const search = std::make_shared<BreadthFirst const>(breadth_first(run->csr, root));
    auto const name = [&](char const* kernel) { return kernel + std::to_string(root); };
    auto const of_level = [&](std::uint32_t l) { return OfRoot{{}, run, search, root, l}; };
    if (i == 0) program.per_thread("clean_bc", 6, ClearCentrality{of_level(0)});
    program.per_thread(name("clean_root"), 14, Clear{of_level(0)});
    for (std::uint32_t l = 0; l <= search->depth; ++l)
      program.per_thread(name("bfs_root"), 24, Forward{of_level(l)});
    for (auto l = search->depth + 1; l > 0; --l)
      program.per_thread(name("backtrack_root"), 26, Backward{of_level(l - 1)});
  }
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"bc_pannotia",
          "Betweenness centrality, one kernel per level forward and backward (Pannotia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "11"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "11"}, {"rmat.edge_factor", "512"}},
            "Pannotia, bc, input 2k_1M: 2,048 vertices, 1,048,576 edges; assumed: an R-MAT graph of this "
            "size, and as many roots as by default"}}};
}

}  // namespace farfault::workloads::bc_pannotia
