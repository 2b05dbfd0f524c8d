// SPDX-License-Identifier: Apache-2.0
// Maximal independent set of Pannotia (mis). Vertices have numbers. Three kernels per round:
//   mis1   an undecided vertex finds the minimum number of its undecided neighbours, and requests another
//          round
//   mis2   a vertex whose own number is not greater joins the set, and marks its neighbours as excluded
//   mis3   commits the marks of a vertex
// The last round decides no vertex. Vertices of the set test their state again in every later round, because
// their minimum does not change; excluded vertices are marked again in every later round.
//
// The suite draws numbers below 2,048, so that two neighbours with the same number may both join; here all
// numbers differ.
#include <memory>
#include <string>

#include "graph_algorithms.hpp"
#include "pannotia.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::mis {
namespace {

struct Spec : PannotiaSpec {
  Spec() : PannotiaSpec(128, true) {}
};

struct Run : PannotiaGraph {
  std::vector<std::uint32_t> decided;  // the round that decides a vertex
  Bits in_set;
  std::uint32_t rounds = 0;  // the last decides no vertex
  VirtAddr numbers = 0, set = 0, states = 0, new_states = 0, least = 0, stop = 0;
};

void decide(Run& run, std::uint64_t seed) {
  auto const n = run.csr.vertices;
  auto const numbers = vertex_numbers(n, seed);
  run.decided.assign(n, kNever);
  run.in_set = Bits(n);
  std::vector<std::uint32_t> active(n), joining;
  std::iota(active.begin(), active.end(), 0U);
  auto const neighbours = [&](std::uint64_t v, auto use) {
    for (auto e = run.csr.offsets[v]; e < run.csr.offsets[v + 1]; ++e) use(run.csr.targets[e]);
  };
  for (run.rounds = 0; !active.empty(); ++run.rounds) {
    joining.clear();
    for (auto const v : active) {
      bool first = true;
      neighbours(v, [&](auto w) { first = first && (run.decided[w] != kNever || numbers[v] <= numbers[w]); });
      if (first) joining.push_back(v);
    }
    for (auto const v : joining) {
      run.in_set.set(v);
      run.decided[v] = run.rounds;
    }
    for (auto const v : joining)
      neighbours(v, [&](auto w) {
        if (run.decided[w] == kNever) run.decided[w] = run.rounds;
      });
    std::erase_if(active, [&](auto v) { return run.decided[v] != kNever; });
  }
  ++run.rounds;
}

struct OfRun : Visit {
  std::shared_ptr<Run const> run;
  std::uint32_t round = 0;

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr of(VirtAddr base, Item v) const { return base + 4 * v.vertex; }
  // True if the vertex is undecided when the round begins.
  bool active(std::uint64_t v) const { return run->decided[v] >= round; }
};

struct Initialize : OfRun {
  static constexpr std::array head{store(4), store(4), store(4)};
  VirtAddr head_at(std::size_t i, Item v) const {
    return of(i == 0 ? run->states : i == 1 ? run->new_states : run->set, v);
  }
};

struct FindLeast : OfRun {
  static constexpr std::uint32_t arguments = 6;
  static constexpr std::array head{load(4), compute(pieces(1, 1))};
  static constexpr std::array row{store(4), load(4), load(4), compute(pieces(2, 2))};
  static constexpr std::array edge{load(4), compute(pieces(1, 0)),   load(4), compute(pieces(1, 1)),
                                   load(4), compute(pieces(0, 1, 1))};
  static constexpr std::array tail{store(4)};

  VirtAddr head_at(std::size_t, Item v) const { return of(run->states, v); }
  bool visits(Item v) const { return active(v.vertex); }
  Row visited(Item v) const { return run->row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const {
    return i == 0 ? run->stop : run->row_bound(i - 1, v.vertex);
  }
  VirtAddr edge_at(std::size_t i, Item, std::uint64_t e) const {
    auto const w = run->target(e);
    if (i == 0) return run->column(e);
    if (i == 2) return run->states + 4 * w;
    return active(w) ? run->numbers + 4 * w : kNone;
  }
  VirtAddr tail_at(std::size_t, Item v) const { return of(run->least, v); }
};

struct Join : OfRun {
  static constexpr std::uint32_t arguments = 6;
  static constexpr std::array head{load(4), load(4), compute(pieces(2, 1))};
  static constexpr std::array row{load(4), compute(pieces(1, 1)), store(4), load(4),
                                  load(4), compute(pieces(2, 1)), store(4)};
  static constexpr std::array edge{load(4), compute(pieces(1, 0)), load(4), compute(pieces(1, 1, 1)),
                                   store(4)};

  VirtAddr head_at(std::size_t i, Item v) const { return of(i == 0 ? run->numbers : run->least, v); }
  bool visits(Item v) const { return run->in_set[v.vertex] && run->decided[v.vertex] <= round; }
  bool joins(Item v) const { return run->decided[v.vertex] == round; }
  Row visited(Item v) const { return joins(v) ? run->row(v.vertex) : Row{0, 0}; }
  VirtAddr row_at(std::size_t i, Item v) const {
    if (i == 0) return of(run->states, v);
    if (!joins(v)) return kNone;
    if (i == 2) return of(run->set, v);
    return i == 6 ? of(run->states, v) : run->row_bound(i - 3, v.vertex);
  }
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    auto const w = run->target(e);
    if (i == 0) return run->column(e);
    if (i == 2) return run->states + 4 * w;
    return active(w) && w != v.vertex ? run->new_states + 4 * w : kNone;
  }
};

struct TakeOver : OfRun {
  static constexpr std::uint32_t arguments = 2;
  static constexpr std::array head{load(4), compute(pieces(1, 1))};
  static constexpr std::array row{store(4)};

  VirtAddr head_at(std::size_t, Item v) const { return of(run->new_states, v); }
  bool visits(Item v) const { return !run->in_set[v.vertex] && run->decided[v.vertex] <= round; }
  VirtAddr row_at(std::size_t, Item v) const { return of(run->states, v); }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Run>();
  PannotiaProgram program("mis", spec, context, *run);
  check_undirected(run->csr);
  decide(*run, context.seed);
  auto const bytes = 4 * run->csr.vertices;
  run->numbers = program.layout().add("numbers", bytes);
  run->set = program.layout().add_result("set", bytes);
  run->states = program.layout().add_result("states", bytes);
  run->new_states = program.layout().add_result("new_states", bytes);
  run->least = program.layout().add_result("least", bytes);
  run->stop = program.layout().add("stop", 4);
  program.per_thread("init", 12, Initialize{{{}, run, 0}});
  for (std::uint32_t r = 0; r < run->rounds; ++r) {
    auto const name = [&](char const* kernel) { return kernel + std::to_string(r); };
    program.per_thread(name("mis1_round"), 26, FindLeast{{{}, run, r}});
    program.per_thread(name("mis2_round"), 22, Join{{{}, run, r}});
    program.per_thread(name("mis3_round"), 8, TakeOver{{{}, run, r}});
  }
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"mis",
          "Maximal independent set, three kernels per round (Pannotia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "12"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "20"}, {"rmat.edge_factor", "2"}},
            "Pannotia, mis, input ecology1: 1,000,000 vertices, 1,998,000 edges; assumed: the closest R-MAT "
            "graph"}}};
}

}  // namespace farfault::workloads::mis
