// SPDX-License-Identifier: Apache-2.0
// Breadth-first search of Rodinia, one thread per vertex, two kernels per level and three arrays of a byte
// per vertex. In the first kernel, a vertex of the frontier (`mask`) is removed from it, reads its row and
// tests each neighbour; it writes the cost of unvisited neighbours and adds them to the next frontier
// (`updating`). In the second kernel, the next frontier becomes the current one, is marked visited, and
// requests another level.
//
// As in `bfs_tf`, vertices are marked visited only in the second kernel, so that a vertex is written by each
// edge that finds it, always with the same value. The first edge and the length of a row are adjacent in one
// array. A thread that finds a neighbour reads both again after its stores, because the compiler must assume
// that the stores changed them. Registers and the order of accesses are from nvcc 13.0 -O3 for sm_75.
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "graph_algorithms.hpp"
#include "graph_input.hpp"
#include "graph_kernel.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::bfs_rodinia {
namespace {

struct Spec {
  GraphSpec graph = [] {
    GraphSpec g;
    g.undirected = true;
    g.rmat.scale = 15;
    g.rmat.edge_factor = 8;
    g.rmat.a = g.rmat.b = g.rmat.c = 0.25;
    return g;
  }();
  std::uint64_t source = 0;
  std::uint32_t block = 512;

  void describe(ParamTable& t) {
    graph.describe(t);
    t.set_source("rmat.scale", "Mosaic, published code: a graph of 32k vertices");
    t.set_source("rmat.edge_factor", "Mosaic, published code: 500k edges, counting both directions");
    for (auto const* name : {"rmat.a", "rmat.b", "rmat.c"})
      t.set_source(name, "Rodinia, bfs, graphgen.cpp: uniform random edges");
    t.count("source", source, {0, 0xffff'ffff},
            "Start vertex, numbered from 0. If it has no edges: the next vertex that has one",
            "Rodinia, bfs");
    t.count("block", block, {32, 1024},
            "Threads per block, a multiple of the warp width; at most the number of vertices",
            "Rodinia, bfs");
  }
};

struct Search {
  CsrGraph csr;
  BreadthFirst search;
  VirtAddr nodes = 0, edges = 0, mask = 0, updating = 0, visited = 0, cost = 0, over = 0;

  // The first edge of a vertex's row, or its length.
  VirtAddr node(std::uint64_t v, bool length) const { return nodes + 8 * v + (length ? 4 : 0); }
};

struct Expand : Visit {
  std::shared_ptr<Search const> run;
  std::uint32_t level = 0;

  static constexpr std::uint32_t arguments = 7;
  static constexpr std::array head{load(1), compute(pieces(1, 1))};
  static constexpr std::array row{store(1), load(4), load(4), compute(pieces(1, 1, 0, 1))};
  static constexpr std::array edge{load(4),
                                   compute(pieces(1, 0)),
                                   load(1),
                                   compute(pieces(0, 1)),
                                   load(4),
                                   compute(pieces(2, 0, 0, 1)),
                                   store(4),
                                   store(1),
                                   load(4),
                                   load(4),
                                   compute(pieces(0, 0, 1, 1))};

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t, Item v) const { return run->mask + v.vertex; }
  bool visits(Item v) const { return run->search.level[v.vertex] == level; }
  Row visited(Item v) const {
    auto const& offsets = run->csr.offsets;
    return {offsets[v.vertex], offsets[v.vertex + 1] - offsets[v.vertex]};
  }
  VirtAddr row_at(std::size_t i, Item v) const {
    return i == 0 ? run->mask + v.vertex : run->node(v.vertex, i == 1);
  }
  VirtAddr edge_at(std::size_t i, Item v, std::uint64_t e) const {
    auto const w = run->csr.targets[e];
    if (i == 0) return run->edges + 4 * e;
    if (i == 2) return run->visited + w;
    if (run->search.level[w] <= level) return kNone;
    if (i >= 8) return run->node(v.vertex, i == 8);
    if (i == 4) return run->cost + 4 * v.vertex;
    return i == 6 ? run->cost + std::uint64_t{4} * w : run->updating + w;
  }
};

struct Update : Visit {
  std::shared_ptr<Search const> run;
  std::uint32_t level = 0;

  static constexpr std::uint32_t arguments = 5;
  static constexpr std::array head{load(1), compute(pieces(2, 1))};
  static constexpr std::array row{store(1), store(1), store(1), store(1)};

  std::uint64_t items() const { return run->csr.vertices; }
  VirtAddr head_at(std::size_t, Item v) const { return run->updating + v.vertex; }
  bool visits(Item v) const { return run->search.level[v.vertex] == level + 1; }
  VirtAddr row_at(std::size_t i, Item v) const {
    if (i == 2) return run->over;
    return (i == 0 ? run->mask : i == 1 ? run->visited : run->updating) + v.vertex;
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  check_whole_warps(spec.block, context);
  std::vector<InputFile> inputs;
  auto run = std::make_shared<Search>();
  run->csr = load_graph(spec.graph, context, inputs);
  run->search = breadth_first(run->csr, start_vertex(run->csr, spec.source));
  constexpr std::uint64_t kMaxLevels = 1ULL << 19;  // levels of two kernels of about 250 bytes each
  if (run->search.depth >= kMaxLevels)
    throw UserError("bfs_rodinia: the search has " + std::to_string(run->search.depth + 1ULL) +
                    " levels, more than the maximum, " + std::to_string(kMaxLevels) +
                    "; use a graph with a smaller diameter");
  auto const n = run->csr.vertices;
  BufferLayout layout(context.buffers);
  run->nodes = layout.add("nodes", 8 * n);
  run->edges = layout.add("edges", 4 * run->csr.targets.size());
  run->mask = layout.add("mask", n);
  run->updating = layout.add("updating", n);
  run->visited = layout.add("visited", n);
  run->cost = layout.add("cost", 4 * n);
  run->over = layout.add("over", 1);

  auto const block = static_cast<std::uint32_t>(std::min<std::uint64_t>(n, spec.block));
  std::vector<std::unique_ptr<Kernel const>> kernels;
  auto const add = [&](std::string name, std::uint32_t registers, auto visit) {
    kernels.push_back(
        std::make_unique<ThreadCentric<decltype(visit)>>(KernelShape{.name = std::move(name),
                                                                     .blocks = ceil_div(n, block),
                                                                     .threads_per_block = block,
                                                                     .registers_per_thread = registers},
                                                         context.warp_width, std::move(visit)));
  };
  for (std::uint32_t l = 0; l <= run->search.depth; ++l) {
    add("kernel_level" + std::to_string(l), 20, Expand{{}, run, l});
    add("kernel2_level" + std::to_string(l), 6, Update{{}, run, l});
  }
  return {"bfs_rodinia", layout.take(), std::move(kernels), std::move(inputs)};
}

}  // namespace

WorkloadInfo info() {
  return {"bfs_rodinia",
          "Breadth-first search with masks, two kernels per level (Rodinia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "11"}}},
           {kMedium, {}},
           {kPaper, {}, "Mosaic (MICRO 2017), published code: 32k vertices, 500k edges"}}};
}

}  // namespace farfault::workloads::bfs_rodinia
