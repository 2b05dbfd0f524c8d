// SPDX-License-Identifier: Apache-2.0
// Pathfinder of Rodinia: the cheapest path down a grid of costs, row by row, each step straight or to a side.
// As in `hotspot`, a kernel processes several rows (the pyramid). A block of 256 threads reads the sums of
// its columns into shared memory; in each row a thread reads its cost and adds the minimum of three sums. The
// block loses a column on each side per row, so that blocks overlap by twice the pyramid's height. Kernels
// alternate between the two arrays of sums.
//
// The last kernel processes the remaining rows. Its blocks are then further apart, and the grid, whose size
// does not change, may have blocks beyond the last column, which read and write nothing, as in the published
// code.
//
// Counts: a row reads three sums from shared memory, takes the minimum (four), adds; its address takes two,
// the conditions five. Registers per thread are from nvcc 13.0 -O3 for sm_75; other counts are assumed.
#include <algorithm>
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::pathfinder {
namespace {

constexpr std::uint32_t kBlock = 256;

struct Spec {
  std::uint64_t cols = 100'000;
  std::uint64_t rows = 100;
  std::uint32_t pyramid_height = 20;

  void describe(ParamTable& t) {
    t.count("cols", cols, {1, 1ULL << 30}, "Grid columns", "Rodinia, pathfinder");
    t.count("rows", rows, {2, 1ULL << 20}, "Grid rows", "Rodinia, pathfinder");
    t.count("pyramid_height", pyramid_height, {1, kBlock / 2 - 1}, "Rows per kernel", "Rodinia, pathfinder");
  }
};

class Rows final : public Kernel {
 public:
  // Processes rows `first` to first + rows - 1 of the costs, which begin at the grid's second row.
  Rows(Spec const& spec, std::uint32_t warp_width, std::uint64_t first, std::uint32_t rows, VirtAddr wall,
       VirtAddr from, VirtAddr to)
      : shape_{"dynproc_kernel", ceil_div(spec.cols, kBlock - 2 * spec.pyramid_height), kBlock, 18,
               std::uint64_t{2} * kBlock * 4},
        warp_width_(warp_width),
        rows_(rows),
        border_(spec.pyramid_height),
        cols_(static_cast<std::int64_t>(spec.cols)),
        first_(first),
        wall_(wall),
        from_(from),
        to_(to) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (take(step, 1)) return set_arguments(out, 4);
    // The block's first column, the grid's ends within the block, both neighbours.
    if (take(step, 1)) return set_compute(out, {.vector = 22, .special = 2, .scalar = 8}, kWait);
    if (take(step, 1)) return columns(out, Op::load, from_, block, warp, 0);
    if (take(step, 1)) return set_compute(out, {.scalar = 1, .shared = 1}, kWait);
    if (take(step, 1)) return set_barrier(out);
    // Cost, sum, barrier; the sum replaces the previous one, barrier.
    if (take(step, 5 * std::uint64_t{rows_} - 2)) {
      auto const row = static_cast<std::uint32_t>(step / 5);
      bool const computes = lanes(block, warp, row + 1) != 0;
      switch (step % 5) {
        case 0:
          return columns(out, Op::load, wall_ + 4 * (first_ + row) * static_cast<std::uint64_t>(cols_), block,
                         warp, row + 1);
        case 1:
          return set_compute(out, {.vector = computes ? 10U : 5U, .scalar = 2, .shared = computes ? 4U : 0U},
                             kWait);
        case 3:
          return set_compute(out, {.scalar = 2, .shared = computes ? 2U : 0U});
        default:
          return set_barrier(out);
      }
    }
    if (take(step, 1)) return set_compute(out, {.vector = 2, .scalar = 1, .shared = 1});
    if (take(step, 1)) return columns(out, Op::store, to_, block, warp, rows_);
    set_end(out);
  }

 private:
  std::int64_t column(std::uint64_t block, std::uint32_t thread) const {
    return static_cast<std::int64_t>(block * (kBlock - 2 * rows_)) - border_ + thread;
  }

  // The threads of the warp whose columns are in the grid and not among the block's `lost` outer columns on
  // each side.
  std::uint64_t lanes(std::uint64_t block, std::uint32_t warp, std::uint32_t lost) const {
    std::uint64_t mask = 0;
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
      auto const thread = warp * warp_width_ + lane;
      auto const c = column(block, thread);
      if (thread >= lost && thread + lost < kBlock && c >= 0 && c < cols_) mask |= std::uint64_t{1} << lane;
    }
    return mask;
  }

  void columns(WarpInstruction& out, Op op, VirtAddr base, std::uint64_t block, std::uint32_t warp,
               std::uint32_t lost) const {
    auto const mask = lanes(block, warp, lost);
    if (mask == 0) return set_compute(out, {.scalar = 1});  // the branch around the access
    set_access(out, op, 4, mask);
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane)  // outside the grid: no lane of the mask
      out.address[lane] = base + 4 * static_cast<std::uint64_t>(column(block, warp * warp_width_ + lane));
  }

  KernelShape shape_;
  std::uint32_t warp_width_, rows_, border_;
  std::int64_t cols_;
  std::uint64_t first_;
  VirtAddr wall_, from_, to_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  auto const first = layout.add("sums0", 4 * spec.cols);
  VirtAddr const sums[2] = {first, layout.add_result("sums1", 4 * spec.cols)};
  auto const wall = layout.add("wall", 4 * spec.cols * (spec.rows - 1));
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint64_t row = 0; row + 1 < spec.rows; row += spec.pyramid_height) {
    auto const rows =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(spec.pyramid_height, spec.rows - 1 - row));
    kernels.push_back(std::make_unique<Rows>(spec, context.warp_width, row, rows, wall,
                                             sums[kernels.size() % 2], sums[1 - kernels.size() % 2]));
  }
  return {"pathfinder", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"pathfinder",
          "Minimum-cost path down a grid, several rows per kernel (Rodinia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"cols", "10000"}}},
           {kMedium, {}},
           {kPaper, {}, "Rodinia, pathfinder, as in TLB compression (PACT 2020): 100,000 x 100"}}};
}

}  // namespace farfault::workloads::pathfinder
