// SPDX-License-Identifier: Apache-2.0
// Finite impulse response filter of Hetero-Mark: output[t] is the sum over taps i of coeff[i] * input[t +
// taps - 1 - i]. The input buffer starts with the taps - 1 samples of history, so every thread reads the same
// number of samples.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::fir {
namespace {

// Vector instructions for the address of a sample, including the selection of input or history, and of the
// result.
constexpr std::uint32_t kAddress = 14;
constexpr std::uint32_t kResultAddress = 5;

struct Spec {
  ByteSize size{64ULL << 20};
  std::uint32_t taps = 16;
  std::uint32_t block = 256;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{64}, ByteSize{1ULL << 40}},
            "Total size of the samples and filtered samples", "GMMU Bypass (NPC 2020), Table 2");
    t.count("taps", taps, {1, 4096}, "Filter coefficients", "Hetero-Mark and MGPUSim, FIR");
    t.count("block", block, {1, 1024}, "Threads per block", "MGPUSim, FIR");
  }
};

class Fir final : public LinearKernel {
 public:
  Fir(KernelShape shape, std::uint32_t warp_width, std::uint64_t n, std::uint32_t taps, VirtAddr coeff,
      VirtAddr in, VirtAddr out)
      : LinearKernel(std::move(shape), warp_width, n), taps_(taps), coeff_(coeff), in_(in), out_(out) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 4);
    auto const t = threads(block, warp);
    // Index, loop set-up (6 vector, 6 scalar); the first address.
    if (step == 0) return set_compute(out, {.vector = 6 + kAddress, .scalar = 6}, kWait);
    if (t.lanes == 0) return set_end(out);
    auto const body = step - 1;
    auto const tap = body / 3;
    if (tap < taps_) {
      switch (body - 3 * tap) {
        case 0:
          return set_scalar_load(out, coeff_ + 4 * tap, 4);
        case 1:
          return set_linear(out, Op::load, 4, in_ + 4 * (t.first + taps_ - 1 - tap), 4, t.lanes);
        default: {  // multiply-add, the next address; loop (3), address of the coefficient (2)
          auto const address = tap + 1 < taps_ ? kAddress : kResultAddress;
          return set_compute(out, {.vector = 1 + address, .scalar = 5}, kWait);
        }
      }
    }
    if (body == std::uint64_t{3} * taps_)
      return set_linear(out, Op::store, 4, out_ + 4 * t.first, 4, t.lanes);
    set_end(out);
  }

 private:
  std::uint32_t taps_;
  VirtAddr coeff_, in_, out_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto const n = spec.size.bytes / 8;
  BufferLayout layout(context.buffers);
  auto const in = layout.add("input", 4 * (n + spec.taps - 1));
  auto const out = layout.add_result("output", 4 * n);
  auto const coeff = layout.add("coeff", std::uint64_t{4} * spec.taps);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<Fir>(KernelShape{"fir", ceil_div(n, spec.block), spec.block, 16, 0},
                                          context.warp_width, n, spec.taps, coeff, in, out));
  return {"fir", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"fir",
          "Finite impulse response filter, one thread per sample (Hetero-Mark)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"size", "1MiB"}}},
           {kMedium, {{"size", "16MiB"}}},
           {kPaper, {}, "GMMU Bypass (NPC 2020), Table 2: 64 MB"}}};
}

}  // namespace farfault::workloads::fir
