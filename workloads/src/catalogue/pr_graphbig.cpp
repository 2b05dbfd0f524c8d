// SPDX-License-Identifier: Apache-2.0
// Page rank of GraphBIG. Its public GPU folder has no page-rank kernel, so this is the algorithm of its CPU
// benchmark (benchmark/bench_pageRank/pagerank.cpp: ranks are pushed along out-edges) with the layout and the
// mapping of its GPU kernels: one thread per vertex, topological, atomics instead of locks. Assumed.
//
// Three kernels per round: the first saves the old rank and sets the rank to its constant share. In the
// second a thread divides its old rank by its degree and adds the result to its neighbours' ranks by an
// atomic without a result. The third adds up the squares of the differences by an atomic on one number, which
// the host reads. Rounds end as in the benchmark.
#include "graph_algorithms.hpp"
#include "property_graph.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::pr_graphbig {
namespace {

struct Spec : PropertyGraphSpec {
  double damping = 0.85;
  double error = 0.001;
  std::uint32_t max_rounds = 100;

  void describe(ParamTable& t) {
    PropertyGraphSpec::describe(t);
    t.number("damping", damping, {0.0, 1.0}, "Fraction of a rank that is propagated",
             "GraphBIG, bench_pageRank: option damp");
    t.number("error", error, {0.0, 1.0},
             "Convergence threshold: the rounds end when the Euclidean norm of the change of the ranks is "
             "below it",
             "GraphBIG, bench_pageRank: option quad");
    t.count("max_rounds", max_rounds, {1, 10'000}, "Maximum rounds",
            "GraphBIG, bench_pageRank: option maxiter");
  }
};

struct Run : PropertyGraph {
  VirtAddr ranks = 0, old_ranks = 0, error = 0;

  VirtAddr rank_of(std::uint64_t v) const { return ranks + 4 * v; }
  VirtAddr old_rank_of(std::uint64_t v) const { return old_ranks + 4 * v; }
};

struct OfRanks : Visit {
  std::shared_ptr<Run const> run;

  std::uint64_t items() const { return run->csr.vertices; }
};

struct Keep : OfRanks {
  static constexpr std::array head{load(4), store(4, kWait), store(4)};

  VirtAddr head_at(std::size_t i, Item v) const {
    return i == 1 ? run->old_rank_of(v.vertex) : run->rank_of(v.vertex);
  }
};

// A division of doubles is 11 vector instructions and a reciprocal on gfx803; four convert and multiply.
constexpr Work kPush{.vector = 11 + 4 + kAddressVector, .special = 1, .scalar = 2};

struct Push : OfRanks {
  static constexpr std::uint32_t arguments = 6;
  static constexpr std::array row{load(8), load(8), load(4), compute(kPush)};
  static constexpr std::array edge{load(8), compute(pieces(1, 0, 1)), atomic_store(4)};

  bool visits(Item) const { return true; }
  Row visited(Item v) const { return run->row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const {
    return i == 2 ? run->old_rank_of(v.vertex) : run->row_bound(i, v.vertex);
  }
  VirtAddr edge_at(std::size_t i, Item, std::uint64_t e) const {
    return i == 0 ? run->edge(e) : run->rank_of(run->target(e));
  }
};

struct Difference : OfRanks {
  static constexpr std::array head{load(4), load(4), compute({.vector = 2}), atomic_store(4)};

  VirtAddr head_at(std::size_t i, Item v) const {
    if (i == 3) return run->error;
    return i == 0 ? run->rank_of(v.vertex) : run->old_rank_of(v.vertex);
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Run>();
  PropertyGraphProgram program("pr_graphbig", spec, context, *run);
  auto const rounds = page_ranks(run->csr, spec.damping, spec.error, spec.max_rounds).rounds;
  auto const n = run->csr.vertices;
  run->ranks = program.layout().add_result("ranks", 4 * n);
  run->old_ranks = program.layout().add_result("old_ranks", 4 * n);
  run->error = program.layout().add("error", 4);
  // Registers per thread are assumed, as in kernels of this shape.
  program.per_thread("initialize", 8, Initialize<4>{{}, n, {run->ranks}});
  for (std::uint32_t r = 0; r < rounds; ++r) {
    program.per_thread("pr_keep_round" + std::to_string(r), 8, Keep{{{}, run}});
    program.per_thread("pr_push_round" + std::to_string(r), 24, Push{{{}, run}});
    program.per_thread("pr_difference_round" + std::to_string(r), 8, Difference{{{}, run}});
  }
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"pr_graphbig",
          "PageRank, pushed along edges, topological, thread-centric (GraphBIG)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "9"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "18"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: one R-MAT graph for all of its "
            "workloads"}}};
}

}  // namespace farfault::workloads::pr_graphbig
