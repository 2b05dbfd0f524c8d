// SPDX-License-Identifier: Apache-2.0
// ReLU of a deep-learning layer: out[i] = max(in[i], 0), one thread per element, as in the DNN suite of
// MGPUSim.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::relu {
namespace {

struct Spec {
  ByteSize size{64ULL << 20};
  std::uint32_t block = 64;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{64}, ByteSize{1ULL << 40}}, "Total size of input and output",
            "GMMU Bypass (NPC 2020), Table 2");
    t.count("block", block, {1, 1024}, "Threads per block", "MGPUSim, DNN suite, relu");
  }
};

class Relu final : public LinearKernel {
 public:
  Relu(KernelShape shape, std::uint32_t warp_width, std::uint64_t n, VirtAddr in, VirtAddr out)
      : LinearKernel(std::move(shape), warp_width, n), in_(in), out_(out) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 4);
    auto const t = threads(block, warp);
    switch (step) {
      case 0:  // index, compare with the count (3 vector, 4 scalar); addresses (8)
        return set_compute(out, {.vector = t.lanes ? 11U : 3U, .scalar = 4}, kWait);
      case 1:
        return t.lanes ? set_linear(out, Op::load, 4, in_ + 4 * t.first, 4, t.lanes) : set_end(out);
      case 2:
        return t.lanes ? set_compute(out, {.vector = 2}, kWait) : set_end(out);  // scale, maximum with 0
      case 3:
        return t.lanes ? set_linear(out, Op::store, 4, out_ + 4 * t.first, 4, t.lanes) : set_end(out);
      default:
        return set_end(out);
    }
  }

 private:
  VirtAddr in_, out_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto const n = spec.size.bytes / 8;
  BufferLayout layout(context.buffers);
  auto const in = layout.add("in", 4 * n);
  auto const out = layout.add_result("out", 4 * n);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(
      std::make_unique<Relu>(KernelShape{"relu_forward", ceil_div(n, spec.block), spec.block, 8, 0},
                             context.warp_width, n, in, out));
  return {"relu", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"relu",
          "ReLU over a tensor, one thread per element (DNN)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"size", "4MiB"}}},
           {kMedium, {{"size", "16MiB"}}},
           {kPaper, {}, "GMMU Bypass (NPC 2020), Table 2: 64 MB"}}};
}

}  // namespace farfault::workloads::relu
