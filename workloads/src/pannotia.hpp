// SPDX-License-Identifier: Apache-2.0
// Pannotia's graphs on a GPU, and code shared by its workloads: parameters, launches, building.
//
// - Layout: `row` has the first edge of each row (n entries: the end of the last row is a kernel argument),
//   `column` the target of each edge, 32 bits each. A property is an array of 32 bits per vertex.
// - Kernels have a thread per vertex, in blocks of a fixed size.
// - Races: as in the kernels of GraphBIG, rounds are synchronous. If several threads find a vertex, the first
//   edge in vertex order counts.
// - Source: the accesses of a kernel, their order and the registers per thread are from the CUDA version (in
//   accel-sim/gpu-app-collection) compiled by nvcc 13.0 -O3 for sm_75, except that loops are not unrolled.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "graph_input.hpp"
#include "graph_kernel.hpp"
#include "random.hpp"

namespace farfault::workloads {

// The default graph has 65,536 vertices with 8 edges on average: 2.3 MiB without properties.
struct PannotiaSpec {
  GraphSpec graph = [] {
    GraphSpec g;
    g.undirected = true;
    g.rmat.scale = 16;
    g.rmat.edge_factor = 4;
    return g;
  }();
  std::uint32_t block;
  bool even;

  // `even_graph`: all vertices have a similar degree, as in the suite's meshes for colouring and independent
  // sets.
  explicit PannotiaSpec(std::uint32_t threads, bool even_graph = false) : block(threads), even(even_graph) {
    if (even) graph.rmat.a = graph.rmat.b = graph.rmat.c = 0.25;
  }

  void describe(ParamTable& t) {
    graph.describe(t);
    t.set_source("rmat.edge_factor",
                 "about that of coAuthorsDBLP, Pannotia's co-authorship network, with 6.5");
    if (even)
      for (auto const* name : {"rmat.a", "rmat.b", "rmat.c"})
        t.set_source(name, "assumed: even degrees, as in Pannotia's inputs ecology1 and G3_circuit");
    t.count("block", block, {32, 1024}, "Threads per block, a multiple of the warp width", "Pannotia");
  }
};

struct PannotiaGraph {
  CsrGraph csr;
  VirtAddr rows = 0, columns = 0;

  Row row(std::uint64_t v) const { return {csr.offsets[v], csr.offsets[v + 1] - csr.offsets[v]}; }
  // A row's first edge (0), or the edge after its last one (1), which is the next row's first.
  VirtAddr row_bound(std::size_t i, std::uint64_t v) const {
    return v + i == csr.vertices ? kNone : rows + 4 * (v + i);
  }
  VirtAddr column(std::uint64_t e) const { return columns + 4 * e; }
  std::uint64_t target(std::uint64_t e) const { return csr.targets[e]; }
};

class PannotiaProgram {
 public:
  PannotiaProgram(std::string name, PannotiaSpec const& spec, BuildContext const& context,
                  PannotiaGraph& graph)
      : name_(std::move(name)), width_(context.warp_width), block_(spec.block), layout_(context.buffers) {
    check_whole_warps(spec.block, context);
    graph.csr = load_graph(spec.graph, context, inputs_);
    graph.rows = layout_.add("row", 4 * graph.csr.vertices);
    graph.columns = layout_.add("column", 4 * graph.csr.targets.size());
  }

  BufferLayout& layout() { return layout_; }

  // One thread per vertex.
  template <class V>
  void per_thread(std::string kernel, std::uint32_t registers, V visit) {
    constexpr std::size_t kMax = 1U << 20;  // kernels of about 250 bytes each
    if (kernels_.size() == kMax)
      throw UserError(name_ + ": the graph needs more than " + std::to_string(kMax) +
                      " kernel launches, the maximum; use a smaller graph");
    KernelShape shape{.name = std::move(kernel),
                      .blocks = ceil_div(visit.items(), block_),
                      .threads_per_block = block_,
                      .registers_per_thread = registers};
    kernels_.push_back(std::make_unique<ThreadCentric<V>>(std::move(shape), width_, std::move(visit)));
  }

  Workload take() { return {name_, layout_.take(), std::move(kernels_), std::move(inputs_)}; }

 private:
  std::string name_;
  std::uint32_t width_, block_;
  BufferLayout layout_;
  std::vector<InputFile> inputs_;
  std::vector<std::unique_ptr<Kernel const>> kernels_;
};

// A permutation of 0 to n - 1, one number per vertex, drawn from the seed.
inline std::vector<std::uint32_t> vertex_numbers(std::uint64_t n, std::uint64_t seed) {
  std::vector<std::uint32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0U);
  Random random(seed);
  for (auto i = n; i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
  return numbers;
}

}  // namespace farfault::workloads
