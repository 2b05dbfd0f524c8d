// SPDX-License-Identifier: Apache-2.0
// Matrix transpose of the AMD APP SDK: every thread holds a 4x4 patch of floats, a block of 16x16 threads
// covers a tile of 64x64. Rows of the input are read into shared memory, and after a barrier rows of the
// output are written from it. Tiles are visited along diagonals, as in the SDK's kernel, to spread the
// accesses.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::transpose {
namespace {

constexpr std::uint32_t kSide = 16;         // threads along a block's side
constexpr std::uint32_t kTile = 4 * kSide;  // floats along a tile's side
constexpr std::uint32_t kVector = 4 * 4;    // bytes of the four floats of one access

struct Spec {
  std::uint64_t width = 4096;
  std::uint64_t height = 2048;

  void describe(ParamTable& t) {
    t.count("width", width, {kTile, 1ULL << 20}, "Input columns, a multiple of 64",
            "GMMU Bypass (NPC 2020), Table 2 (64 MiB in total); shape assumed");
    t.count("height", height, {kTile, 1ULL << 20}, "Input rows, a multiple of 64",
            "GMMU Bypass (NPC 2020), Table 2 (64 MiB in total); shape assumed");
  }
};

class Transpose final : public Kernel {
 public:
  Transpose(Spec const& spec, std::uint32_t warp_width, VirtAddr in, VirtAddr out)
      : shape_{"matrix_transpose", (spec.width / kTile) * (spec.height / kTile), kSide * kSide, 32,
               std::uint64_t{kTile} * kTile * 4},
        warp_width_(warp_width),
        tiles_x_(spec.width / kTile),
        tiles_y_(spec.height / kTile),
        in_(in),
        out_(out),
        in_pitch_(4 * spec.width),
        out_pitch_(4 * spec.height) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    // The grid's x counts tile rows, so that the diagonal order also covers matrices that are not square.
    auto const tile_y = block % tiles_y_;
    auto const tile_x = (tile_y + block / tiles_y_) % tiles_x_;
    if (step-- == 0) return set_arguments(out, 4);
    switch (step) {
      case 0:  // tile (including a modulo), thread indices, four addresses
        return set_compute(out, {.vector = 62, .special = 9, .scalar = 8}, kWait);
      case 1:
      case 2:
      case 3:
      case 4:
        return rows(out, Op::load, in_, in_pitch_, tile_x, tile_y, warp, step - 1);
      case 5:
        return set_compute(out, {.shared = 4, .shared_bytes_per_lane = kVector}, kWait);  // writes
      case 6:
        return set_barrier(out);
      case 7:
        return set_compute(
            out, {.vector = 34, .shared = 4, .shared_bytes_per_lane = kVector});  // reads, addresses
      case 8:
      case 9:
      case 10:
      case 11:
        return rows(out, Op::store, out_, out_pitch_, tile_y, tile_x, warp, step - 8);
      default:
        return set_end(out);
    }
  }

 private:
  // Row `k` of every thread's patch in tile (tx, ty): sixteen lanes cover 256 consecutive bytes.
  void rows(WarpInstruction& out, Op op, VirtAddr base, std::uint64_t pitch, std::uint64_t tx,
            std::uint64_t ty, std::uint32_t warp, std::uint64_t k) const {
    set_access(out, op, kVector, low_lanes(warp_width_));
    auto const first_row = warp * warp_width_ / kSide;
    auto address = base + (ty * kTile + std::uint64_t{4} * first_row + k) * pitch + tx * kTile * 4;
    for (std::uint32_t lane = 0; lane < warp_width_; lane += kSide, address += 4 * pitch)
      for (std::uint32_t x = 0; x < kSide; ++x) out.address[lane + x] = address + x * kVector;
  }

  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t tiles_x_, tiles_y_;
  VirtAddr in_, out_;
  std::uint64_t in_pitch_, out_pitch_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  for (auto const& [name, side] : {std::pair{"width", spec.width}, {"height", spec.height}})
    if (side % kTile != 0) throw ParameterError(name, side, "must be a multiple of 64");
  BufferLayout layout(context.buffers);
  auto const in = layout.add("input", 4 * spec.width * spec.height);
  auto const out = layout.add_result("output", 4 * spec.width * spec.height);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<Transpose>(spec, context.warp_width, in, out));
  return {"transpose", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"transpose",
          "Matrix transpose through a shared-memory tile (AMD APP SDK)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"width", "1024"}, {"height", "512"}}},
           {kMedium, {{"width", "2048"}, {"height", "1024"}}},
           {kPaper, {}, "GMMU Bypass (NPC 2020), Table 2: 64 MB"}}};
}

}  // namespace farfault::workloads::transpose
