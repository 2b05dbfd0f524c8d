// SPDX-License-Identifier: Apache-2.0
// Needleman-Wunsch of Rodinia: the global alignment of two sequences of equal length by dynamic programming
// over a matrix with an additional row and column. Each anti-diagonal of 16 x 16 tiles is a kernel with one
// block of 16 threads per tile: first anti-diagonals of growing length, then of shrinking length. A block
// reads the scores of its tile, then the cells to the north-west, west and north of it. It processes the tile
// along anti-diagonals in shared memory, with a barrier after each, and writes it.
//
// The gap penalty changes only values, so it is not a parameter. The traceback is done by the host. Counts: a
// cell reads three neighbours and a score from shared memory, adds or subtracts, takes the maximum (two
// compares, two selects) and writes; its address takes four, the loop two. Address computation is assumed.
// Registers per thread are from nvcc 13.0 -O3 for sm_75.
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::nw {
namespace {

constexpr std::uint32_t kTile = 16;

struct Spec {
  std::uint64_t length = 2048;

  void describe(ParamTable& t) {
    t.count("length", length, {kTile, 1ULL << 16}, "Elements per sequence, a multiple of 16",
            "Rodinia, nw: 2,048; Mosaic, published code: the same");
  }
};

struct Matrices {
  VirtAddr reference, cells;
  std::uint64_t tiles;  // tiles along a side

  std::uint64_t pitch() const { return 4 * (kTile * tiles + 1); }
};

class AntiDiagonal final : public Kernel {
 public:
  // The tiles whose row and column numbers add up to `number`.
  AntiDiagonal(Matrices matrices, std::uint64_t number)
      : grows_(number < matrices.tiles),
        shape_{.name = grows_ ? "needle_cuda_shared_1" : "needle_cuda_shared_2",
               .blocks = grows_ ? number + 1 : 2 * matrices.tiles - 1 - number,
               .threads_per_block = kTile,
               .registers_per_thread = 54,
               .shared_bytes_per_block = 4 * ((kTile + 1) * (kTile + 1) + std::uint64_t{kTile} * kTile)},
        matrices_(matrices),
        number_(number) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const tile_x = grows_ ? block : block + number_ + 1 - matrices_.tiles;
    auto const tile_y = number_ - tile_x;
    auto const pitch = matrices_.pitch();
    auto const corner = tile_y * kTile * pitch + tile_x * kTile * 4;
    auto const cells = matrices_.cells + corner;
    if (take(step, 1)) return set_arguments(out, 4);
    // The tile's number, four addresses with a product each.
    if (take(step, 1)) return set_compute(out, {.vector = 16, .special = 5, .scalar = 4}, kWait);
    // The first kernel reads the corner before the scores, the second after them.
    if (grows_ && take(step, 1)) return set_uniform(out, Op::load, 4, cells);
    if (take(step, kTile)) return row(out, Op::load, matrices_.reference + corner + (step + 1) * pitch + 4);
    if (take(step, 1)) return set_compute(out, {.shared = grows_ ? kTile + 1 : kTile}, kWait);
    if (take(step, 1)) return set_barrier(out);
    if (!grows_ && take(step, 1)) return set_uniform(out, Op::load, 4, cells);
    if (take(step, 1)) return set_linear(out, Op::load, 4, cells + pitch, pitch, kTile);
    if (take(step, 1)) return set_compute(out, {.shared = grows_ ? 1U : 2U}, kWait);
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 1)) return row(out, Op::load, cells + 4);
    if (take(step, 1)) return set_compute(out, {.shared = 1}, kWait);
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 2 * (2 * kTile - 1))) {
      if (step % 2 != 0) return set_barrier(out);
      return set_compute(out, {.vector = 11, .scalar = 2, .shared = 5});
    }
    if (take(step, 1)) return set_compute(out, {.vector = kTile, .shared = kTile});
    if (take(step, kTile)) return row(out, Op::store, cells + (step + 1) * pitch + 4);
    set_end(out);
  }

 private:
  static void row(WarpInstruction& out, Op op, VirtAddr first) { set_linear(out, op, 4, first, 4, kTile); }

  bool grows_;
  KernelShape shape_;
  Matrices matrices_;
  std::uint64_t number_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.length % kTile != 0) throw ParameterError("length", spec.length, "must be a multiple of 16");
  BufferLayout layout(context.buffers);
  auto const bytes = 4 * (spec.length + 1) * (spec.length + 1);
  auto const reference = layout.add("reference", bytes);
  Matrices const matrices{reference, layout.add("cells", bytes), spec.length / kTile};
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint64_t number = 0; number + 1 < 2 * matrices.tiles; ++number)
    kernels.push_back(std::make_unique<AntiDiagonal>(matrices, number));
  return {"nw", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"nw",
          "Needleman-Wunsch alignment, one kernel per anti-diagonal of tiles (Rodinia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"length", "512"}}},
           {kMedium, {}},
           {kPaper, {}, "Mosaic (MICRO 2017), published code: 2,048"}}};
}

}  // namespace farfault::workloads::nw
