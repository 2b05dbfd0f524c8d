// C = A x B of single-precision matrices in row order, in tiles through shared memory: the kernel of the CUDA
// sample matrixMul. A block of 16 x 16 threads computes a tile of C, a thread an element; tile after tile of
// a row of A and a column of B is read into shared memory by one load of each thread.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads {
namespace {

constexpr std::uint32_t kTile = 16;  // threads, and elements, along its side: the sample's smaller one
constexpr std::uint64_t kElement = 4;

struct Spec {
  std::uint64_t m = 1024;
  std::uint64_t n = 1024;
  std::uint64_t k = 1024;

  void describe(ParamTable& t) {
    t.count("m", m, {kTile, 1ULL << 20}, "rows of A and C, a multiple of 16", "assumed");
    t.count("n", n, {kTile, 1ULL << 20}, "columns of B and C, a multiple of 16", "assumed");
    t.count("k", k, {kTile, 1ULL << 20}, "columns of A and rows of B, a multiple of 16", "assumed");
  }
};

class Sgemm final : public Kernel {
 public:
  Sgemm(Spec const& spec, std::uint32_t warp_width, VirtAddr a, VirtAddr b, VirtAddr c)
      : shape_{"sgemm", (spec.m / kTile) * (spec.n / kTile), kTile * kTile, 32, 2 * kTile * kTile * kElement},
        warp_width_(warp_width),
        columns_(spec.n / kTile),
        tiles_(spec.k / kTile),
        a_(a),
        b_(b),
        c_(c),
        a_pitch_(kElement * spec.k),
        b_pitch_(kElement * spec.n) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    constexpr std::uint64_t kSteps = 6;  // of a tile
    if (step-- == 0) return set_arguments(out, 5);
    // The indices of block and thread, and the first addresses in A and B.
    if (step-- == 0) return set_compute(out, {.vector = 18, .special = 4, .scalar = 8}, kWait);
    auto const row = block / columns_ * kTile;
    auto const column = block % columns_ * kTile;
    auto const tile = step / kSteps;
    if (tile >= tiles_) {
      step -= tiles_ * kSteps;
      if (step == 0) return set_compute(out, {.vector = 4, .special = 1, .scalar = 2});  // address in C
      return step == 1 ? elements(out, Op::store, c_, b_pitch_, row, column, warp) : set_end(out);
    }
    switch (step % kSteps) {
      case 0:
        return elements(out, Op::load, a_, a_pitch_, row, tile * kTile, warp);
      case 1:
        return elements(out, Op::load, b_, b_pitch_, tile * kTile, column, warp);
      case 2:  // into shared memory; the next addresses
        return set_compute(out, {.vector = 4, .shared = 2, .shared_bytes_per_lane = kElement}, kWait);
      case 3:
      case 5:
        return set_barrier(out);
      default:  // an element of each tile from shared memory for each product and sum
        return set_compute(
            out, {.vector = kTile, .scalar = 3, .shared = 2 * kTile, .shared_bytes_per_lane = kElement});
    }
  }

 private:
  // The element of each thread of the warp in the tile at (row, column).
  void elements(WarpInstruction& out, Op op, VirtAddr base, std::uint64_t pitch, std::uint64_t row,
                std::uint64_t column, std::uint32_t warp) const {
    set_access(out, op, kElement, low_lanes(warp_width_));
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
      auto const thread = warp * warp_width_ + lane;
      out.address[lane] = base + (row + thread / kTile) * pitch + (column + thread % kTile) * kElement;
    }
  }

  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t columns_, tiles_;
  VirtAddr a_, b_, c_;
  std::uint64_t a_pitch_, b_pitch_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  for (auto const side : {spec.m, spec.n, spec.k})
    if (side % kTile != 0)
      throw UserError("sgemm: side " + std::to_string(side) + " is not a multiple of the tile's 16 elements");
  BufferLayout layout(context.first_address);
  auto const a = layout.add("a", kElement * spec.m * spec.k);
  auto const b = layout.add("b", kElement * spec.k * spec.n);
  auto const c = layout.add_result("c", kElement * spec.m * spec.n);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<Sgemm>(spec, context.warp_width, a, b, c));
  return {"sgemm", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo sgemm_info() {
  return {"sgemm", "C = A x B in single precision, in tiles through shared memory (CUDA sample matrixMul)",
          &SpecBuilder<Spec, build>::make};
}

}  // namespace farfault::workloads
