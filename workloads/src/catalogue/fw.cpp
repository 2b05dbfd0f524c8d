// SPDX-License-Identifier: Apache-2.0
// All-pairs shortest paths by Floyd and Warshall, from Pannotia (fw): a matrix of distances, and a matrix of
// intermediate vertices. One kernel per vertex k, a thread per pair (i, j), blocks of 16x16: if the path of
// the pair through k is shorter, the thread stores it and writes k.
//
// As in the published code, i varies along the threads of a block's row: the lanes of a warp access two
// columns of the matrices, a row apart from lane to lane, and share the row of k. The host determines the
// pairs that write. No thread writes an element that another thread of the same kernel reads: a path from k
// to k never has a negative length.
//
// The suite's loop skips vertex 0; this one begins with it. Its second program, by blocks, is not modelled.
// The order of accesses and the registers are from nvcc 13.0 -O3 for sm_75; address computation is assumed.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "graph_algorithms.hpp"
#include "graph_input.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::fw {
namespace {

constexpr std::uint32_t kSide = 16;
constexpr std::uint32_t kFar = 999'999;  // the suite's distance of unconnected pairs

struct Spec {
  GraphSpec graph = [] {
    GraphSpec g;
    g.rmat.scale = 9;
    g.rmat.edge_factor = 128;
    g.rmat.a = g.rmat.b = g.rmat.c = 0.25;
    return g;
  }();
  std::uint32_t max_weight = 100;
  std::uint64_t steps = 32;

  void describe(ParamTable& t) {
    graph.describe(t);
    t.set_source("rmat.scale", "Pannotia, floydwarshall/512_65536.gr");
    t.set_source("rmat.edge_factor", "Pannotia, floydwarshall/512_65536.gr");
    for (auto const* name : {"rmat.a", "rmat.b", "rmat.c"})
      t.set_source(name, "assumed: uniform random edges");
    t.count("max_weight", max_weight, {0, kFar - 1}, "Maximum edge weight; weights are random from 0 to this",
            "Pannotia, floydwarshall/512_65536.gr");
    t.count("steps", steps, {0, 1ULL << 14},
            "Intermediate vertices of paths, consecutive from vertex 0, one kernel each. 0: all vertices",
            "assumed, fewer than all to shorten runs");
  }
};

struct Matrices {
  std::uint64_t vertices;
  VirtAddr distance, through;
};

class Step final : public Kernel {
 public:
  Step(Matrices const& m, std::uint32_t warp_width, std::uint64_t k, Bits shorter)
      : shape_{"floydwarshall_k" + std::to_string(k), m.vertices / kSide * (m.vertices / kSide),
               kSide * kSide, 12, 0},
        warp_width_(warp_width),
        m_(m),
        k_(k),
        shorter_(std::move(shorter)) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const n = m_.vertices;
    // All pairs of the warp, each at address(i, j).
    auto const pairs = [&](Op op, std::uint64_t lanes, auto address) {
      set_access(out, op, 4, lanes);
      for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
        auto const [i, j] = pair(block, warp, lane);
        out.address[lane] = address(i, j);
      }
    };
    auto const element = [n](VirtAddr base, std::uint64_t i, std::uint64_t j) {
      return base + 4 * (i * n + j);
    };
    auto const all = low_lanes(warp_width_);
    switch (step) {
      case 0:
        return set_arguments(out, 3);
      case 1:  // both indices and compares; two products; two addresses
        return set_compute(out, {.vector = 18, .special = 4, .scalar = 5}, kWait);
      case 2:
        return pairs(Op::load, all, [&](auto, auto j) { return element(m_.distance, k_, j); });
      case 3:
        return pairs(Op::load, all, [&](auto i, auto) { return element(m_.distance, i, k_); });
      case 4:
        return pairs(Op::load, all, [&](auto i, auto j) { return element(m_.distance, i, j); });
      case 5:  // sum, compare, branch
        return set_compute(out, {.vector = 2, .scalar = 3}, kWait);
      default:
        break;
    }
    std::uint64_t lanes = 0;
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
      auto const [i, j] = pair(block, warp, lane);
      if (shorter_[i * n + j]) lanes |= std::uint64_t{1} << lane;
    }
    if (lanes == 0 || step > 8) return set_end(out);
    if (step == 7) return set_compute(out, {.vector = 4});
    return pairs(Op::store, lanes,
                 [&](auto i, auto j) { return element(step == 6 ? m_.distance : m_.through, i, j); });
  }

 private:
  std::pair<std::uint64_t, std::uint64_t> pair(std::uint64_t block, std::uint32_t warp,
                                               std::uint32_t lane) const {
    auto const across = m_.vertices / kSide;
    auto const thread = warp * warp_width_ + lane;
    return {block % across * kSide + thread % kSide, block / across * kSide + thread / kSide};
  }

  KernelShape shape_;
  std::uint32_t warp_width_;
  Matrices m_;
  std::uint64_t k_;
  Bits shorter_;  // per pair
};

std::vector<std::uint32_t> distances(CsrGraph const& graph, std::uint32_t max_weight, std::uint64_t seed) {
  auto const n = graph.vertices;
  std::vector<std::uint32_t> d(n * n, kFar);
  for (std::uint64_t v = 0; v < n; ++v)
    for (auto e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
      d[v * n + graph.targets[e]] = edge_weight(v, graph.targets[e], max_weight + 1, seed) - 1;
  for (std::uint64_t v = 0; v < n; ++v) d[v * n + v] = 0;
  return d;
}

// Allows paths through k; returns the pairs whose distance decreased.
Bits shorten(std::vector<std::uint32_t>& d, std::uint64_t n, std::uint64_t k) {
  Bits shorter(n * n);
  for (std::uint64_t i = 0; i < n; ++i)
    for (std::uint64_t j = 0; j < n; ++j) {
      auto const through = d[i * n + k] + d[k * n + j];
      if (through >= d[i * n + j]) continue;
      d[i * n + j] = through;
      shorter.set(i * n + j);
    }
  return shorter;
}

Workload build(Spec const& spec, BuildContext const& context) {
  std::vector<InputFile> inputs;
  auto const graph = load_graph(spec.graph, context, inputs);
  auto const n = graph.vertices;
  if (n % kSide != 0 || n > (1ULL << 14))
    throw UserError("fw: the graph has " + std::to_string(n) +
                    " vertices; the number must be a multiple of 16, the side of a block, and at most 16384");
  auto const steps = spec.steps == 0 ? n : std::min(spec.steps, n);
  if (steps * (n * n / 8) > (1ULL << 30))
    throw UserError("fw: " + std::to_string(steps) + " steps of " + std::to_string(n) +
                    " vertices need more than 1 GiB of host memory, the maximum; lower steps");
  BufferLayout layout(context.buffers);
  auto const distance = layout.add("distance", 4 * n * n);
  Matrices const matrices{n, distance, layout.add_result("through", 4 * n * n)};
  auto d = distances(graph, spec.max_weight, context.seed);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint64_t k = 0; k < steps; ++k)
    kernels.push_back(std::make_unique<Step>(matrices, context.warp_width, k, shorten(d, n, k)));
  return {"fw", layout.take(), std::move(kernels), std::move(inputs)};
}

}  // namespace

WorkloadInfo info() {
  return {"fw",
          "All-pairs shortest paths by Floyd-Warshall, one kernel per vertex (Pannotia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"steps", "1"}}},
           {kMedium, {}},
           {kPaper,
            {{"steps", "0"}},
            "Pannotia, floydwarshall/512_65536.gr, as in TLB compression (PACT 2020): all vertices"}}};
}

}  // namespace farfault::workloads::fw
