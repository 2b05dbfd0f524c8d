// SPDX-License-Identifier: Apache-2.0
// Matrix-vector products as in PolyBench/GPU (atax, bicg, mvt): a thread per element of the result, 256 per
// block, no shared memory, a row-major matrix.
//
// - Along rows, each thread reads its own row: the lanes of a warp are a row apart, each on a different page
//   if a row is longer than a page.
// - Along columns (with the transposed matrix), lanes are adjacent and advance by a row per step.
// - The vector's element is the same for all threads and read through the L1 cache.
// - The sum is in global memory. The compiler cannot prove that it does not alias a factor, so each step
//   stores it. It is read once, before the first step, unless the kernel sets it to zero.
// - The order of accesses and the registers are from nvcc 13.0 -O3 for sm_75, which unrolls loops by 16 and
//   by 8; here they are not unrolled. Counts: a multiply-add, the advance of two addresses (two additions
//   each), the loop.
#pragma once

#include "farfault/engine/params.hpp"
#include "farfault/workloads/kernel_support.hpp"

namespace farfault::workloads {

// Size of a matrix that need not be square.
struct MatrixSize {
  std::uint64_t rows = 2048;
  std::uint64_t cols = 2048;

  void describe(ParamTable& t) {
    t.count("rows", rows, {1, 1ULL << 20}, "Matrix rows (published: 4,096)",
            "assumed, smaller than published to shorten runs");
    t.count("cols", cols, {1, 1ULL << 20}, "Matrix columns (published: 4,096)",
            "assumed, smaller than published to shorten runs");
  }
};

enum class Along { rows, columns };

struct MatrixVector {
  VirtAddr matrix, vector, result;
  std::uint64_t rows, cols;  // size of the matrix
  Along along;
  bool clears = false;  // sets the sum to zero first
};

class MatrixVectorKernel final : public LinearKernel {
 public:
  MatrixVectorKernel(char const* name, std::uint32_t warp_width, MatrixVector const& p)
      : LinearKernel({.name = name,
                      .blocks = ceil_div(items_of(p), kBlock),
                      .threads_per_block = kBlock,
                      .registers_per_thread = p.along == Along::rows ? 14U : 18U},
                     warp_width, items_of(p)),
        p_(p) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (take(step, 1)) return set_arguments(out, 3);
    // Index, compare; the addresses of the sum and of the first element, a product of integers along rows.
    if (take(step, 1)) {
      if (t.lanes == 0) return set_compute(out, {.vector = 3, .special = 1, .scalar = 3}, kWait);
      return set_compute(out, {.vector = 9, .special = p_.along == Along::rows ? 2U : 1U, .scalar = 4},
                         kWait);
    }
    if (t.lanes == 0) return set_end(out);
    auto const sum = p_.result + 4 * t.first;
    if (take(step, 1)) return set_linear(out, p_.clears ? Op::store : Op::load, 4, sum, 4, t.lanes);
    if (step >= kStepsOfTerm * (p_.along == Along::rows ? p_.cols : p_.rows)) return set_end(out);
    auto const i = step / kStepsOfTerm;
    switch (step % kStepsOfTerm) {
      case 0:
        return set_uniform(out, Op::load, 4, p_.vector + 4 * i);
      case 1:
        if (p_.along == Along::columns)
          return set_linear(out, Op::load, 4, p_.matrix + 4 * (i * p_.cols + t.first), 4, t.lanes);
        return set_linear(out, Op::load, 4, p_.matrix + 4 * (t.first * p_.cols + i), 4 * p_.cols, t.lanes);
      case 2:
        return set_compute(out, {.vector = 5, .scalar = 2}, kWait);
      default:
        return set_linear(out, Op::store, 4, sum, 4, t.lanes);
    }
  }

 private:
  static constexpr std::uint32_t kBlock = 256;
  static constexpr std::uint64_t kStepsOfTerm = 4;

  static std::uint64_t items_of(MatrixVector const& p) { return p.along == Along::rows ? p.rows : p.cols; }

  MatrixVector p_;
};

}  // namespace farfault::workloads
