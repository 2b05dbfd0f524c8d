// SPDX-License-Identifier: Apache-2.0
// Stencil of Parboil (version `cuda`): seven points in three dimensions, out of place. A block of 32 x 4
// threads has 64 x 4 columns, two per thread, and moves along z: the planes below and above are in registers,
// the current one in shared memory. The neighbours at the border of the block's part are read from global
// memory by the threads at that border. The two arrays alternate. (`stencil3d` is another program, of order
// 8.)
//
// Both arrays hold the input initially, so that the border of the volume, which is never written, is correct
// in both; the suite copies one to the other on the GPU. Counts: six additions, two products; address
// computation is assumed. Registers and the order of accesses are from nvcc 13.0 -O3 for sm_75.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::stencil_parboil {
namespace {

constexpr std::uint32_t kWide = 32, kHigh = 4;

struct Spec {
  std::uint64_t nx = 256;
  std::uint64_t ny = 256;
  std::uint64_t nz = 64;
  std::uint32_t iterations = 2;

  void describe(ParamTable& t) {
    t.count("nx", nx, {3, 1ULL << 20}, "Points along x (published: 512)",
            "assumed, smaller than published to shorten runs");
    t.count("ny", ny, {3, 1ULL << 20}, "Points along y (published: 512)",
            "assumed, smaller than published to shorten runs");
    t.count("nz", nz, {3, 1ULL << 20}, "Points along z", "Parboil, stencil, default");
    t.count("iterations", iterations, {1, 100'000}, "Iterations, one kernel each (published: 100)",
            "assumed, smaller than published to shorten runs");
  }
};

class Jacobi final : public Kernel {
 public:
  Jacobi(Spec const& spec, std::uint32_t warp_width, VirtAddr from, VirtAddr to)
      : across_(ceil_div(spec.nx, 2 * kWide)),
        shape_{"block2D_hybrid_coarsen_x", across_ * ceil_div(spec.ny, kHigh), kWide * kHigh, 36,
               std::uint64_t{2} * kWide * kHigh * 4},
        warp_width_(warp_width),
        nx_(spec.nx),
        ny_(spec.ny),
        nz_(spec.nz),
        from_(from),
        to_(to) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    Place const p{block, warp, &out};
    if (take(step, 1)) return set_arguments(out, 4);
    // Positions in the volume and in shared memory, twice; four products; six conditions.
    if (take(step, 1))
      return set_compute(out, {.vector = 30, .special = 4, .scalar = 10, .shared = 2}, kWait);
    if (take(step, 1)) return set_barrier(out);
    for (std::uint32_t half = 0; half < 2; ++half) {
      if (take(step, 1)) return access(p, Op::load, from_, half, 0, {}, Where::inside);
      if (take(step, 1)) return access(p, Op::load, from_, half, 1, {}, Where::inside);
      if (take(step, 1)) return set_compute(out, {.vector = 4, .shared = 1}, kWait);
    }
    if (take(step, 1)) return set_barrier(out);
    if (step >= (nz_ - 2) * kStepsOfPlane) return set_end(out);
    auto const k = step / kStepsOfPlane + 1;
    step %= kStepsOfPlane;
    for (std::uint32_t half = 0; half < 2; ++half) {
      if (take(step, 1)) return access(p, Op::load, from_, half, k + 1, {}, Where::inside);
      if (take(step, 1)) return access(p, Op::load, from_, half, k, {0, 1}, Where::last_row);
      if (take(step, 1)) return access(p, Op::load, from_, half, k, {0, -1}, Where::first_row);
      if (take(step, 1))
        return access(p, Op::load, from_, half, k, {half == 0 ? -1 : 1, 0}, Where::outer_column);
      if (take(step, 1)) return set_compute(out, {.vector = 8 + 12, .scalar = 4, .shared = 5}, kWait);
      if (take(step, 1)) return access(p, Op::store, to_, half, k, {}, Where::core);
    }
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 1)) return set_compute(out, {.vector = 4, .scalar = 2, .shared = 4});
    set_barrier(out);
  }

 private:
  static constexpr std::uint64_t kStepsOfPlane = 2 * 6 + 3;

  // The active threads: inside the volume; not on its border; or, in addition, at one side of the block's
  // part.
  enum class Where { inside, core, last_row, first_row, outer_column };

  struct Place {
    std::uint64_t block;
    std::uint32_t warp;
    WarpInstruction* out;
  };
  struct Offset {
    std::int64_t x = 0, y = 0;
  };

  void access(Place const& p, Op op, VirtAddr base, std::uint32_t half, std::uint64_t k, Offset offset,
              Where where) const {
    std::uint64_t mask = 0;
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
      auto const thread = p.warp * warp_width_ + lane;
      auto const tx = thread % kWide, ty = thread / kWide;
      auto const x = p.block % across_ * 2 * kWide + half * kWide + tx, y = p.block / across_ * kHigh + ty;
      bool taking = x < nx_ && y < ny_;
      if (where != Where::inside) taking = x > 0 && y > 0 && x + 1 < nx_ && y + 1 < ny_;
      if (where == Where::last_row) taking = taking && ty + 1 == kHigh;
      if (where == Where::first_row) taking = taking && ty == 0;
      if (where == Where::outer_column) taking = taking && tx == (half == 0 ? 0 : kWide - 1);
      if (!taking) continue;
      mask |= std::uint64_t{1} << lane;
      p.out->address[lane] = base + 4 * (x + static_cast<std::uint64_t>(offset.x) +
                                         nx_ * (y + static_cast<std::uint64_t>(offset.y) + ny_ * k));
    }
    if (mask == 0) return set_compute(*p.out, {.scalar = 1});  // the branch around the access
    set_access(*p.out, op, 4, mask);
  }

  std::uint64_t across_;
  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t nx_, ny_, nz_;
  VirtAddr from_, to_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  auto const bytes = 4 * spec.nx * spec.ny * spec.nz;
  auto const first = layout.add("volume0", bytes);
  VirtAddr const volume[2] = {first, layout.add("volume1", bytes)};
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t i = 0; i < spec.iterations; ++i)
    kernels.push_back(std::make_unique<Jacobi>(spec, context.warp_width, volume[i % 2], volume[1 - i % 2]));
  return {"stencil_parboil", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"stencil_parboil",
          "Seven-point 3D stencil, two columns per thread (Parboil)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"nx", "64"}, {"ny", "64"}}},
           {kMedium, {}},
           {kPaper,
            {{"nx", "512"}, {"ny", "512"}, {"iterations", "100"}},
            "Parboil, stencil, as in TLB compression (PACT 2020): 512 x 512 x 64, 100 iterations"}}};
}

}  // namespace farfault::workloads::stencil_parboil
