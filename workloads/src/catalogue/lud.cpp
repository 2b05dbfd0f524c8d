// SPDX-License-Identifier: Apache-2.0
// LU decomposition of Rodinia, without pivoting and in place, by tiles of 16 x 16 along the diagonal. Three
// kernels per tile: `diagonal`, one block of 16 threads, factorizes the tile in shared memory. `perimeter`, a
// block of 32 threads per tile to the right, solves for that tile (first half) and for the tile at the same
// distance below (second half). `internal`, a block of 16 x 16 threads per remaining tile, subtracts the
// product of the two. The last tile has `diagonal` only.
//
// Counts: a step of the inner loops reads both factors from shared memory, multiplies and subtracts, advances
// an address and ends the loop; `internal` unrolls its loop. Address computation is assumed. Registers per
// thread are from nvcc 13.0 -O3 for sm_75.
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::lud {
namespace {

constexpr std::uint32_t kTile = 16;
constexpr std::uint64_t kTileBytes = std::uint64_t{kTile} * kTile * 4;

struct Spec {
  std::uint64_t side = 256;

  void describe(ParamTable& t) {
    t.count("side", side, {kTile, 1ULL << 15}, "Matrix rows and columns, a multiple of 16",
            "Rodinia, lud: 256; Mosaic, published code: the same");
  }
};

// `count` multiply-subtracts on an element in shared memory, then `divisions` by a pivot in shared memory.
constexpr Work products(std::uint32_t count, std::uint32_t divisions) {
  return {.vector = 2 * count + 9 * divisions,
          .special = divisions,
          .scalar = 2 * count + 2,
          .shared = 2 * count + 2 + divisions};
}

// One matrix, seen from the diagonal tile at (offset, offset).
struct Matrix {
  VirtAddr base;
  std::uint64_t pitch;  // bytes
  std::uint64_t offset;

  VirtAddr at(std::uint64_t row, std::uint64_t column) const {
    return base + (offset + row) * pitch + 4 * (offset + column);
  }
};

// Sixteen lanes from `lane` on access a row of a tile.
void set_row(WarpInstruction& out, Op op, VirtAddr first, std::uint32_t lane = 0) {
  set_access(out, op, 4, low_lanes(kTile) << lane);
  for (std::uint32_t x = 0; x < kTile; ++x) out.address[lane + x] = first + std::uint64_t{4} * x;
}

class Diagonal final : public Kernel {
 public:
  explicit Diagonal(Matrix matrix) : shape_{"lud_diagonal", 1, kTile, 46, kTileBytes}, matrix_(matrix) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t, std::uint32_t, std::uint64_t step, WarpInstruction& out) const override {
    if (take(step, 1)) return set_arguments(out, 3);
    // The tile's address, by two products.
    if (take(step, 1)) return set_compute(out, {.vector = 6, .special = 2, .scalar = 3}, kWait);
    if (take(step, kTile)) return set_row(out, Op::load, matrix_.at(step, 0));
    if (take(step, 1)) return set_compute(out, {.shared = kTile}, kWait);
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 4 * (kTile - 1))) {
      // Column i below the pivot, then row i + 1 to the right of it.
      auto const i = static_cast<std::uint32_t>(step / 4);
      if (step % 2 != 0) return set_barrier(out);
      return set_compute(out, step % 4 == 0 ? products(i, 1) : products(i + 1, 0));
    }
    if (take(step, 1)) return set_compute(out, {.vector = 4, .shared = kTile - 1});
    // The first row is unchanged.
    if (take(step, kTile - 1)) return set_row(out, Op::store, matrix_.at(step + 1, 0));
    set_end(out);
  }

 private:
  KernelShape shape_;
  Matrix matrix_;
};

class Perimeter final : public Kernel {
 public:
  Perimeter(Matrix matrix, std::uint64_t blocks)
      : shape_{"lud_perimeter", blocks, 2 * kTile, 64, 3 * kTileBytes}, matrix_(matrix) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t, std::uint64_t step,
                   WarpInstruction& out) const override {
    constexpr std::uint32_t kHalf = kTile / 2;
    constexpr std::uint32_t kProducts = kTile * (kTile - 1) / 2;
    auto const away = (block + 1) * kTile;
    if (take(step, 1)) return set_arguments(out, 3);
    // Selection of the half; the addresses of its two tiles.
    if (take(step, 1)) return set_compute(out, {.vector = 10, .special = 2, .scalar = 5}, kWait);
    // Each half reads half of the diagonal tile, and its own tile.
    if (take(step, kHalf)) return set_row(out, Op::load, matrix_.at(step, 0));
    if (take(step, kTile)) return set_row(out, Op::load, matrix_.at(step, away));
    if (take(step, 1))
      return set_compute(out, {.vector = 8, .special = 2, .scalar = 2, .shared = kHalf + kTile}, kWait);
    if (take(step, kHalf)) return set_row(out, Op::load, matrix_.at(kHalf + step, 0), kTile);
    if (take(step, kTile)) return set_row(out, Op::load, matrix_.at(away + step, 0), kTile);
    if (take(step, 1)) return set_compute(out, {.shared = kHalf + kTile}, kWait);
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 1)) return set_compute(out, products(kProducts, 0));
    if (take(step, 1)) return set_compute(out, products(kProducts, kTile));
    if (take(step, 1)) return set_barrier(out);
    if (take(step, 1)) return set_compute(out, {.vector = 6, .special = 1, .scalar = 2, .shared = kTile - 1});
    if (take(step, kTile - 1)) return set_row(out, Op::store, matrix_.at(step + 1, away));
    if (take(step, 1)) return set_compute(out, {.vector = 6, .special = 1, .scalar = 2, .shared = kTile});
    if (take(step, kTile)) return set_row(out, Op::store, matrix_.at(away + step, 0), kTile);
    set_end(out);
  }

 private:
  KernelShape shape_;
  Matrix matrix_;
};

class Internal final : public Kernel {
 public:
  Internal(Matrix matrix, std::uint64_t tiles, std::uint32_t warp_width)
      : shape_{"lud_internal", tiles * tiles, kTile * kTile, 32, 2 * kTileBytes},
        matrix_(matrix),
        tiles_(tiles),
        warp_width_(warp_width) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const right = (block % tiles_ + 1) * kTile;
    auto const down = (block / tiles_ + 1) * kTile;
    switch (step) {
      case 0:
        return set_arguments(out, 3);
      case 1:  // thread's row and column, both tiles' addresses
        return set_compute(out, {.vector = 12, .special = 2, .scalar = 4}, kWait);
      case 2:
        return elements(out, Op::load, 0, right, warp);
      case 3:
        return elements(out, Op::load, down, 0, warp);
      case 4:
        return set_compute(out, {.shared = 2}, kWait);
      case 5:
        return set_barrier(out);
      case 6:  // the sum of the products; the address of the thread's element
        return set_compute(out, {.vector = kTile + 4, .shared = 2 * kTile});
      case 7:
        return elements(out, Op::load, down, right, warp);
      case 8:
        return set_compute(out, {.vector = 1}, kWait);
      case 9:
        return elements(out, Op::store, down, right, warp);
      default:
        return set_end(out);
    }
  }

 private:
  // The warp's rows of the tile at (row, column).
  void elements(WarpInstruction& out, Op op, std::uint64_t row, std::uint64_t column,
                std::uint32_t warp) const {
    set_access(out, op, 4, low_lanes(warp_width_));
    for (std::uint32_t lane = 0; lane < warp_width_; ++lane) {
      auto const thread = warp * warp_width_ + lane;
      out.address[lane] = matrix_.at(row + thread / kTile, column + thread % kTile);
    }
  }

  KernelShape shape_;
  Matrix matrix_;
  std::uint64_t tiles_;
  std::uint32_t warp_width_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.side % kTile != 0) throw ParameterError("side", spec.side, "must be a multiple of 16");
  BufferLayout layout(context.buffers);
  auto const base = layout.add("matrix", 4 * spec.side * spec.side);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint64_t offset = 0; offset < spec.side; offset += kTile) {
    Matrix const matrix{base, 4 * spec.side, offset};
    auto const rest = (spec.side - offset) / kTile - 1;
    kernels.push_back(std::make_unique<Diagonal>(matrix));
    if (rest == 0) break;
    kernels.push_back(std::make_unique<Perimeter>(matrix, rest));
    kernels.push_back(std::make_unique<Internal>(matrix, rest, context.warp_width));
  }
  return {"lud", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"lud",
          "LU decomposition by tiles along the diagonal, in place (Rodinia)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"side", "128"}}},
           {kMedium, {}},
           {kPaper, {}, "Mosaic (MICRO 2017), published code: 256 x 256"}}};
}

}  // namespace farfault::workloads::lud
