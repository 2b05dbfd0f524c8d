// SPDX-License-Identifier: Apache-2.0
// Minimum spanning tree by Boruvka's algorithm, from LonestarGPU 2.0 (mst), a thread per vertex. Kernels of a
// round:
//   dinit            sets six properties
//   dfindelemin      finds the vertex's boss and its lightest edge to another component, and lowers the
//                    lightest weight of its component by an atomic
//   dfindelemin2     a vertex whose edge is the lightest of its component searches for it and claims it
//   verify_min_elem  a boss searches for the edge of the vertex that claimed, and marks the vertex
//   dfindcompmintwo  marked vertices find both bosses, then join them; repeated while some could not
// A thread that looks up a vertex's boss climbs the tree, with an atomic and a load per step, and makes the
// vertex name its boss. The number and weight of an edge are read through three arrays each time, as in the
// published code.
//
// The halves of the last kernel are separated by a grid-wide barrier. Here they are two kernels with one
// vertex per thread, and the barrier's own accesses are omitted. boruvka.hpp defines the writes of other
// kernels that a kernel sees.
//
// The order of accesses and the registers are from nvcc 13.0 -O3 for sm_75. Counts are assembled as in
// graph_kernel.hpp.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "boss_search.hpp"
#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "graph_input.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::mst {
namespace {

struct Spec {
  GraphSpec graph = [] {
    GraphSpec g;
    g.undirected = true;
    g.rmat.scale = 15;
    g.rmat.edge_factor = 4;
    g.rmat.a = g.rmat.b = g.rmat.c = 0.25;
    return g;
  }();
  std::uint32_t max_weight = 1000;

  void describe(ParamTable& t) {
    graph.describe(t);
    t.set_source("rmat.edge_factor", "LonestarGPU: r4 graphs, random with four edges per vertex");
    for (auto const* name : {"rmat.a", "rmat.b", "rmat.c"})
      t.set_source(name, "LonestarGPU: r4 graphs, random");
    t.count("max_weight", max_weight, {1, 1'000'000},
            "Maximum edge weight; weights are random from 1 to this", "assumed");
  }
};

constexpr std::uint32_t kBlock = 1024, kJoinBlock = 384;

struct Run {
  CsrGraph csr;
  Forest forest;
  VirtAddr degrees = 0, sources = 0, firsts = 0, targets = 0, weights = 0;  // edges are numbered from 1
  VirtAddr parents = 0, lengths = 0, components = 0, lightest = 0, lightest_of = 0, partners = 0, phores = 0,
           adds = 0, chosen = 0, weight = 0, count = 0, repeat = 0;

  std::uint32_t vertices() const { return static_cast<std::uint32_t>(csr.vertices); }
  std::uint64_t degree(std::uint64_t v) const { return csr.offsets[v + 1] - csr.offsets[v]; }
};

VirtAddr at(VirtAddr base, std::uint64_t i) {
  return base + 4 * i;
}

struct Initialize : Visit {
  std::shared_ptr<Run const> run;

  static constexpr std::uint32_t arguments = 6;
  static constexpr std::array head{store(4), store(4), store(4), store(4), store(4), store(1)};
  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t i, Item v) const {
    if (i == 5) return run->adds + v.vertex;
    VirtAddr const base[] = {run->lightest, run->lightest_of, run->chosen, run->phores, run->partners};
    return at(base[i], v.vertex);
  }
};

struct InitializeTrees : Visit {
  std::shared_ptr<Run const> run;

  static constexpr std::uint32_t arguments = 2;
  static constexpr std::array head{store(4), store(4)};
  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t i, Item v) const { return at(i == 0 ? run->lengths : run->parents, v.vertex); }
};

enum class Stage { find, claim, verify };

// The three kernels that scan edges. The lanes of a warp scan their rows in lockstep. If at least one lane
// continues from an edge's weight to its target, this edge takes more steps. These edges are listed, so that
// a step is found without visiting all earlier edges.
class Scan final : public LinearKernel {
 public:
  Scan(Stage stage, std::uint32_t warp_width, std::shared_ptr<Run const> run, std::size_t round)
      : LinearKernel(shape_of(stage, run->csr.vertices, round), warp_width, run->csr.vertices),
        stage_(stage),
        run_(std::move(run)),
        round_(&run_->forest.rounds[round]),
        find_(run_->parents, stage == Stage::find ? round_->trees : round_->bosses) {
    auto const warps = (kBlock + warp_width - 1) / warp_width;
    for (std::uint64_t block = 0; block < shape().blocks; ++block)
      for (std::uint32_t warp = 0; warp < warps; ++warp) {
        first_.push_back(detours_.size());
        list_detours(threads(block, warp));
      }
    first_.push_back(detours_.size());
  }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (take(step, 1)) return set_arguments(out, 6);
    if (take(step, 1)) return set_compute(out, {.vector = t.lanes != 0 ? 9U : 5U, .scalar = 4}, kWait);
    if (t.lanes == 0) return set_end(out);
    auto const& r = *round_;
    auto const all = low_lanes(t.lanes);
    auto const own = [&](std::uint32_t lane) { return static_cast<std::uint32_t>(t.first + lane); };
    auto const each = [&](Step const& s, std::uint64_t lanes, VirtAddr base) {
      play(s, lanes, out, [&](auto lane) { return at(base, own(lane)); });
    };
    auto const of_boss = [&](Step const& s, std::uint64_t lanes, VirtAddr base) {
      play(s, lanes, out, [&](auto lane) { return at(base, r.bosses[own(lane)]); });
    };
    auto const which = [&](auto condition) {
      std::uint64_t lanes = 0;
      for_lanes(all, [&](auto lane) { lanes |= std::uint64_t{condition(own(lane))} << lane; });
      return lanes;
    };
    if (stage_ == Stage::verify) {
      if (take(step, 1)) return each(atomic_load(4), all, run_->parents);
      if (take(step, 1)) return set_compute(out, pieces(1, 1), kWait);
      auto const bosses = which([&](auto v) { return r.bosses[v] == v; });
      if (bosses == 0) return set_end(out);
      if (take(step, 1)) return each(load(4), bosses, run_->chosen);
      if (take(step, 1)) return set_compute(out, pieces(1, 1), kWait);
    } else {
      auto const longest = find_.longest(all, own);
      if (take(step, Find::steps(longest))) return find_.play_step(step, longest, all, own, out);
    }
    if (stage_ == Stage::claim) {
      if (take(step, 1)) return each(load(4), all, run_->lightest);
      if (take(step, 1)) return of_boss(load(4), all, run_->lightest_of);
      if (take(step, 1)) return set_compute(out, pieces(1, 1), kWait);
      auto const light = which([&](auto v) { return r.lightest[v] == r.lightest_of[r.bosses[v]]; });
      if (light == 0) return set_end(out);
      if (take(step, 1)) return each(load(4), light, run_->partners);
      if (take(step, 1)) return set_compute(out, pieces(1, 2), kWait);
    }
    std::uint64_t const lanes = which([&](auto v) { return scans(v); });
    if (lanes == 0) return set_end(out);
    if (take(step, 1))
      return play(load(4), lanes, out, [&](auto lane) { return at(run_->degrees, source(own(lane))); });
    if (stage_ == Stage::verify && take(step, 1)) return each(load(4), lanes, run_->lightest_of);
    if (take(step, 1)) return set_compute(out, pieces(0, 1), kWait);

    auto const number = block * warps_per_block() + warp;
    auto const begin = detours_.begin() + static_cast<std::ptrdiff_t>(first_[number]);
    auto const end = detours_.begin() + static_cast<std::ptrdiff_t>(first_[number + 1]);
    std::uint64_t longest_row = 0;
    for_lanes(lanes, [&](auto lane) { longest_row = std::max(longest_row, scanned(own(lane))); });
    auto const loop =
        base_steps() * longest_row + (begin == end ? 0 : std::prev(end)->before + std::prev(end)->steps);
    if (step < loop) return edge_step(step, begin, end, t, lanes, out);
    step -= loop;
    if (stage_ != Stage::find) return set_end(out);
    if (take(step, 1)) return each(store(4), all, run_->lightest);
    if (take(step, 1)) return each(store(4), all, run_->partners);
    if (take(step, 1)) return of_boss(load(4), all, run_->lightest_of);
    if (take(step, 1)) return set_compute(out, pieces(0, 2), kWait);
    if (take(step, 1))
      return of_boss(atomic_store(4), which([&](auto v) { return r.lightest[v] != kNoWeight; }),
                     run_->lightest_of);
    set_end(out);
  }

 private:
  // An edge at which a lane continues to the target.
  struct Detour {
    std::uint32_t k;        // position in the rows
    std::uint32_t longest;  // longest path to the targets' bosses
    std::uint32_t steps;
    std::uint64_t before;  // steps of earlier detours
  };
  using Place = std::vector<Detour>::const_iterator;

  static KernelShape shape_of(Stage stage, std::uint64_t vertices, std::size_t round) {
    char const* const names[] = {"dfindelemin", "dfindelemin2", "verify_min_elem"};
    std::uint32_t const registers[] = {42, 34, 40};
    auto const i = static_cast<std::size_t>(stage);
    return {.name = std::string(names[i]) + "_round" + std::to_string(round),
            .blocks = ceil_div(vertices, kBlock),
            .threads_per_block = kBlock,
            .registers_per_thread = registers[i]};
  }

  std::uint64_t warps_per_block() const { return ceil_div(kBlock, warp_width()); }

  // True if the thread of v scans a row. source(): the vertex of the row; scanned(): the number of edges.
  bool scans(std::uint32_t v) const {
    auto const n = run_->vertices();
    if (stage_ == Stage::find) return true;
    if (stage_ == Stage::verify) return round_->bosses[v] == v && round_->chosen[v] != n;
    return round_->partner[v] != n && round_->lightest[v] == round_->lightest_of[round_->bosses[v]];
  }
  std::uint32_t source(std::uint32_t v) const { return stage_ == Stage::verify ? round_->chosen[v] : v; }
  std::uint64_t scanned(std::uint32_t v) const {
    if (!scans(v)) return 0;
    return stage_ == Stage::verify ? round_->looked_at[v] : run_->degree(v);
  }
  std::uint64_t edge(std::uint32_t v, std::uint64_t k) const { return run_->csr.offsets[source(v)] + k; }
  // True if the thread continues to the target; matches(): the target is in the component searched for.
  bool continues(std::uint32_t v, std::uint64_t k) const {
    auto const e = edge(v, k);
    if (stage_ == Stage::find) return round_->tries[e];
    return run_->forest.weights[e] == round_->lightest[source(v)];
  }
  bool matches(std::uint32_t v, std::uint64_t k) const {
    return continues(v, k) && round_->bosses[run_->csr.targets[edge(v, k)]] == round_->partner[source(v)];
  }

  std::uint64_t base_steps() const { return stage_ == Stage::claim ? 6 : 5; }

  void list_detours(ThreadRange const& t) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> tries;  // position in row, path length to boss
    for (std::uint32_t lane = 0; lane < t.lanes; ++lane) {
      auto const v = static_cast<std::uint32_t>(t.first + lane);
      auto const row = scanned(v);
      for (std::uint64_t k = 0; k < row; ++k)
        if (continues(v, k)) {
          auto const target = run_->csr.targets[edge(v, k)];
          tries.emplace_back(k, find_.longest(1, [&](auto) { return target; }));
        }
    }
    std::sort(tries.begin(), tries.end());
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < tries.size(); ++i) {
      if (i + 1 < tries.size() && tries[i + 1].first == tries[i].first) continue;  // the last is longest
      Detour d{static_cast<std::uint32_t>(tries[i].first), tries[i].second, 0, before};
      d.steps = static_cast<std::uint32_t>(5 + Find::steps(d.longest) + (stage_ == Stage::find ? 0 : 3));
      detours_.push_back(d);
      before += d.steps;
    }
  }

  void edge_step(std::uint64_t step, Place begin, Place end, ThreadRange const& t, std::uint64_t lanes,
                 WarpInstruction& out) const {
    auto const base = base_steps();
    // The last detour whose edge begins at or before this step.
    auto detour =
        std::partition_point(begin, end, [&](Detour const& d) { return base * d.k + d.before <= step; });
    std::uint64_t k = 0, phase = 0;
    bool inside = false;
    if (detour == begin) {
      k = step / base;
      phase = step % base;
    } else {
      --detour;
      auto const since = step - (base * detour->k + detour->before);
      inside = since < base + detour->steps;
      k = inside ? detour->k : detour->k + 1 + (since - base - detour->steps) / base;
      phase = inside ? since : (since - base - detour->steps) % base;
    }
    auto const own = [&](std::uint32_t lane) { return static_cast<std::uint32_t>(t.first + lane); };
    std::uint64_t here = 0, beyond = 0;  // lanes with a k-th edge; lanes that continue to its target
    for_lanes(lanes, [&](auto lane) {
      if (k >= scanned(own(lane))) return;
      here |= std::uint64_t{1} << lane;
      beyond |= std::uint64_t{continues(own(lane), k)} << lane;
    });
    // Reads the degree, the number of the row, its first edge, then the edge's weight or target.
    auto const edge_access = [&](std::uint64_t i, std::uint64_t who, VirtAddr last) {
      play(load(4, i > 0), who, out, [&](auto lane) {
        auto const v = source(own(lane));
        if (i == 3) return at(last, edge(own(lane), k) + 1);
        return at(i == 0 ? run_->degrees : i == 1 ? run_->sources : run_->firsts, v);
      });
    };
    if (phase < 4) return edge_access(phase, here, run_->weights);
    if (phase < base) {
      if (phase + 1 == base) return set_compute(out, pieces(3, 3, 1), kWait);
      return play(load(4), here, out, [&](auto lane) { return at(run_->lightest, own(lane)); });
    }
    phase -= base;
    if (phase < 4) return edge_access(phase, beyond, run_->targets);
    if (phase == 4) return set_compute(out, pieces(2, 2), kWait);
    phase -= 5;
    auto const target = [&](auto lane) { return run_->csr.targets[edge(own(lane), k)]; };
    if (phase < Find::steps(detour->longest))
      return find_.play_step(phase, detour->longest, beyond, target, out);
    phase -= Find::steps(detour->longest);
    if (phase == 0)
      return play(load(4), beyond, out, [&](auto lane) { return at(run_->partners, source(own(lane))); });
    if (phase == 1) return set_compute(out, pieces(1, 2), kWait);
    auto const claims = stage_ == Stage::claim;
    play(claims ? atomic_store(4) : store(1), beyond, out, [&](auto lane) {
      if (!matches(own(lane), k)) return kNone;
      return claims ? at(run_->chosen, round_->bosses[own(lane)]) : run_->adds + source(own(lane));
    });
  }

  Stage stage_;
  std::shared_ptr<Run const> run_;
  BoruvkaRound const* round_;
  Find find_;
  std::vector<Detour> detours_;       // warp by warp
  std::vector<std::uint64_t> first_;  // per warp
};

// The halves of dfindcompmintwo.
class JoinKernel final : public LinearKernel {
 public:
  JoinKernel(bool finds, std::uint32_t warp_width, std::shared_ptr<Run const> run, std::size_t round,
             std::size_t pass)
      : LinearKernel({.name = std::string(finds ? "dfindcompmintwo_find" : "dfindcompmintwo_unify") +
                              "_round" + std::to_string(round),
                      .blocks = ceil_div(run->csr.vertices, kJoinBlock),
                      .threads_per_block = kJoinBlock,
                      .registers_per_thread = 25},
                     warp_width, run->csr.vertices),
        finds_(finds),
        run_(std::move(run)),
        round_(&run_->forest.rounds[round]),
        pass_(&round_->passes[pass]),
        find_(run_->parents, pass_->before) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (take(step, 1)) return set_arguments(out, 6);
    if (take(step, 1)) return set_compute(out, {.vector = t.lanes != 0 ? 9U : 5U, .scalar = 4}, kWait);
    if (t.lanes == 0) return set_end(out);
    auto const own = [&](std::uint32_t lane) { return static_cast<std::uint32_t>(t.first + lane); };
    if (take(step, 1)) return set_linear(out, Op::load, 1, run_->adds + t.first, 1, t.lanes);
    if (take(step, 1)) return set_compute(out, pieces(1, 1), kWait);
    std::uint64_t lanes = 0;
    Attempts attempts;
    auto const& list = pass_->attempts;
    auto const first =
        std::partition_point(list.begin(), list.end(), [&](Attempt const& a) { return a.vertex < t.first; });
    for (auto a = first; a != list.end() && a->vertex < t.first + t.lanes; ++a) {
      lanes |= std::uint64_t{1} << (a->vertex - t.first);
      attempts[a->vertex - t.first] = &*a;
    }
    if (lanes == 0) return set_end(out);
    if (!finds_) return unify(step, lanes, attempts, out);
    auto const partner = [&](std::uint32_t lane) { return round_->partner[own(lane)]; };
    auto const here = find_.longest(lanes, own), there = find_.longest(lanes, partner);
    if (take(step, Find::steps(here))) return find_.play_step(step, here, lanes, own, out);
    if (take(step, 1))
      return play(load(4), lanes, out, [&](auto lane) { return at(run_->partners, own(lane)); });
    if (take(step, 1)) return set_compute(out, pieces(1, 0), kWait);
    if (take(step, Find::steps(there))) return find_.play_step(step, there, lanes, partner, out);
    set_end(out);
  }

 private:
  using Attempts = std::array<Attempt const*, kMaxLanes>;  // per lane with an attempt

  void unify(std::uint64_t step, std::uint64_t lanes, Attempts const& attempts, WarpInstruction& out) const {
    // Lanes that reach at least the first boss, the second boss, or the join.
    auto const from = [&](Join least) {
      std::uint64_t mask = 0;
      for_lanes(lanes, [&](auto lane) { mask |= std::uint64_t{attempts[lane]->result >= least} << lane; });
      return mask;
    };
    auto const trying = from(Join::first_joined), second = from(Join::second_joined), done = from(Join::done);
    if (trying == 0) return set_end(out);
    auto const own = [&](auto lane) { return attempts[lane]->vertex; };
    auto const lesser = [&](auto lane) { return std::min(attempts[lane]->first, attempts[lane]->second); };
    auto const greater = [&](auto lane) { return std::max(attempts[lane]->first, attempts[lane]->second); };
    auto const parent = [&](std::uint64_t who, auto vertex) {
      play(atomic_load(4), who, out, [&](auto lane) { return at(run_->parents, vertex(lane)); });
    };
    auto const all = [&](Step const& s, std::uint64_t who, auto address) { play(s, who, out, address); };
    switch (step) {
      case 0:
        return parent(trying, [&](auto lane) { return attempts[lane]->first; });
      case 1:
      case 3:
        return set_compute(out, pieces(1, 2), kWait);
      case 2:
        return parent(second, [&](auto lane) { return attempts[lane]->second; });
      case 4:
        return parent(done, lesser);
      case 5:
        return set_compute(out, pieces(2, 1), kWait);
      case 6:
        return all(load(4), done, [&](auto lane) { return at(run_->lengths, lesser(lane)); });
      case 7:
        return all(atomic_store(4, kWait), done, [&](auto lane) { return at(run_->lengths, greater(lane)); });
      case 8:
        return all(atomic_store(4), done, [&](auto) { return run_->components; });
      case 9:
        return all(load(4), done, [&](auto lane) { return at(run_->lightest, own(lane)); });
      case 10:
        return all(atomic_store(4, kWait), done, [&](auto) { return run_->weight; });
      case 11:
        return all(atomic_store(4), done, [&](auto) { return run_->count; });
      case 12:
        return all(store(1), done, [&](auto lane) { return run_->adds + own(lane); });
      case 13:
        return all(store(4), done, [&](auto lane) { return at(run_->lightest, own(lane)); });
      case 14:
        return all(store(1), trying & ~done, [&](auto) { return run_->repeat; });
      default:
        return set_end(out);
    }
  }

  bool finds_;
  std::shared_ptr<Run const> run_;
  BoruvkaRound const* round_;
  JoinPass const* pass_;
  Find find_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  std::vector<InputFile> inputs;
  auto run = std::make_shared<Run>();
  run->csr = load_graph(spec.graph, context, inputs);
  check_undirected(run->csr);
  run->forest = boruvka(run->csr, spec.max_weight, context.seed);
  auto const n = run->csr.vertices, m = run->csr.targets.size();
  BufferLayout layout(context.buffers);
  run->degrees = layout.add("noutgoing", 4 * n);
  run->sources = layout.add("srcsrc", 4 * n);
  run->firsts = layout.add("psrc", 4 * (n + 1));
  run->targets = layout.add("edgessrcdst", 4 * (m + 1));
  run->weights = layout.add("edgessrcwt", 4 * (m + 1));
  run->components = layout.add("ncomponents", 4);
  run->lengths = layout.add_result("complen", 4 * n);
  run->parents = layout.add_result("ele2comp", 4 * n);
  run->weight = layout.add("mstwt", 4);
  run->lightest = layout.add_result("eleminwts", 4 * n);
  run->lightest_of = layout.add_result("minwtcomponent", 4 * n);
  run->partners = layout.add_result("partners", 4 * n);
  run->phores = layout.add_result("phores", 4 * n);
  run->adds = layout.add_result("processinnextiteration", n);
  run->chosen = layout.add_result("goaheadnodeofcomponent", 4 * n);
  run->repeat = layout.add("repeat", 1);
  run->count = layout.add("edgecount", 4);
  auto const width = context.warp_width;
  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto const per_vertex = [&](std::string name, std::uint32_t registers, auto visit) {
    kernels.push_back(
        std::make_unique<ThreadCentric<decltype(visit)>>(KernelShape{.name = std::move(name),
                                                                     .blocks = ceil_div(n, kBlock),
                                                                     .threads_per_block = kBlock,
                                                                     .registers_per_thread = registers},
                                                         width, std::move(visit)));
  };
  per_vertex("dinitcs", 12, InitializeTrees{{}, run});
  for (std::size_t r = 0; r < run->forest.rounds.size(); ++r) {
    per_vertex("dinit_round" + std::to_string(r), 20, Initialize{{}, run});
    for (auto const stage : {Stage::find, Stage::claim, Stage::verify})
      kernels.push_back(std::make_unique<Scan>(stage, width, run, r));
    for (std::size_t p = 0; p < run->forest.rounds[r].passes.size(); ++p)
      for (bool const finds : {true, false})
        kernels.push_back(std::make_unique<JoinKernel>(finds, width, run, r, p));
  }
  return {"mst", layout.take(), std::move(kernels), std::move(inputs)};
}

}  // namespace

WorkloadInfo info() {
  return {"mst",
          "Minimum spanning tree by Boruvka's algorithm, components as trees (LonestarGPU)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "9"}}},
           {kMedium, {{"rmat.scale", "14"}}},
           {kPaper,
            {{"rmat.scale", "20"}, {"rmat.edge_factor", "2"}},
            "LonestarGPU, mst, input 2d-2e20: a grid of 1,048,576 vertices, 2 edges per vertex; assumed: an "
            "R-MAT graph of this size"}}};
}

}  // namespace farfault::workloads::mst
