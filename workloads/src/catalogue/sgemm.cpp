// SPDX-License-Identifier: Apache-2.0
// C = A x B in single precision, row-major, as in the CUDA sample matrixMul: a block of tile x tile threads
// computes a tile of C, one element per thread. It processes a row of tiles of A and a column of tiles of B;
// of each pair every thread reads one element into shared memory, and between two barriers all threads
// multiply the pair.
//
// Counts: a step of the inner loop reads both factors from shared memory and adds their product; the loop is
// unrolled, as the sample requests. Index and addresses are assumed: no compiled kernel was read.
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::sgemm {
namespace {

enum class Tile : std::uint32_t { small = 16, large = 32 };

struct Spec {
  std::uint64_t m = 512;
  std::uint64_t n = 512;
  std::uint64_t k = 512;
  Tile tile = Tile::large;

  void describe(ParamTable& t) {
    t.count("m", m, {16, 1ULL << 20}, "Rows of A and C, a multiple of `tile`", "assumed");
    t.count("n", n, {16, 1ULL << 20}, "Columns of B and C, a multiple of `tile`", "assumed");
    t.count("k", k, {16, 1ULL << 20}, "Columns of A and rows of B, a multiple of `tile`", "assumed");
    t.choice("tile", tile,
             {{"16", Tile::small, "256 threads per block"}, {"32", Tile::large, "1,024 threads per block"}},
             "Elements along each side of a tile, and threads along each side of a block",
             "CUDA samples, matrixMul: 32");
  }
};

class Sgemm final : public Kernel {
 public:
  Sgemm(Spec const& spec, std::uint32_t warp_width, VirtAddr a, VirtAddr b, VirtAddr c)
      : side_(static_cast<std::uint32_t>(spec.tile)),
        shape_{"sgemm", (spec.m / side_) * (spec.n / side_), side_ * side_, 32,
               std::uint64_t{2} * side_ * side_ * 4},
        warp_width_(warp_width),
        tiles_x_(spec.n / side_),
        tiles_k_(spec.k / side_),
        a_(a),
        b_(b),
        c_(c),
        a_pitch_(4 * spec.k),
        b_pitch_(4 * spec.n) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (warp * warp_width_ >= shape_.threads_per_block) return set_end(out);
    auto const x = block % tiles_x_;
    auto const y = block / tiles_x_;
    switch (step) {
      case 0:
        return set_arguments(out, 5);  // three addresses, two widths
      case 1:                          // addresses of both first tiles (a product each), thread indices
        return set_compute(out, {.vector = 12, .special = 3, .scalar = 6}, kWait);
      default:
        break;
    }
    auto const pair = (step - 2) / kStepsOfPair;
    if (pair == tiles_k_) {
      switch (step - 2 - pair * kStepsOfPair) {
        case 0:  // address of the thread's element of C
          return set_compute(out, {.vector = 5, .special = 1, .scalar = 2});
        case 1:
          return elements(out, Op::store, c_ + y * side_ * b_pitch_ + x * side_ * 4, b_pitch_, warp);
        default:
          return set_end(out);
      }
    }
    if (pair > tiles_k_) return set_end(out);
    switch ((step - 2) % kStepsOfPair) {
      case 0:
        return elements(out, Op::load, a_ + y * side_ * a_pitch_ + pair * side_ * 4, a_pitch_, warp);
      case 1:
        return elements(out, Op::load, b_ + pair * side_ * b_pitch_ + x * side_ * 4, b_pitch_, warp);
      case 2:
        return set_compute(out, {.shared = 2}, kWait);  // both are written to shared memory
      case 3:
      case 5:
        return set_barrier(out);
      default:  // the products, the addresses of the next pair, the loop's end
        return set_compute(out, {.vector = side_ + 4, .scalar = 2, .shared = 2 * side_});
    }
  }

 private:
  static constexpr std::uint64_t kStepsOfPair = 6;

  // The warp's elements of the tile at `tile`, whose rows are `pitch` bytes apart.
  void elements(WarpInstruction& out, Op op, VirtAddr tile, std::uint64_t pitch, std::uint32_t warp) const {
    auto const first = warp * warp_width_;
    set_access(out, op, 4, low_lanes(warp_width_));
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane)
      out.address[lane] = tile + (first + lane) / side_ * pitch + std::uint64_t{4} * ((first + lane) % side_);
  }

  std::uint32_t side_;
  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t tiles_x_, tiles_k_;
  VirtAddr a_, b_, c_;
  std::uint64_t a_pitch_, b_pitch_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto const side = static_cast<std::uint64_t>(spec.tile);
  for (auto const& [name, value] : {std::pair{"m", spec.m}, {"n", spec.n}, {"k", spec.k}})
    if (value % side != 0)
      throw ParameterError(name, value, "must be a multiple of tile, " + std::to_string(side));
  BufferLayout layout(context.buffers);
  auto const a = layout.add("a", 4 * spec.m * spec.k);
  auto const b = layout.add("b", 4 * spec.k * spec.n);
  auto const c = layout.add_result("c", 4 * spec.m * spec.n);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<Sgemm>(spec, context.warp_width, a, b, c));
  return {"sgemm", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"sgemm",
          "C = A x B in single precision with shared-memory tiles (CUDA sample)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"m", "256"}, {"n", "256"}, {"k", "256"}}},
           {kMedium, {}},
           {kPaper,
            {{"m", "2368"}, {"n", "2368"}, {"k", "2368"}},
            "assumed: the average footprint of GMMU Bypass (NPC 2020), 64 MB; the CUDA sample multiplies 320 "
            "x 320 by 320 x 640"}}};
}

}  // namespace farfault::workloads::sgemm
