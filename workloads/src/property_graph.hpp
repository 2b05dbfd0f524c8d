// SPDX-License-Identifier: Apache-2.0
// GraphBIG's graphs on a GPU, and code shared by its GPU workloads: parameters, launches, building.
//
// - Layout: gpu_bench/cudalib/cudaGraph.h. A row's first edge ("vertices", n + 1 entries) and an edge's
//   target ("edges") take 64 bits each; each property of vertices or edges is a separate array, as the
//   kernels declare it. The host's copy of the graph has the same order of edges.
// - Source: the accesses of a kernel and their order are from GraphBIG's files as compiled by nvcc 13.0 -O3
//   for sm_75 (an element that the source names twice may be read once), except that loops are not unrolled.
//   Registers per thread are from the same code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "graph_input.hpp"
#include "graph_kernel.hpp"

namespace farfault::workloads {

// Parameters of all GraphBIG workloads. A graph of R-MAT scale 14 has 16,384 vertices and, in both
// directions, half a million edges: 4 MiB. Scales 17 to 20 take 34 to 268 MiB without most properties and
// work lists.
struct PropertyGraphSpec {
  GraphSpec graph = [] {
    GraphSpec g;
    g.undirected = true;
    g.rmat.scale = 14;
    return g;
  }();
  std::uint32_t block = 1024;

  void describe(ParamTable& t);
};

// Parameters of workloads that start at a vertex.
struct TraversalSpec : PropertyGraphSpec {
  std::uint64_t source = 0;

  void describe(ParamTable& t);
};

// Parameters of workloads whose warps process vertices in chunks.
struct ChunkSpec {
  std::uint32_t chunk = 32;

  void describe(ParamTable& t);
};

struct PropertyGraph {
  CsrGraph csr;
  VirtAddr vertices = 0, edges = 0;

  Row row(std::uint64_t v) const { return {csr.offsets[v], csr.offsets[v + 1] - csr.offsets[v]}; }
  VirtAddr row_begin(std::uint64_t v) const { return vertices + 8 * v; }
  VirtAddr row_end(std::uint64_t v) const { return vertices + 8 * (v + 1); }
  // The element that most compiled kernels read first (0) and second (1).
  VirtAddr row_bound(std::size_t i, std::uint64_t v) const { return i == 0 ? row_end(v) : row_begin(v); }
  VirtAddr edge(std::uint64_t e) const { return edges + 8 * e; }
  std::uint64_t target(std::uint64_t e) const { return csr.targets[e]; }
};

// Builds a workload: reads the graph, places it first, collects kernels.
class PropertyGraphProgram {
 public:
  PropertyGraphProgram(std::string name, PropertyGraphSpec const& spec, BuildContext const& context,
                       PropertyGraph& graph);

  BufferLayout& layout() { return layout_; }

  // Throws ParameterError for a directed graph, for which the algorithm is undefined.
  void needs_undirected(PropertyGraph const& graph) const;
  // Throws UserError if `count` kernels would take gigabytes: a long path has many levels.
  void check_kernels(std::uint64_t count) const;
  // Throws UserError if `bytes`, the size of the host's record of `what`, exceed 1 GiB.
  void check_record(std::uint64_t bytes, std::string const& what) const;
  // Returns `asked`, the parameter `worklist`, or the graph's number of vertices if it is 0. Throws
  // ParameterError if `asked` is less.
  std::uint64_t worklist_entries(std::uint64_t asked, PropertyGraph const& graph) const;

  // One thread per item of the visit.
  template <class Visit>
  void per_thread(std::string kernel, std::uint32_t registers, Visit visit) {
    auto const items = visit.items();
    auto const threads = block_of(items);
    kernels_.push_back(std::make_unique<ThreadCentric<Visit>>(KernelShape{.name = std::move(kernel),
                                                                          .blocks = ceil_div(items, threads),
                                                                          .threads_per_block = threads,
                                                                          .registers_per_thread = registers},
                                                              width_, std::move(visit)));
  }

  // One warp per `chunk` items. The grid is GraphBIG's: the blocks for a thread per item, divided by the
  // chunk, rounded up, times the 32 threads of a warp.
  template <class Visit>
  void per_warp(std::string kernel, std::uint32_t registers, std::uint32_t chunk, Visit visit) {
    auto const items = visit.items();
    auto const threads = block_of(items);
    auto const blocks = ceil_div(ceil_div(items, threads), chunk) * kLogicalWarp;
    kernels_.push_back(std::make_unique<WarpCentric<Visit>>(KernelShape{.name = std::move(kernel),
                                                                        .blocks = blocks,
                                                                        .threads_per_block = threads,
                                                                        .registers_per_thread = registers},
                                                            width_, chunk, std::move(visit)));
  }

  Workload take();

 private:
  // GraphBIG launches as many threads as items, in one block until that is full.
  std::uint32_t block_of(std::uint64_t items) const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(items, block_));
  }

  std::string name_;
  std::uint32_t width_, block_;
  BufferLayout layout_;
  std::vector<InputFile> inputs_;
  std::vector<std::unique_ptr<Kernel const>> kernels_;
};

// The kernels called `initialize`: one thread per vertex sets its properties, which have the given sizes in
// bytes.
template <std::uint32_t... Bytes>
struct Initialize : Visit {
  std::uint64_t vertices = 0;
  std::array<VirtAddr, sizeof...(Bytes)> base{};

  static constexpr std::array head{store(Bytes)...};
  std::uint64_t items() const { return vertices; }
  VirtAddr head_at(std::size_t i, Item v) const { return base[i] + head[i].bytes * v.vertex; }
};

}  // namespace farfault::workloads
