// SPDX-License-Identifier: Apache-2.0
// Page rank of Pannotia (pagerank): ranks pushed along edges by atomics. A kernel sets both arrays of ranks;
// in an iteration `pagerank1` adds a vertex's share to each of its neighbours, and `pagerank2` computes the
// new ranks and clears their sums. A thread reads its rank again for each edge, because the compiler must
// assume that the atomic changed it, and repeats the division.
#include <memory>
#include <string>

#include "pannotia.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::pr_pannotia {
namespace {

struct Spec : PannotiaSpec {
  std::uint32_t iterations = 2;

  Spec() : PannotiaSpec(256) {}
  void describe(ParamTable& t) {
    PannotiaSpec::describe(t);
    t.count("iterations", iterations, {1, 10'000}, "Iterations of two kernels each (Pannotia: 20)",
            "assumed, smaller than published to shorten runs");
  }
};

struct Run : PannotiaGraph {
  VirtAddr ranks = 0, sums = 0;
};

struct OfRanks : Visit {
  std::shared_ptr<Run const> run;

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr of(VirtAddr base, Item v) const { return base + 4 * v.vertex; }
};

struct Initialize : OfRanks {
  static constexpr std::array head{store(4), store(4)};
  VirtAddr head_at(std::size_t i, Item v) const { return of(i == 0 ? run->ranks : run->sums, v); }
};

// A division of floats takes 9 vector instructions and a reciprocal on gfx803.
constexpr Work kShare{.vector = 9 + kAddressVector + kLoopVector, .special = 1, .scalar = kLoopScalar};

struct Push : OfRanks {
  static constexpr std::uint32_t arguments = 5;
  static constexpr std::array row{load(4), load(4), compute(pieces(2, 2, 0, 1))};
  static constexpr std::array edge{load(4), load(4), compute(kShare), atomic_store(4)};

  bool visits(Item) const { return true; }
  Row visited(Item v) const { return run->row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const { return run->row_bound(i, v.vertex); }
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    if (i == 0) return run->column(e);
    return i == 1 ? of(run->ranks, v) : run->sums + 4 * run->target(e);
  }
};

struct Rank : OfRanks {
  static constexpr std::uint32_t arguments = 3;
  static constexpr std::array head{load(4), compute({.vector = 1 + 9 + kAddressVector, .special = 1}),
                                   store(4), store(4)};
  VirtAddr head_at(std::size_t i, Item v) const { return of(i == 2 ? run->ranks : run->sums, v); }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Run>();
  PannotiaProgram program("pr_pannotia", spec, context, *run);
  run->ranks = program.layout().add_result("ranks", 4 * run->csr.vertices);
  run->sums = program.layout().add_result("sums", 4 * run->csr.vertices);
  program.per_thread("inibuffer", 15, Initialize{{{}, run}});
  for (std::uint32_t i = 0; i < spec.iterations; ++i) {
    program.per_thread("pagerank1_" + std::to_string(i), 24, Push{{{}, run}});
    program.per_thread("pagerank2_" + std::to_string(i), 21, Rank{{{}, run}});
  }
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"pr_pannotia",
          "PageRank, pushed along edges by atomics, two kernels per iteration (Pannotia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "11"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "18"}, {"rmat.edge_factor", "4"}, {"iterations", "20"}},
            "Pannotia, pagerank, input coAuthorsDBLP: 299,067 vertices, 977,676 edges, 20 iterations; "
            "assumed: the closest R-MAT graph"}}};
}

}  // namespace farfault::workloads::pr_pannotia
