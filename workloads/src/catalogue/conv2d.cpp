// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution with a filter of 3x3, from PolyBench/GPU (2DCONV): a thread per element of the
// result, blocks of 32x8, nine loads from global memory, row by row, and one store. The border of the matrix
// is neither computed nor written.
//
// The filter's coefficients are constants of the code. The order of accesses and the registers are from nvcc
// 13.0 -O3 for sm_75. Counts: nine multiply-adds; address computation is assumed.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::conv2d {
namespace {

constexpr std::uint32_t kWide = 32, kHigh = 8;

struct Spec {
  std::uint64_t rows = 2048;
  std::uint64_t cols = 2048;

  void describe(ParamTable& t) {
    t.count("rows", rows, {3, 1ULL << 20}, "Matrix rows (published: 4,096)",
            "assumed, smaller than published to shorten runs");
    t.count("cols", cols, {3, 1ULL << 20}, "Matrix columns (published: 4,096)",
            "assumed, smaller than published to shorten runs");
  }
};

class Convolve final : public Kernel {
 public:
  Convolve(Spec const& spec, std::uint32_t warp_width, VirtAddr a, VirtAddr b)
      : across_(ceil_div(spec.cols, kWide)),
        shape_{"Convolution2D_kernel", across_ * ceil_div(spec.rows, kHigh), kWide * kHigh, 24, 0},
        warp_width_(warp_width),
        rows_(spec.rows),
        cols_(spec.cols),
        a_(a),
        b_(b) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (take(step, 1)) return set_arguments(out, 2);
    std::uint64_t mask = 0;
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane)
      if (inner(row(block, warp, lane), rows_) && inner(column(block, warp, lane), cols_))
        mask |= std::uint64_t{1} << lane;
    // Both indices, four compares; then three rows' addresses, with a product each.
    if (take(step, 1))
      return set_compute(out, {.vector = mask != 0 ? 20U : 8U, .special = mask != 0 ? 4U : 2U, .scalar = 6},
                         kWait);
    if (mask == 0) return set_end(out);
    if (take(step, 9)) return elements(out, Op::load, a_, block, warp, mask, step / 3, step % 3);
    if (take(step, 1)) return set_compute(out, {.vector = 9 + 2}, kWait);  // and the address
    if (take(step, 1)) return elements(out, Op::store, b_, block, warp, mask, 1, 1);
    set_end(out);
  }

 private:
  static bool inner(std::uint64_t i, std::uint64_t count) { return i > 0 && i + 1 < count; }
  std::uint64_t row(std::uint64_t block, std::uint32_t warp, std::uint32_t lane) const {
    return block / across_ * kHigh + (warp * warp_width_ + lane) / kWide;
  }
  std::uint64_t column(std::uint64_t block, std::uint32_t warp, std::uint32_t lane) const {
    return block % across_ * kWide + (warp * warp_width_ + lane) % kWide;
  }

  // The elements `down` rows below and `right` columns right of the upper left neighbours.
  void elements(WarpInstruction& out, Op op, VirtAddr base, std::uint64_t block, std::uint32_t warp,
                std::uint64_t mask, std::uint64_t down, std::uint64_t right) const {
    set_access(out, op, 4, mask);
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane)
      out.address[lane] =
          base + 4 * ((row(block, warp, lane) + down - 1) * cols_ + column(block, warp, lane) + right - 1);
  }

  std::uint64_t across_;
  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t rows_, cols_;
  VirtAddr a_, b_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  auto const bytes = 4 * spec.rows * spec.cols;
  auto const a = layout.add("a", bytes);
  auto const b = layout.add_result("b", bytes);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<Convolve>(spec, context.warp_width, a, b));
  return {"conv2d", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"conv2d",
          "2D convolution with a 3x3 filter, one thread per element (PolyBench/GPU, 2DCONV)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rows", "384"}, {"cols", "384"}}},
           {kMedium, {}},
           {kPaper,
            {{"rows", "4096"}, {"cols", "4096"}},
            "PolyBench/GPU, 2DCONV: 4,096^2, as in TLB compression (PACT 2020)"}}};
}

}  // namespace farfault::workloads::conv2d
