// SPDX-License-Identifier: Apache-2.0
// One Jacobi step of Laplace's equation on a three-dimensional grid (LPS of the ISPASS-2009 benchmarks of
// GPGPU-Sim, laplace3d by Giles). A block of 32x4 threads processes a column of the grid and moves along k;
// three planes of its tile with a halo of one node are in shared memory. For each plane a thread moves its
// node's two values down and reads the next one. The first 76 threads do the same for a node of the halo: 64
// for the rows above and below, 12 for the columns left and right with the corners. Between two barriers each
// thread writes the mean of six neighbours, or at the border the value that it read.
//
// Counts: a moved value is a read and a write of shared memory; an index is a 24-bit product and a sum, which
// is one instruction. At the border a thread reads one value instead of six; this is counted only in the
// first and the last plane, where it applies to whole warps. The order of accesses and the registers are from
// nvcc 13.0 -O3 for sm_75; the loop along k is not unrolled here.
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::laplace3d {
namespace {

constexpr std::uint32_t kX = 32, kY = 4;  // threads, and nodes of a tile
constexpr std::uint32_t kThreads = kX * kY;
constexpr std::uint32_t kHalo = 2 * (kX + kY + 2);

struct Spec {
  std::uint64_t nx = 100;
  std::uint64_t ny = 100;
  std::uint64_t nz = 100;
  std::uint32_t repeat = 1;
  ByteSize row_alignment{512};

  void describe(ParamTable& t) {
    constexpr auto source = "ISPASS-2009 benchmarks, LPS";
    t.count("nx", nx, {1, 1ULL << 20}, "Nodes per row", source);
    t.count("ny", ny, {1, 1ULL << 20}, "Rows per plane", source);
    t.count("nz", nz, {2, 1ULL << 20}, "Planes", source);
    t.count("repeat", repeat, {1, 10'000}, "Steps, each a kernel that reads one array and writes the other",
            source);
    t.bytes("row_alignment", row_alignment, {ByteSize{4}, ByteSize{4096}},
            "Row alignment by padding, a power of two (GPGPU-Sim's cudaMallocPitch: none, 4 B)",
            "cudaMallocPitch on NVIDIA GPUs: 512 B; assumed");
  }
};

class Laplace final : public Kernel {
 public:
  Laplace(Spec const& spec, std::uint32_t warp_width, VirtAddr from, VirtAddr to)
      : shape_{"laplace3d", ceil_div(spec.nx, kX) * ceil_div(spec.ny, kY), kThreads, 18,
               std::uint64_t{4} * 3 * (kX + 2) * (kY + 2)},
        warp_width_(warp_width),
        nx_(spec.nx),
        ny_(spec.ny),
        nz_(spec.nz),
        blocks_x_(ceil_div(spec.nx, kX)),
        pitch_(ceil_div(4 * spec.nx, spec.row_alignment.bytes) * spec.row_alignment.bytes),
        from_(from),
        to_(to) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step == 0) return set_arguments(out, 6);
    if (step == 1)  // halo node, its address and bounds check; the same for the thread's own node
      return set_compute(out, {.vector = 34, .scalar = 8}, kWait);
    auto body = step - 2;
    Tile const tile{block % blocks_x_ * kX, block / blocks_x_ * kY};
    bool const nodes = has_nodes(warp, tile);
    bool const rim = has_halo(warp, tile);
    // The first plane: read and stored in shared memory.
    for (bool const halo : {false, true}) {
      if (!(halo ? rim : nodes)) continue;
      if (body == 0) return access(out, Op::load, from_, warp, tile, halo, 0);
      if (body == 1) return set_compute(out, {.scalar = 1, .shared = 1}, kWait);
      body -= 2;
    }
    std::uint64_t const walks = (nodes ? 3U : 0U) + (rim ? 3U : 0U);
    std::uint64_t const steps = walks + 2 + (nodes ? 2 : 0);
    auto const k = std::min(body / steps, nz_ - 1);
    body -= k * steps;
    for (bool const halo : {false, true}) {
      if (!(halo ? rim : nodes)) continue;
      if (body == 0)  // moves, addresses, compares
        return set_compute(out, {.vector = 5, .scalar = 3, .shared = 4});
      body -= 1;
      if (k + 1 == nz_) continue;  // no further plane to read
      if (body == 0) return access(out, Op::load, from_, warp, tile, halo, k + 1);
      if (body == 1) return set_compute(out, {.shared = 1}, kWait);
      body -= 2;
    }
    if (body-- == 0) return set_barrier(out);
    if (nodes) {
      if (body == 0) {  // six compares; the sum and its product, address
        bool const border = k == 0 || k + 1 == nz_;
        return set_compute(out, {.vector = border ? 8U : 15U, .scalar = 7, .shared = border ? 1U : 6U});
      }
      if (body == 1) return access(out, Op::store, to_, warp, tile, false, k);
      body -= 2;
    }
    return body == 0 ? set_barrier(out) : set_end(out);
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  struct Tile {
    std::uint64_t left, top;
  };

  // Offset in a plane of a thread's own node, or of its halo node. kNone: not in the grid.
  std::uint64_t place(std::uint32_t thread, Tile tile, bool halo) const {
    // The position in the tile plus one, so that the halo above and to the left is 0.
    std::uint64_t x = thread % kX + 1, y = thread / kX + 1;
    if (halo) {
      if (thread >= kHalo) return kNone;
      if (thread < 2 * kX) {
        y = thread / kX * (kY + 1);
      } else {
        x = thread % 2 * (kX + 1);
        y = thread / 2 - kX;
      }
    }
    x += tile.left;
    y += tile.top;
    if (x < 1 || x > nx_ || y < 1 || y > ny_) return kNone;
    return (y - 1) * pitch_ + 4 * (x - 1);
  }

  bool has_nodes(std::uint32_t warp, Tile tile) const { return tile.top + warp * warp_width_ / kX < ny_; }

  bool has_halo(std::uint32_t warp, Tile tile) const {
    auto const first = warp * warp_width_, last = first + warp_width_;
    if (first < kX && tile.top > 0) return true;
    if (first < 2 * kX && last > kX && tile.top + kY < ny_) return true;
    return first < kHalo && last > 2 * kX && (tile.left > 0 || tile.left + kX < nx_);
  }

  void access(WarpInstruction& out, Op op, VirtAddr array, std::uint32_t warp, Tile tile, bool halo,
              std::uint64_t k) const {
    std::uint64_t lanes = 0;
    auto const plane = array + k * ny_ * pitch_;
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
      auto const at = place(warp * warp_width_ + lane, tile, halo);
      if (at == kNone) continue;
      lanes |= std::uint64_t{1} << lane;
      out.address[lane] = plane + at;
    }
    set_access(out, op, 4, lanes);
  }

  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t nx_, ny_, nz_, blocks_x_, pitch_;
  VirtAddr from_, to_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto const alignment = spec.row_alignment.bytes;
  if (!std::has_single_bit(alignment))
    throw ParameterError("row_alignment", spec.row_alignment, "must be a power of two");
  BufferLayout layout(context.buffers);
  auto const bytes = ceil_div(4 * spec.nx, alignment) * alignment * spec.ny * spec.nz;
  VirtAddr const u[2] = {layout.add("u1", bytes), layout.add_result("u2", bytes)};
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t i = 0; i < spec.repeat; ++i)
    kernels.push_back(std::make_unique<Laplace>(spec, context.warp_width, u[i % 2], u[1 - i % 2]));
  return {"laplace3d", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"laplace3d",
          "Jacobi iterations of the 3D Laplace equation (LPS of ISPASS-2009)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"nx", "50"}, {"ny", "50"}, {"nz", "50"}}},
           {kMedium, {}},
           {kPaper, {}, "ISPASS-2009 benchmarks, LPS, as in Mosaic (MICRO 2017): 100^3"}}};
}

}  // namespace farfault::workloads::laplace3d
