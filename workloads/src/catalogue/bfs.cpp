// SPDX-License-Identifier: Apache-2.0
// Breadth-first search, level by level, one thread per vertex, as in SHOC and (topology-driven) GraphBIG.
//
// One kernel per level. A thread reads its vertex's level. If the vertex is in the current level, the thread
// reads its row of the CSR arrays and the level of every neighbour, and writes the levels of neighbours that
// have not been found. If several threads find a vertex in the same kernel, the first edge in vertex order
// writes: one possible outcome of the race on hardware, and deterministic. Levels are computed on the host
// when the workload is built. A warp that found a vertex sets the flag that makes the host launch the next
// level.
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "graph_algorithms.hpp"
#include "graph_input.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::bfs {
namespace {

struct Spec {
  GraphSpec graph = [] {
    GraphSpec g;
    g.undirected = true;
    g.rmat.scale = 18;
    return g;
  }();
  std::uint64_t source = 0;
  std::uint32_t block = 256;

  void describe(ParamTable& t) {
    graph.describe(t);
    t.count("source", source, {0, 0xffff'ffff},
            "Start vertex, numbered from 0. If it has no edges: the next vertex that has one", "assumed");
    t.count("block", block, {32, 1024}, "Threads per block, a multiple of the warp width", "SHOC, BFS");
  }
};

// Data shared by all levels.
struct Search {
  CsrGraph graph;
  Bits finds;                    // per edge: it finds its target
  std::uint32_t warp_shift = 0;  // log2 of the warp width
  VirtAddr levels = 0, offsets = 0, columns = 0, flag = 0;
};

// A warp that has vertices in a level.
struct ActiveWarp {
  std::uint64_t lanes = 0;
  std::uint32_t max_degree = 0;
  bool finds = false;
};

// The active warps of one level, found from the warp's number by counting bits.
class ActiveWarps {
 public:
  explicit ActiveWarps(std::uint64_t warps) : words_(warps / 64 + 1) {}

  // Warps are added in ascending order.
  ActiveWarp& at_back(std::uint64_t warp) {
    auto& word = words_[warp / 64];
    auto const bit = std::uint64_t{1} << (warp % 64);
    if ((word.bits & bit) == 0) {
      if (word.bits == 0) word.before = static_cast<std::uint32_t>(list_.size());
      word.bits |= bit;
      list_.emplace_back();
    }
    return list_.back();
  }

  ActiveWarp const* find(std::uint64_t warp) const {
    auto const& word = words_[warp / 64];
    auto const bit = std::uint64_t{1} << (warp % 64);
    if ((word.bits & bit) == 0) return nullptr;
    return &list_[word.before + static_cast<std::uint32_t>(std::popcount(word.bits & (bit - 1)))];
  }

 private:
  struct Word {
    std::uint64_t bits = 0;
    std::uint32_t before = 0;  // active warps before this word
  };
  std::vector<Word> words_;
  std::vector<ActiveWarp> list_;
};

class BfsLevel final : public LinearKernel {
 public:
  BfsLevel(KernelShape shape, std::uint32_t warp_width, std::shared_ptr<Search const> search,
           ActiveWarps active)
      : LinearKernel(std::move(shape), warp_width, search->graph.vertices),
        search_(std::move(search)),
        active_(std::move(active)) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const& s = *search_;
    if (step-- == 0) return set_arguments(out, 6);
    auto const t = threads(block, warp);
    if (step == 0)  // index, compare with the number of vertices (5 vector, 4 scalar); the level's address
      return set_compute(out, {.vector = t.lanes ? 10U : 5U, .scalar = 4}, kWait);
    if (t.lanes == 0) return set_end(out);
    if (step == 1) return set_linear(out, Op::load, 4, s.levels + 4 * t.first, 4, t.lanes);
    if (step == 2)
      return set_compute(out, {.vector = 6, .scalar = 2}, kWait);  // compare the level; row addresses
    auto const* const active = active_.find(t.first >> s.warp_shift);
    if (active == nullptr) return set_end(out);
    if (step <= 4) return row_ends(out, t.first + (step - 3), active->lanes);
    auto const k = (step - 5) / 4;
    if (k < active->max_degree) {
      switch ((step - 5) % 4) {
        case 0:
          return edges(out, Op::load, *active, t.first, k);
        case 1:
          return neighbours(out, *active, t.first, k);
        case 2:
          return set_compute(out, {.vector = 19, .scalar = 5}, kWait);  // compare, addresses, loop
        default:
          return found(out, *active, t.first, k);
      }
    }
    if (active->finds && step == 5 + std::uint64_t{4} * active->max_degree)
      return set_uniform(out, Op::store, 4, s.flag);
    set_end(out);
  }

 private:
  void row_ends(WarpInstruction& out, std::uint64_t first, std::uint64_t lanes) const {
    set_access(out, Op::load, 4, lanes);
    for (std::uint32_t i = 0; i < warp_width(); ++i) out.address[i] = search_->offsets + 4 * (first + i);
  }

  // Calls use(lane, edge) for the k-th edge of each active lane with more than k edges; returns these lanes.
  template <class Use>
  std::uint64_t each_edge(ActiveWarp const& active, std::uint64_t first, std::uint64_t k, Use use) const {
    auto const* const offsets = search_->graph.offsets.data() + first;
    std::uint64_t lanes = 0;
    for (auto left = active.lanes; left != 0; left &= left - 1) {
      auto const lane = static_cast<std::uint32_t>(std::countr_zero(left));
      auto const edge = offsets[lane] + k;
      if (edge >= offsets[lane + 1]) continue;
      if (use(lane, edge)) lanes |= std::uint64_t{1} << lane;
    }
    return lanes;
  }

  void edges(WarpInstruction& out, Op op, ActiveWarp const& active, std::uint64_t first,
             std::uint64_t k) const {
    auto const lanes = each_edge(active, first, k, [&](std::uint32_t lane, std::uint64_t edge) {
      out.address[lane] = search_->columns + 4 * edge;
      return true;
    });
    set_access(out, op, 4, lanes, kWait);
  }

  void neighbours(WarpInstruction& out, ActiveWarp const& active, std::uint64_t first,
                  std::uint64_t k) const {
    auto const lanes = each_edge(active, first, k, [&](std::uint32_t lane, std::uint64_t edge) {
      out.address[lane] = search_->levels + std::uint64_t{4} * search_->graph.targets[edge];
      return true;
    });
    set_access(out, Op::load, 4, lanes, kWait);
  }

  void found(WarpInstruction& out, ActiveWarp const& active, std::uint64_t first, std::uint64_t k) const {
    auto const lanes = each_edge(active, first, k, [&](std::uint32_t lane, std::uint64_t edge) {
      if (!search_->finds[edge]) return false;
      out.address[lane] = search_->levels + std::uint64_t{4} * search_->graph.targets[edge];
      return true;
    });
    if (lanes == 0) return set_compute(out, {.scalar = 1});  // the branch around the store
    set_access(out, Op::store, 4, lanes);
  }

  std::shared_ptr<Search const> search_;
  ActiveWarps active_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  check_whole_warps(spec.block, context);
  std::vector<InputFile> inputs;
  auto search = std::make_shared<Search>();
  search->graph = load_graph(spec.graph, context, inputs);
  auto const& graph = search->graph;
  auto [level, depth, finds] = breadth_first(graph, start_vertex(graph, spec.source));
  search->finds = std::move(finds);
  auto const width = context.warp_width;
  search->warp_shift = static_cast<std::uint32_t>(std::countr_zero(width));

  // A level takes 16 bytes per 64 warps: the worst case is a long path with many levels.
  auto const warps = ceil_div(graph.vertices, width);
  if ((depth + 1ULL) * (warps / 64 + 1) * 16 > (1ULL << 30))
    throw UserError("bfs: the frontiers of " + std::to_string(depth + 1) + " levels of " +
                    std::to_string(graph.vertices) +
                    " vertices need more than 1 GiB of host memory, the maximum; use a graph with a smaller "
                    "diameter");
  std::vector<ActiveWarps> active(depth + 1ULL, ActiveWarps(warps));
  for (std::uint64_t v = 0; v < graph.vertices; ++v) {
    if (level[v] == kNever) continue;
    auto& warp = active[level[v]].at_back(v / width);
    warp.lanes |= std::uint64_t{1} << (v % width);
    warp.max_degree =
        std::max(warp.max_degree, static_cast<std::uint32_t>(graph.offsets[v + 1] - graph.offsets[v]));
    for (auto e = graph.offsets[v]; e < graph.offsets[v + 1] && !warp.finds; ++e)
      warp.finds = search->finds[e];
  }

  BufferLayout layout(context.buffers);
  search->levels = layout.add("levels", 4 * graph.vertices);
  search->offsets = layout.add("row_offsets", 4 * (graph.vertices + 1));
  search->columns = layout.add("columns", 4 * graph.targets.size());
  search->flag = layout.add("flag", 4);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto const blocks = ceil_div(graph.vertices, spec.block);
  for (std::uint32_t l = 0; l <= depth; ++l)
    kernels.push_back(
        std::make_unique<BfsLevel>(KernelShape{"bfs_level" + std::to_string(l), blocks, spec.block, 24, 0},
                                   width, search, std::move(active[l])));
  return {"bfs", layout.take(), std::move(kernels), std::move(inputs)};
}

}  // namespace

WorkloadInfo info() {
  return {"bfs",
          "Level-synchronous breadth-first search, one thread per vertex (SHOC, GraphBIG)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "11"}}},
           {kMedium, {}},
           {kPaper,
            {{"rmat.scale", "19"}},
            "Batch-aware UVM (ASPLOS 2020): 74 MB on average; assumed: the closest R-MAT graph"}}};
}

}  // namespace farfault::workloads::bfs
