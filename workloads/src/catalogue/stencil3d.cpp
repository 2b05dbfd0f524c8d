// SPDX-License-Identifier: Apache-2.0
// Three-dimensional stencil of order 8, the application 3DS of the MAFIA tree that Mosaic and MASK run. It is
// the kernel of Micikevicius' finite differences on GPUs (neither Parboil's stencil nor the CUDA sample
// FDTD3d), with the tree's own change: a halo of 8 is read, 4 of it used.
//
// A block of 32x8 threads processes a column of the grid along z. A thread keeps nine values of its column,
// which move by one per plane, and reads the value four planes ahead. Between two barriers the plane's tile
// and its halo are written to shared memory: every thread reads the element 8 rows above and one 8 rows
// below, and threads of the first 8 columns also one to the left and one to the right. Blocks at a border
// continue reading in the array, in the row before or after. The five coefficients are read again for each
// plane, because the compiler cannot exclude that the output array aliases them. Planes 4 to z - 13 are
// written.
//
// Counts: a 64-bit sum per address; a coefficient multiplies the sum of six values, four of them in shared
// memory. The compiler (nvcc 13.0 -O3 for sm_75, also the source of the registers) unrolls the loop along z,
// so that moving values costs nothing.
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::stencil3d {
namespace {

constexpr std::uint32_t kX = 32, kY = 8;  // threads, and elements of a tile
constexpr std::uint32_t kHalo = 8;        // halo that is read
constexpr std::uint32_t kReach = 4;       // halo that is used
constexpr std::uint32_t kCoefficients = 10;

struct Spec {
  std::uint64_t x = 256;
  std::uint64_t y = 128;
  std::uint64_t z = 128;
  std::uint32_t repeat = 1;

  void describe(ParamTable& t) {
    constexpr auto source = "MAFIA, 3DS";
    t.count("x", x, {kX, 1ULL << 20}, "Elements per row, a multiple of 32", source);
    t.count("y", y, {kY, 1ULL << 20}, "Rows per plane, a multiple of 8", source);
    t.count("z", z, {2 * kHalo + 1, 1ULL << 20}, "Planes", source);
    t.count("repeat", repeat, {1, 10'000}, "Kernels; each reads one array and writes the other", source);
  }
};

class Stencil3d final : public Kernel {
 public:
  Stencil3d(Spec const& spec, std::uint32_t warp_width, VirtAddr from, VirtAddr to, VirtAddr coefficients)
      : shape_{"stencil_order8", (spec.x / kX) * (spec.y / kY), kX * kY, 45,
               std::uint64_t{4} * (kX + 2 * kHalo) * (kY + 2 * kHalo)},
        warp_width_(warp_width),
        blocks_x_(spec.x / kX),
        pitch_(4 * spec.x),
        plane_(4 * spec.x * spec.y),
        walked_(spec.z - 2 * kHalo),
        from_(from),
        to_(to),
        coefficients_(coefficients) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step == 0) return set_arguments(out, 6);
    if (step == 1)  // position in the grid and the tile, the first address (a product each)
      return set_compute(out, {.vector = 12, .special = 3, .scalar = 4}, kWait);
    auto const first = block / blocks_x_ * kY * pitch_ + block % blocks_x_ * kX * 4 +
                       std::uint64_t{warp} * warp_width_ / kX * pitch_;
    auto body = step - 2;
    // The column from plane 0 on, each value with its address.
    if (body < std::uint64_t{4} * kReach) {
      if (body % 2 == 0) return set_compute(out, {.vector = 2});
      return tile(out, Op::load, from_ + first + body / 2 * plane_);
    }
    body -= std::uint64_t{4} * kReach;
    if (body >= walked_ * kStepsOfPlane) return set_end(out);
    auto const ahead = first + (2 * kReach + body / kStepsOfPlane) * plane_;
    auto const here = ahead - kReach * plane_;
    switch (auto const in_plane = body % kStepsOfPlane) {
      case 0:
        return tile(out, Op::load, from_ + ahead);
      case 1:  // two addresses of the next plane, the loop's end
        return set_compute(out, {.vector = 4, .scalar = 2});
      case 2:
      case 9:
        return set_barrier(out);
      case 3:
        return tile(out, Op::load, from_ + here - kHalo * pitch_);
      case 4:
        return tile(out, Op::load, from_ + here + kY * pitch_);
      case 5:  // with the following two addresses, and the test of the column
        return set_compute(out, {.vector = 5, .scalar = 1, .shared = 2}, kWait);
      case 6:
        return side(out, from_ + here - kHalo * 4);
      case 7:
        return side(out, from_ + here + kX * 4);
      case 8:  // the halo and the thread's own element; the following address
        return set_compute(out, {.vector = 2, .shared = 3}, kWait);
      case kStepsOfPlane - 2:  // the products and sums
        return set_compute(out, {.vector = 1 + kReach * 6, .shared = 4 * kReach}, kWait);
      case kStepsOfPlane - 1:
        return tile(out, Op::store, to_ + here);
      default:
        return set_uniform(out, Op::load, 4, coefficients_ + 4 * (in_plane - 10));
    }
  }

 private:
  static constexpr std::uint64_t kStepsOfPlane = 10 + (kReach + 1) + 2;

  void tile(WarpInstruction& out, Op op, VirtAddr at) const {
    set_access(out, op, 4, low_lanes(warp_width_));
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane)
      out.address[lane] = at + lane / kX * pitch_ + std::uint64_t{4} * (lane % kX);
  }

  void side(WarpInstruction& out, VirtAddr at) const {
    tile(out, Op::load, at);
    auto const of_row = low_lanes(kHalo);
    out.lanes = warp_width_ == kX ? of_row : of_row | of_row << kX;
  }

  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t blocks_x_, pitch_, plane_, walked_;
  VirtAddr from_, to_, coefficients_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.x % kX != 0) throw ParameterError("x", spec.x, "must be a multiple of 32");
  if (spec.y % kY != 0) throw ParameterError("y", spec.y, "must be a multiple of 8");
  BufferLayout layout(context.buffers);
  auto const bytes = 4 * spec.x * spec.y * spec.z;
  auto const from = layout.add("input", bytes);
  auto const to = layout.add("output", bytes);  // the program also copies the input there
  auto const coefficients = layout.add("coefficients", 4 * kCoefficients);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t i = 0; i < spec.repeat; ++i)
    kernels.push_back(std::make_unique<Stencil3d>(spec, context.warp_width, from, to, coefficients));
  return {"stencil3d", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"stencil3d",
          "Eighth-order 3D stencil with shared-memory tiles (3DS of MAFIA)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"x", "64"}, {"y", "64"}, {"z", "64"}}},
           {kMedium, {}},
           {kPaper, {}, "MAFIA, 3DS, as in Mosaic (MICRO 2017): 256 x 128 x 128"}}};
}

}  // namespace farfault::workloads::stencil3d
