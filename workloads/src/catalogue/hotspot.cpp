// SPDX-License-Identifier: Apache-2.0
// Temperatures of a chip, hotspot of Rodinia: a five-point stencil whose kernel computes several iterations.
// A block of 16 x 16 threads reads its tile of temperatures and of power. It computes the tile without its
// outermost ring, then without the next ring, and so on (the pyramid), and writes the result of the last
// iteration. Tiles overlap by twice the pyramid's height. Kernels alternate between the two arrays of
// temperatures.
//
// The last kernel computes the remaining iterations. Its tiles are then larger, and the grid, whose size does
// not change, has blocks beyond the chip, which read and write nothing, as in the published code.
//
// Counts: an iteration reads the cell, four neighbours and the power from shared memory; 14 sums and products
// (with conversions to double and back for the source's constant 2.0), 8 compares; address computation is
// assumed. Registers per thread are from nvcc 13.0 -O3 for sm_75.
#include <algorithm>
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::hotspot {
namespace {

constexpr std::uint32_t kSide = 16;  // threads along a block's side, and cells along a tile's

struct Spec {
  std::uint64_t rows = 512;
  std::uint64_t cols = 512;
  std::uint32_t iterations = 3;
  std::uint32_t pyramid_height = 2;

  void describe(ParamTable& t) {
    t.count("rows", rows, {1, 1ULL << 20}, "Grid rows", "Rodinia, hotspot; Mosaic, published code");
    t.count("cols", cols, {1, 1ULL << 20}, "Grid columns", "Rodinia, hotspot; Mosaic, published code");
    t.count("iterations", iterations, {1, 10'000}, "Total iterations",
            "Mosaic, published code; Rodinia's script has 2");
    t.count("pyramid_height", pyramid_height, {1, kSide / 2 - 1}, "Iterations per kernel",
            "Rodinia, hotspot; Mosaic, published code");
  }
};

class Hotspot final : public Kernel {
 public:
  Hotspot(Spec const& spec, std::uint32_t warp_width, std::uint32_t iterations, VirtAddr power, VirtAddr from,
          VirtAddr to)
      : across_(ceil_div(spec.cols, kSide - 2 * spec.pyramid_height)),
        shape_{"calculate_temp", across_ * ceil_div(spec.rows, kSide - 2 * spec.pyramid_height),
               kSide * kSide, 35, std::uint64_t{3} * kSide * kSide * 4},
        warp_width_(warp_width),
        iterations_(iterations),
        border_(spec.pyramid_height),
        rows_(static_cast<std::int64_t>(spec.rows)),
        cols_(static_cast<std::int64_t>(spec.cols)),
        power_(power),
        from_(from),
        to_(to) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (take(step, 1)) return set_arguments(out, 4);
    // Four reciprocals; the tile's corners, the cell, the bounds check.
    if (take(step, 1)) return set_compute(out, {.vector = 54, .special = 6, .scalar = 8}, kWait);
    if (take(step, 1)) return cells(out, Op::load, from_, block, warp, 0);
    if (take(step, 1)) return cells(out, Op::load, power_, block, warp, 0);
    if (take(step, 1)) return set_compute(out, {.vector = 16, .shared = 2}, kWait);  // with the neighbours
    if (take(step, 1)) return set_barrier(out);
    // An iteration, barrier, the new temperature replaces the old one, barrier.
    if (take(step, 4 * iterations_ - 2)) {
      if (step % 2 != 0) return set_barrier(out);
      auto const ring = static_cast<std::uint32_t>(step / 4 + 1);
      bool const computes = lanes(block, warp, ring) != 0;
      if (step % 4 == 0)
        return set_compute(out, {.vector = computes ? 28U : 8U, .scalar = 2, .shared = computes ? 7U : 0U});
      return set_compute(out, {.scalar = 1, .shared = computes ? 2U : 0U});
    }
    if (take(step, 1)) return cells(out, Op::store, to_, block, warp, iterations_);
    set_end(out);
  }

 private:
  // Upper left cell of a block's tile; a block at the edge begins outside the chip.
  std::int64_t top(std::uint64_t block) const { return first(block / across_); }
  std::int64_t left(std::uint64_t block) const { return first(block % across_); }
  std::int64_t first(std::uint64_t number) const {
    return static_cast<std::int64_t>(number * (kSide - 2 * iterations_)) - border_;
  }

  // The threads of the warp whose cells are on the chip and inside `rings` rings.
  std::uint64_t lanes(std::uint64_t block, std::uint32_t warp, std::uint32_t rings) const {
    std::uint64_t mask = 0;
    auto const inside = [&](std::uint32_t place, std::int64_t cell, std::int64_t cells) {
      return place >= rings && place + rings < kSide && cell >= 0 && cell < cells;
    };
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
      auto const thread = warp * warp_width_ + lane;
      auto const x = thread % kSide;
      auto const y = thread / kSide;
      if (inside(x, left(block) + x, cols_) && inside(y, top(block) + y, rows_))
        mask |= std::uint64_t{1} << lane;
    }
    return mask;
  }

  void cells(WarpInstruction& out, Op op, VirtAddr base, std::uint64_t block, std::uint32_t warp,
             std::uint32_t rings) const {
    auto const mask = lanes(block, warp, rings);
    if (mask == 0) return set_compute(out, {.scalar = 1});  // the branch around the access
    set_access(out, op, 4, mask);
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
      auto const thread = warp * warp_width_ + lane;
      auto const cell = (top(block) + thread / kSide) * cols_ + left(block) + thread % kSide;
      out.address[lane] = base + 4 * static_cast<std::uint64_t>(cell);  // outside the chip: not in the mask
    }
  }

  std::uint64_t across_;
  KernelShape shape_;
  std::uint32_t warp_width_, iterations_, border_;
  std::int64_t rows_, cols_;
  VirtAddr power_, from_, to_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  auto const bytes = 4 * spec.rows * spec.cols;
  auto const first = layout.add("temperature0", bytes);
  VirtAddr const temperature[2] = {first, layout.add_result("temperature1", bytes)};
  auto const power = layout.add("power", bytes);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t done = 0; done < spec.iterations; done += spec.pyramid_height)
    kernels.push_back(std::make_unique<Hotspot>(
        spec, context.warp_width, std::min(spec.pyramid_height, spec.iterations - done), power,
        temperature[kernels.size() % 2], temperature[1 - kernels.size() % 2]));
  return {"hotspot", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"hotspot",
          "Chip temperature, several stencil iterations per kernel (Rodinia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"rows", "256"}, {"cols", "256"}}},
           {kMedium, {}},
           {kPaper, {}, "Mosaic (MICRO 2017), published code: 512 x 512, 3 iterations"}}};
}

}  // namespace farfault::workloads::hotspot
