// SPDX-License-Identifier: Apache-2.0
// Fast Fourier transforms of SHOC: a batch of 512-point transforms in place, one block of 64 threads each,
// three radix-8 stages with two exchanges through shared memory (Volkov and Kazian's algorithm). Passes
// alternate forward and inverse.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::fft {
namespace {

constexpr std::uint32_t kPoints = 512;
constexpr std::uint32_t kThreads = 64;
constexpr std::uint32_t kComplex = 8;  // two floats

struct Spec {
  ByteSize size{64ULL << 20};
  std::uint32_t passes = 2;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{kPoints * kComplex}, ByteSize{1ULL << 40}},
            "Total size of all transforms, 4 KiB each", "GMMU Bypass (NPC 2020), Table 2");
    t.count("passes", passes, {1, 10'000}, "Kernels, alternately forward and inverse",
            "SHOC, FFT (one of each)");
  }
};

// The steps of a thread between its loads and its stores, without the waits for memory.
struct Stage {
  Op op;
  Work work;
};

// Half an exchange: eight floats of each thread to or from shared memory, two at a time, with additional
// vector and scalar instructions.
constexpr Work exchange(std::uint32_t vector = 0, std::uint32_t scalar = 0) {
  return {.vector = vector, .scalar = scalar, .shared = 4, .shared_bytes_per_lane = 8};
}
// Seven twiddle factors, each a sine and a cosine computed in software (26 vector instructions each, and 5
// for the next angle), with their branches.
constexpr std::uint32_t kTwiddles = 7 * 2 * 26 + 6 * 5;
constexpr std::uint32_t kTwiddleBranches = 202;

// The vector counts of the large stages include the 8-point transforms and the complex products.
constexpr Stage kStages[] = {
    {Op::compute, exchange(3 + kTwiddles + 343, 7 + kTwiddleBranches + 11)},
    {Op::barrier, {}},
    {Op::compute, exchange()},
    {Op::barrier, {}},
    {Op::compute, exchange(1)},
    {Op::barrier, {}},
    {Op::compute, exchange(4, 2)},
    {Op::barrier, {}},
    {Op::compute, exchange(kTwiddles + 332, 3 + kTwiddleBranches + 7)},
    {Op::barrier, {}},
    {Op::compute, exchange()},
    {Op::barrier, {}},
    {Op::compute, exchange(8)},
    {Op::barrier, {}},
    {Op::compute, exchange(60)},
};
constexpr std::uint64_t kStageCount = sizeof(kStages) / sizeof(kStages[0]);

class Fft512 final : public LinearKernel {
 public:
  Fft512(std::uint64_t transforms, bool inverse, std::uint32_t warp_width, VirtAddr work)
      : LinearKernel({.name = inverse ? "ifft1d_512" : "fft1d_512",
                      .blocks = transforms,
                      .threads_per_block = kThreads,
                      .registers_per_thread = 40,
                      .shared_bytes_per_block = 8 * 8 * 9 * 4},
                     warp_width, transforms * kThreads),
        work_(work) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 2);
    if (step == 0) return set_compute(out, {.vector = 23, .scalar = 10}, kWait);  // index, eight addresses
    if (step <= 8) return points(out, Op::load, block, warp, step - 1);
    auto const body = step - 9;
    if (body < kStageCount) {
      if (kStages[body].op == Op::barrier) return set_barrier(out);
      return set_compute(out, kStages[body].work, body == 0);
    }
    if (body < kStageCount + 8) return points(out, Op::store, block, warp, body - kStageCount);
    set_end(out);
  }

 private:
  // Points i * 64 + thread of the block's transform.
  void points(WarpInstruction& out, Op op, std::uint64_t block, std::uint32_t warp, std::uint64_t i) const {
    auto const first = block * kPoints + i * kThreads + std::uint64_t{warp} * warp_width();
    set_linear(out, op, kComplex, work_ + kComplex * first, kComplex, warp_width());
  }

  VirtAddr work_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  auto const transforms = spec.size.bytes / (kPoints * kComplex);
  BufferLayout layout(context.buffers);
  auto const work = layout.add("work", transforms * kPoints * kComplex);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t pass = 0; pass < spec.passes; ++pass)
    kernels.push_back(std::make_unique<Fft512>(transforms, pass % 2 == 1, context.warp_width, work));
  return {"fft", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"fft",
          "Batch of 512-point radix-8 transforms, one block each (SHOC)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"size", "1MiB"}}},
           {kMedium, {{"size", "16MiB"}}},
           {kPaper, {}, "GMMU Bypass (NPC 2020), Table 2: 64 MB"}}};
}

}  // namespace farfault::workloads::fft
