// SPDX-License-Identifier: Apache-2.0
// PageRank of Hetero-Mark: repeated multiplication of a sparse matrix in CSR form (row = vertex, columns =
// vertices that point to it, values = 1 / out-degree) with the vector of ranks.
//
// With `mapping = warp`, as in the suite, the lanes of a warp share a row: they read consecutive columns and
// values, gather the ranks, and reduce in shared memory; lane 0 writes. With `mapping = thread` each thread
// processes its own row.
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "graph_input.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::pagerank {
namespace {

enum class Mapping { warp, thread };

struct Spec {
  // Scale 19 with 14 edges per vertex takes 62 MiB, the closest to the 64 MB of GMMU Bypass, Table 2.
  GraphSpec graph = [] {
    GraphSpec g;
    g.rmat.scale = 19;
    g.rmat.edge_factor = 14;
    return g;
  }();
  std::uint32_t iterations = 3;
  Mapping mapping = Mapping::warp;
  std::uint32_t block = 64;

  void describe(ParamTable& t) {
    graph.describe(t);
    for (auto const* name : {"rmat.scale", "rmat.edge_factor"})
      t.set_source(name, "assumed: 62 MiB in total, the closest to GMMU Bypass (NPC 2020), Table 2: 64 MB");
    t.count("iterations", iterations, {1, 10'000}, "Multiplications, one kernel each", "assumed");
    t.choice("mapping", mapping,
             {{"warp", Mapping::warp, "one warp"}, {"thread", Mapping::thread, "one thread"}},
             "Threads per matrix row", "Hetero-Mark, PR");
    t.count("block", block, {32, 1024}, "Threads per block, a multiple of the warp width", "MGPUSim, PR");
  }
};

// Vector instructions for one entry of a row: the addresses of column, value and rank, and multiply-add.
constexpr std::uint32_t kEdge = 12;

struct Matrix {
  CsrGraph rows;                            // row v: the vertices that point to v
  std::vector<std::uint32_t> warp_longest;  // thread mapping: longest row of each warp
  VirtAddr offsets = 0, columns = 0, values = 0;
};

class WarpPerRow final : public LinearKernel {
 public:
  WarpPerRow(KernelShape shape, std::uint32_t warp_width, std::shared_ptr<Matrix const> m, VirtAddr x,
             VirtAddr y)
      : LinearKernel(std::move(shape), warp_width, m->rows.vertices * warp_width),
        shift_(static_cast<std::uint32_t>(std::countr_zero(warp_width))),
        m_(std::move(m)),
        x_(x),
        y_(y) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 7);
    auto const t = threads(block, warp);
    if (step == 0) {
      if (t.lanes == 0) return set_compute(out, {.vector = 7, .scalar = 4}, kWait);  // row, compare
      // Row, lane and their addresses; the partial sum is cleared.
      return set_compute(out, {.vector = 7 + 14 + 9, .scalar = 4 + 3 + 2, .shared = 1}, kWait);
    }
    if (t.lanes == 0) return set_end(out);
    auto const row = t.first >> shift_;
    if (step <= 2) return set_uniform(out, Op::load, 4, m_->offsets + 4 * (row + step - 1));
    auto const begin = m_->rows.offsets[row];
    auto const end = m_->rows.offsets[row + 1];
    auto const body = step - 3;
    auto const edge = begin + ((body >> 2) << shift_);
    if (edge < end) {
      auto const lanes = static_cast<std::uint32_t>(std::min<std::uint64_t>(warp_width(), end - edge));
      switch (body & 3) {
        case 0:
          return set_linear(out, Op::load, 4, m_->columns + 4 * edge, 4, lanes, kWait);
        case 1:
          return set_linear(out, Op::load, 4, m_->values + 4 * edge, 4, lanes);
        case 2:
          set_access(out, Op::load, 4, low_lanes(lanes), kWait);
          for (std::uint32_t i = 0; i < lanes; ++i)
            out.address[i] = x_ + std::uint64_t{4} * m_->rows.targets[edge + i];
          return;
        default:
          return set_compute(out, {.vector = kEdge, .scalar = 3}, kWait);
      }
    }
    auto const tail = body - 4 * ((end - begin + warp_width() - 1) >> shift_);
    // The sum is stored in shared memory; each halving of the reduction compares, reads, adds and writes. It
    // needs the row's ends even for a row without entries.
    if (tail == 0)
      return set_compute(
          out, {.vector = 1 + 6 * shift_, .scalar = 5 + 3 * (shift_ - 1), .shared = 1 + 2 * shift_}, kWait);
    if (tail == 1) return set_uniform(out, Op::store, 4, y_ + 4 * row);
    set_end(out);
  }

 private:
  std::uint32_t shift_;
  std::shared_ptr<Matrix const> m_;
  VirtAddr x_, y_;
};

class ThreadPerRow final : public LinearKernel {
 public:
  ThreadPerRow(KernelShape shape, std::uint32_t warp_width, std::shared_ptr<Matrix const> m, VirtAddr x,
               VirtAddr y)
      : LinearKernel(std::move(shape), warp_width, m->rows.vertices),
        shift_(static_cast<std::uint32_t>(std::countr_zero(warp_width))),
        m_(std::move(m)),
        x_(x),
        y_(y) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 7);
    auto const t = threads(block, warp);
    if (step == 0) {
      if (t.lanes == 0) return set_compute(out, {.vector = 7, .scalar = 4}, kWait);  // row, compare
      return set_compute(out, {.vector = 7 + 14 + 9, .scalar = 4 + 3 + 2}, kWait);
    }
    if (t.lanes == 0) return set_end(out);
    if (step <= 2) return set_linear(out, Op::load, 4, m_->offsets + 4 * (t.first + step - 1), 4, t.lanes);
    auto const body = step - 3;
    std::uint64_t const longest = m_->warp_longest[t.first >> shift_];
    if (body < 4 * longest) {
      auto const k = body >> 2;
      switch (body & 3) {
        case 0:
          return gather(
              out, t, k, [this](std::uint64_t e) { return m_->columns + 4 * e; }, kWait);
        case 1:
          return gather(
              out, t, k, [this](std::uint64_t e) { return m_->values + 4 * e; }, false);
        case 2:
          return gather(
              out, t, k, [this](std::uint64_t e) { return x_ + std::uint64_t{4} * m_->rows.targets[e]; },
              kWait);
        default:
          return set_compute(out, {.vector = kEdge, .scalar = 3}, kWait);
      }
    }
    if (body == 4 * longest) return set_linear(out, Op::store, 4, y_ + 4 * t.first, 4, t.lanes, kWait);
    set_end(out);
  }

 private:
  template <class Address>
  void gather(WarpInstruction& out, ThreadRange t, std::uint64_t k, Address address, bool wait) const {
    auto const* const offsets = m_->rows.offsets.data() + t.first;
    std::uint64_t lanes = 0;
    for (std::uint32_t i = 0; i < t.lanes; ++i) {
      auto const edge = offsets[i] + k;
      if (edge >= offsets[i + 1]) continue;
      lanes |= std::uint64_t{1} << i;
      out.address[i] = address(edge);
    }
    set_access(out, Op::load, 4, lanes, wait);
  }

  std::uint32_t shift_;
  std::shared_ptr<Matrix const> m_;
  VirtAddr x_, y_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  check_whole_warps(spec.block, context);
  std::vector<InputFile> inputs;
  auto matrix = std::make_shared<Matrix>();
  auto graph = load_graph(spec.graph, context, inputs);
  matrix->rows = graph.directed ? transposed(graph) : std::move(graph);
  auto const& rows = matrix->rows;
  auto const n = rows.vertices;
  BufferLayout layout(context.buffers);
  matrix->offsets = layout.add("row_offsets", 4 * (n + 1));
  matrix->columns = layout.add("columns", 4 * rows.targets.size());
  matrix->values = layout.add("values", 4 * rows.targets.size());
  VirtAddr const ranks[2] = {layout.add("ranks0", 4 * n), layout.add_result("ranks1", 4 * n)};

  auto const width = context.warp_width;
  std::vector<std::unique_ptr<Kernel const>> kernels;
  if (spec.mapping == Mapping::thread) {
    matrix->warp_longest.assign(ceil_div(n, width), 0);
    for (std::uint64_t v = 0; v < n; ++v) {
      auto& longest = matrix->warp_longest[v / width];
      longest = std::max(longest, static_cast<std::uint32_t>(rows.offsets[v + 1] - rows.offsets[v]));
    }
  }
  for (std::uint32_t i = 0; i < spec.iterations; ++i) {
    auto const x = ranks[i % 2];
    auto const y = ranks[1 - i % 2];
    if (spec.mapping == Mapping::warp) {
      kernels.push_back(
          std::make_unique<WarpPerRow>(KernelShape{"page_rank_update", ceil_div(n, spec.block / width),
                                                   spec.block, 20, std::uint64_t{4} * spec.block},
                                       width, matrix, x, y));
    } else {
      kernels.push_back(std::make_unique<ThreadPerRow>(
          KernelShape{"page_rank_update", ceil_div(n, spec.block), spec.block, 20, 0}, width, matrix, x, y));
    }
  }
  return {"pagerank", layout.take(), std::move(kernels), std::move(inputs)};
}

}  // namespace

WorkloadInfo info() {
  return {"pagerank",
          "PageRank as sparse matrix-vector products, one warp per row (Hetero-Mark)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rmat.scale", "11"}}},
           {kMedium, {{"rmat.scale", "15"}}},
           {kPaper, {}, "GMMU Bypass (NPC 2020), Table 2: 64 MB; the closest R-MAT graph"}}};
}

}  // namespace farfault::workloads::pagerank
