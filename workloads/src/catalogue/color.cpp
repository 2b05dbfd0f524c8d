// SPDX-License-Identifier: Apache-2.0
// Graph colouring of Pannotia (color, version maxmin): two colours per round. Vertices have numbers. Kernels
// of a round:
//   color1   finds the maximum and the minimum number of a vertex's uncoloured neighbours, and requests
//            another round if there is such a neighbour
//   color2   assigns the round's first colour to a vertex whose own number is not less than the maximum,
//            then the second to one whose number is not greater than the minimum
// A vertex without such neighbours gets both, and keeps the second.
//
// As in the published code, a vertex with a single edge examines no neighbour: it is coloured in the first
// round, and may get its neighbour's colour. The suite draws numbers below 2,048, so that neighbours with the
// same number may get the same colour; here all numbers differ.
#include <algorithm>
#include <memory>
#include <string>

#include "graph_algorithms.hpp"
#include "pannotia.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::color {
namespace {

struct Spec : PannotiaSpec {
  Spec() : PannotiaSpec(256, true) {}
};

struct Run : PannotiaGraph {
  std::vector<std::uint32_t> coloured;  // the round that colours a vertex
  Bits first, second;                   // the colours of the round that it gets
  std::uint32_t rounds = 0;
  VirtAddr numbers = 0, colours = 0, greatest = 0, least = 0, stop = 0;

  bool looks(std::uint64_t v) const { return row(v).count != 1; }
};

void colour(Run& run, std::uint64_t seed) {
  auto const n = run.csr.vertices;
  auto const numbers = vertex_numbers(n, seed);
  run.coloured.assign(n, kNever);
  run.first = run.second = Bits(n);
  std::vector<std::uint32_t> left(n), now;
  std::iota(left.begin(), left.end(), 0U);
  bool asked = true;  // another round is requested, in which no vertex may be left
  for (run.rounds = 0; asked; ++run.rounds) {
    asked = false;
    now.clear();
    for (auto const v : left) {
      std::int64_t greatest = -1, least = kNever;
      for (auto e = run.csr.offsets[v]; e < run.csr.offsets[v + 1] && run.looks(v); ++e) {
        auto const w = run.csr.targets[e];
        if (run.coloured[w] != kNever) continue;
        asked = true;
        greatest = std::max<std::int64_t>(greatest, numbers[w]);
        least = std::min<std::int64_t>(least, numbers[w]);
      }
      if (numbers[v] >= greatest) run.first.set(v);
      if (numbers[v] <= least) run.second.set(v);
      if (run.first[v] || run.second[v]) now.push_back(v);
    }
    for (auto const v : now) run.coloured[v] = run.rounds;
    std::erase_if(left, [&](auto v) { return run.coloured[v] != kNever; });
  }
}

struct OfRun : Visit {
  std::shared_ptr<Run const> run;
  std::uint32_t round = 0;

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr of(VirtAddr base, Item v) const { return base + 4 * v.vertex; }
  // True if the vertex is uncoloured when the round begins.
  bool left(std::uint64_t v) const { return run->coloured[v] >= round; }
};

struct Initialize : OfRun {
  static constexpr std::array head{store(4), store(4)};
  VirtAddr head_at(std::size_t i, Item v) const { return of(i == 0 ? run->greatest : run->least, v); }
};

struct Look : OfRun {
  static constexpr std::uint32_t arguments = 6;
  static constexpr std::array head{load(4), compute(pieces(1, 1))};
  static constexpr std::array row{load(4), load(4), compute(pieces(1, 2))};
  static constexpr std::array edge{load(4), compute(pieces(1, 0)), load(4), compute(pieces(0, 2)),   store(4),
                                   load(4), compute(pieces(1, 0)), load(4), compute(pieces(0, 2, 1))};
  static constexpr std::array tail{store(4), store(4)};

  VirtAddr head_at(std::size_t, Item v) const { return of(run->colours, v); }
  bool visits(Item v) const { return left(v.vertex); }
  Row visited(Item v) const { return run->row(v.vertex); }
  VirtAddr row_at(std::size_t i, Item v) const { return run->row_bound(i, v.vertex); }
  // The column is read again after the store, because the compiler must assume that the store changed it.
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    auto const w = run->target(e);
    if (i == 0) return run->column(e);
    if (i == 2) return run->colours + 4 * w;
    if (!left(w) || !run->looks(v.vertex)) return kNone;
    if (i == 4) return run->stop;
    return i == 5 ? run->column(e) : run->numbers + 4 * w;
  }
  VirtAddr tail_at(std::size_t i, Item v) const { return of(i == 0 ? run->greatest : run->least, v); }
};

struct AssignColour : OfRun {
  static constexpr std::array head{load(4), compute(pieces(2, 1))};
  static constexpr std::array row{load(4), load(4), compute(pieces(1, 1)), store(4),
                                  load(4), load(4), compute(pieces(0, 1)), store(4)};

  VirtAddr head_at(std::size_t, Item v) const { return of(run->colours, v); }
  bool visits(Item v) const { return left(v.vertex); }
  bool gets(Bits const& which, Item v) const { return run->coloured[v.vertex] == round && which[v.vertex]; }
  VirtAddr row_at(std::size_t i, Item v) const {
    if (i == 0) return of(run->greatest, v);
    if (i == 5) return of(run->least, v);
    if (i == 1) return of(run->numbers, v);
    if (!gets(i == 7 ? run->second : run->first, v)) return kNone;
    return of(i == 4 ? run->numbers : run->colours, v);  // the number again after the store
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto run = std::make_shared<Run>();
  PannotiaProgram program("color", spec, context, *run);
  check_undirected(run->csr);
  colour(*run, context.seed);
  auto const bytes = 4 * run->csr.vertices;
  run->numbers = program.layout().add("numbers", bytes);
  run->colours = program.layout().add("colours", bytes);
  run->greatest = program.layout().add_result("greatest", bytes);
  run->least = program.layout().add_result("least", bytes);
  run->stop = program.layout().add("stop", 4);
  program.per_thread("ini", 12, Initialize{{{}, run, 0}});
  for (std::uint32_t r = 0; r < run->rounds; ++r) {
    program.per_thread("color1_round" + std::to_string(r), 32, Look{{{}, run, r}});
    program.per_thread("color2_round" + std::to_string(r), 12, AssignColour{{{}, run, r}});
  }
  return program.take();
}

}  // namespace

WorkloadInfo info() {
  return {"color",
          "Graph colouring, two colours per round for maximum and minimum numbers (Pannotia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "10"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "20"}, {"rmat.edge_factor", "2"}},
            "Pannotia, color, input ecology1: 1,000,000 vertices, 1,998,000 edges; assumed: the closest "
            "R-MAT graph"}}};
}

}  // namespace farfault::workloads::color
