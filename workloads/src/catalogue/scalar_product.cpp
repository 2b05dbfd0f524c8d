// SPDX-License-Identifier: Apache-2.0
// Scalar products of pairs of vectors, as in the CUDA sample scalarProd: a block processes one pair after the
// other. Each of its 1,024 accumulators sums every 1,024th product; a tree of ten stages, each after a
// barrier, adds the accumulators up in shared memory.
//
// The products of one accumulator are loaded four at a time, the remainder first, as nvcc 13.0 unrolls the
// loop. Registers are from nvcc 13.0 for sm_75. Counts: the source's statements in the instructions of LLVM
// 14's code for gfx803.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::scalar_product {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kAccumulators = 1024;
constexpr std::uint32_t kUnrolled = 4;
constexpr std::uint32_t kAlignment = 64;  // elements, so that warps are whole

struct Spec {
  std::uint64_t vectors = 256;
  std::uint64_t length = 4096;
  std::uint32_t blocks = 128;

  void describe(ParamTable& t) {
    t.count("vectors", vectors, {1, 1 << 20}, "Pairs of vectors", "CUDA samples, scalarProd");
    t.count("length", length, {kAlignment, 1 << 30}, "Floats per vector, a multiple of 64",
            "CUDA samples, scalarProd");
    t.count("blocks", blocks, {1, 1 << 20}, "Thread blocks, independent of the number of vectors",
            "CUDA samples, scalarProd");
  }
};

class ScalarProduct final : public Kernel {
 public:
  ScalarProduct(Spec const& spec, std::uint32_t warp_width, VirtAddr a, VirtAddr b, VirtAddr c)
      : shape_{"scalar_product", spec.blocks, kThreads, 49, 4 * kAccumulators},
        warp_width_(warp_width),
        vectors_(spec.vectors),
        length_(spec.length),
        a_(a),
        b_(b),
        c_(c) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const first = warp * warp_width_;
    if (step-- == 0) return set_arguments(out, 5);
    if (step-- == 0)
      return set_compute(out, {.vector = 8, .scalar = 8}, kWait);  // compares the block's number

    // Steps per pair of vectors.
    std::uint64_t steps = 1 + 2 * kStages + (first == 0 ? 3 : 1);
    for (std::uint32_t i = first; i < kAccumulators; i += kThreads) steps += steps_of(products(i));
    auto const vector = block + step / steps * shape_.blocks;
    if (vector >= vectors_) return set_end(out);
    step %= steps;

    if (step-- == 0)
      return set_compute(out, {.vector = 4, .special = 1, .scalar = 3});  // the vectors' bounds
    for (std::uint32_t i = first; i < kAccumulators; i += kThreads) {
      auto const n = products(i);
      if (step < steps_of(n)) return accumulate(out, vector, i, n, step);
      step -= steps_of(n);
    }
    if (step < 2 * kStages) {
      if (step % 2 == 0) return set_barrier(out);
      auto const stride = kAccumulators >> (step / 2 + 1);
      if (first >= stride) return set_compute(out, {.scalar = 3});
      // Two sums per thread in the first stage, one in all others: two accumulators, a sum, the loop.
      auto const sums = stride > kThreads ? stride / kThreads : 1;
      return set_compute(out, {.vector = 4 * sums, .scalar = 2 + 3 * sums, .shared = 3 * sums});
    }
    step -= 2 * kStages;
    if (first == 0) {
      if (step == 0) return set_compute(out, {.vector = 4, .scalar = 3, .shared = 1});
      if (step == 1) return set_uniform(out, Op::store, 4, c_ + 4 * vector);
    }
    set_compute(out, {.vector = 2, .scalar = 4});  // the next pair
  }

 private:
  static constexpr std::uint64_t kStages = 10;

  // Number of products that each accumulator of a warp sums; i is the warp's first accumulator.
  std::uint64_t products(std::uint32_t i) const {
    return i >= length_ ? 0 : ceil_div(length_ - i, kAccumulators);
  }
  static std::uint64_t steps_of(std::uint64_t products) {
    return 2 * products + ceil_div(products, kUnrolled) + 1;
  }

  void accumulate(WarpInstruction& out, std::uint64_t vector, std::uint32_t i, std::uint64_t products,
                  std::uint64_t step) const {
    auto const left_over = products % kUnrolled;
    if (left_over != 0) {
      if (step < 2 * left_over + 1) return add_products(out, vector, i, left_over, step);
      step -= 2 * left_over + 1;
      i += static_cast<std::uint32_t>(left_over) * kAccumulators;
    }
    constexpr std::uint64_t kSteps = 2 * kUnrolled + 1;
    auto const group = step / kSteps;
    if (group < products / kUnrolled)
      return add_products(out, vector, i + group * kUnrolled * kAccumulators, kUnrolled, step % kSteps);
    set_compute(out, {.vector = 12, .scalar = 5, .shared = 1});  // the sum; addresses of the next accumulator
  }

  // `count` products of each thread; `element`: the first lane's first element within the vectors.
  void add_products(WarpInstruction& out, std::uint64_t vector, std::uint64_t element, std::uint64_t count,
                    std::uint64_t step) const {
    if (step == 2 * count) {  // products and sums, addresses; compare
      auto const n = static_cast<std::uint32_t>(count);
      return set_compute(out, {.vector = 5 * n + 2, .scalar = 3}, kWait);
    }
    auto const at = vector * length_ + element + step / 2 * kAccumulators;
    set_linear(out, Op::load, 4, (step % 2 == 0 ? a_ : b_) + 4 * at, 4, warp_width_);
  }

  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t vectors_, length_;
  VirtAddr a_, b_, c_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.length % kAlignment != 0) throw ParameterError("length", spec.length, "must be a multiple of 64");
  BufferLayout layout(context.buffers);
  auto const a = layout.add("a", 4 * spec.vectors * spec.length);
  auto const b = layout.add("b", 4 * spec.vectors * spec.length);
  auto const c = layout.add_result("c", 4 * spec.vectors);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<ScalarProduct>(spec, context.warp_width, a, b, c));
  return {"scalar_product", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"scalar_product",
          "Scalar products of pairs of vectors, each by one block (CUDA sample)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"vectors", "64"}}},
           {kMedium, {}},
           {kPaper, {}, "CUDA samples, scalarProd, as in Mosaic (MICRO 2017): 256 x 4,096"}}};
}

}  // namespace farfault::workloads::scalar_product
