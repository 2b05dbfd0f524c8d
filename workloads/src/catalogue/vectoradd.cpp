// SPDX-License-Identifier: Apache-2.0
// Element-wise addition of two float vectors, one thread per element, as in the CUDA sample vectorAdd.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::vectoradd {
namespace {

struct Spec {
  std::uint64_t elements = 4'194'304;
  std::uint32_t block = 256;

  void describe(ParamTable& t) {
    t.count("elements", elements, {1, 1ULL << 38}, "Elements of each of the three float vectors", "assumed");
    t.count("block", block, {1, 1024}, "Threads per block", "CUDA samples, vectorAdd");
  }
};

class VectorAdd final : public LinearKernel {
 public:
  VectorAdd(KernelShape shape, std::uint32_t warp_width, std::uint64_t n, VirtAddr a, VirtAddr b, VirtAddr c)
      : LinearKernel(std::move(shape), warp_width, n), a_(a), b_(b), c_(c) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 4);
    auto const t = threads(block, warp);
    switch (step) {
      case 0:  // index in two dimensions, compare (5 vector, 1 product, 7 scalar); addresses (5)
        return set_compute(out, {.vector = t.lanes ? 10U : 5U, .special = 1, .scalar = 7}, kWait);
      case 1:
        return t.lanes ? set_linear(out, Op::load, 4, a_ + 4 * t.first, 4, t.lanes) : set_end(out);
      case 2:
        return t.lanes ? set_linear(out, Op::load, 4, b_ + 4 * t.first, 4, t.lanes) : set_end(out);
      case 3:
        return t.lanes ? set_compute(out, {.vector = 1}, kWait) : set_end(out);  // the addition
      case 4:
        return t.lanes ? set_linear(out, Op::store, 4, c_ + 4 * t.first, 4, t.lanes) : set_end(out);
      default:
        return set_end(out);
    }
  }

 private:
  VirtAddr a_, b_, c_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  auto const a = layout.add("a", 4 * spec.elements);
  auto const b = layout.add("b", 4 * spec.elements);
  auto const c = layout.add_result("c", 4 * spec.elements);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<VectorAdd>(
      KernelShape{"vector_add", ceil_div(spec.elements, spec.block), spec.block, 12, 0}, context.warp_width,
      spec.elements, a, b, c));
  return {"vectoradd", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"vectoradd",
          "c = a + b of float vectors, one thread per element (CUDA sample)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"elements", "262144"}}},
           {kMedium, {}},
           {kPaper,
            {{"elements", "5592320"}},
            "assumed: the average footprint of GMMU Bypass (NPC 2020), 64 MB; the CUDA sample adds 50,000 "
            "elements"}}};
}

}  // namespace farfault::workloads::vectoradd
