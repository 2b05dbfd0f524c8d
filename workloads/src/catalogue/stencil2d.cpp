// SPDX-License-Identifier: Apache-2.0
// Nine-point stencil of SHOC: blocks of one row of 64 threads smooth 16 rows each. A thread reads its column
// of the tile and of the halo above and below into shared memory; the first and the last thread also read the
// halo columns. After a barrier every thread writes 16 results. Iterations swap the two arrays. Rows are
// padded to 16 elements, including the halo.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::stencil2d {
namespace {

constexpr std::uint32_t kRows = 16;       // rows of a block's tile
constexpr std::uint32_t kColumns = 64;    // columns of a tile, and threads of a block
constexpr std::uint32_t kAlignment = 16;  // granularity of padded rows in elements

struct Spec {
  std::uint64_t rows = 2048;
  std::uint64_t cols = 4096;
  std::uint32_t iterations = 5;

  void describe(ParamTable& t) {
    t.count("rows", rows, {kRows, 1ULL << 20}, "Rows without the halo, a multiple of 16",
            "GMMU Bypass (NPC 2020), Table 2 (64 MiB in total); shape assumed");
    t.count("cols", cols, {kColumns, 1ULL << 20}, "Columns without the halo, a multiple of 64",
            "GMMU Bypass (NPC 2020), Table 2 (64 MiB in total); shape assumed");
    t.count("iterations", iterations, {1, 10'000}, "Kernels; each reads one array and writes the other",
            "MGPUSim, stencil2d");
  }
};

std::uint64_t padded(std::uint64_t cols) {
  return ceil_div(cols + 2, kAlignment) * kAlignment;
}

class Stencil final : public Kernel {
 public:
  Stencil(Spec const& spec, std::uint32_t warp_width, VirtAddr from, VirtAddr to)
      : shape_{"stencil", spec.rows / kRows * (spec.cols / kColumns), kColumns, 32,
               std::uint64_t{4} * (kRows + 2) * (kColumns + 2)},
        warp_width_(warp_width),
        tiles_down_(spec.rows / kRows),
        pitch_(4 * padded(spec.cols)),
        from_(from),
        to_(to) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    constexpr std::uint32_t kReads = kRows + 2;
    if (step-- == 0) return set_arguments(out, 4);
    // Positions in the array and the tile, 18 addresses in each; the pitch by a division.
    if (step == 0) return set_compute(out, {.vector = 234, .special = 16, .scalar = 14}, kWait);
    // The grid's fast dimension counts tiles downwards, as in the suite. In the array, the halo precedes the
    // tile.
    auto const top = block % tiles_down_ * kRows;
    auto const left = block / tiles_down_ * kColumns + std::uint64_t{warp} * warp_width_;
    auto body = step - 1;
    if (body < kReads) return row(out, Op::load, from_ + (top + body) * pitch_ + 4 * (left + 1));
    body -= kReads;
    if (body == 0)
      return set_compute(out, {.scalar = 14, .shared = kReads}, kWait);  // branches on the column
    body -= 1;
    // Warps without the first or the last thread go straight to the barrier.
    bool const first = warp == 0;
    bool const last = (warp + 1) * warp_width_ == kColumns;
    for (auto const side : {first ? 1 : 0, last ? 2 : 0}) {
      if (side == 0) continue;
      if (body < kReads) {
        auto const lane = side == 1 ? 0U : warp_width_ - 1;
        set_access(out, Op::load, 4, std::uint64_t{1} << lane);
        out.address[lane] = from_ + (top + body) * pitch_ + 4 * (side == 1 ? left : left + lane + 2);
        return;
      }
      body -= kReads;
      // Including the 18 addresses.
      if (body == 0) return set_compute(out, {.vector = 118, .scalar = 6, .shared = kReads}, kWait);
      body -= 1;
    }
    if (body == 0) return set_barrier(out);
    body -= 1;
    if (body < 2 * kRows) {
      // Nine floats and their weights, the address. The floats of a row are read once, by two accesses of 8
      // and 4 bytes: three rows for the first result, one row for each of the others.
      if (body % 2 == 0)
        return set_compute(out, {.vector = 12, .shared = body == 0 ? 6U : 2U, .shared_bytes_per_lane = 6});
      return row(out, Op::store, to_ + (top + 1 + body / 2) * pitch_ + 4 * (left + 1));
    }
    set_end(out);
  }

 private:
  void row(WarpInstruction& out, Op op, VirtAddr first) const {
    set_linear(out, op, 4, first, 4, warp_width_);
  }

  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t tiles_down_, pitch_;
  VirtAddr from_, to_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.rows % kRows != 0) throw ParameterError("rows", spec.rows, "must be a multiple of 16");
  if (spec.cols % kColumns != 0) throw ParameterError("cols", spec.cols, "must be a multiple of 64");
  BufferLayout layout(context.buffers);
  auto const bytes = 4 * (spec.rows + 2) * padded(spec.cols);
  VirtAddr const data[2] = {layout.add("data0", bytes), layout.add("data1", bytes)};
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t i = 0; i < spec.iterations; ++i)
    kernels.push_back(std::make_unique<Stencil>(spec, context.warp_width, data[i % 2], data[1 - i % 2]));
  return {"stencil2d", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"stencil2d",
          "Nine-point stencil with a shared-memory tile, iterated (SHOC)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rows", "256"}, {"cols", "512"}}},
           {kMedium, {{"rows", "1024"}, {"cols", "2048"}}},
           {kPaper, {}, "GMMU Bypass (NPC 2020), Table 2: 64 MB"}}};
}

}  // namespace farfault::workloads::stencil2d
