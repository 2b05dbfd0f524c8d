// Fast Fourier transforms of SHOC: a batch of 512-point transforms in place, one block of 64 threads each,
// three radix-8 stages with two exchanges through shared memory (Volkov and Kazian's algorithm). Passes
// alternate forward and inverse.
#include <memory>
#include <vector>

#include "catalogue.hpp"
#include "farfault/workloads/buffer_layout.hpp"
#include "kernel_support.hpp"

namespace farfault::workloads {
namespace {

constexpr std::uint32_t kPoints = 512;
constexpr std::uint32_t kThreads = 64;
constexpr std::uint32_t kComplex = 8;  // two floats

struct Spec {
  ByteSize size{64ULL << 20};
  std::uint32_t passes = 2;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{kPoints * kComplex}, ByteSize{1ULL << 40}},
            "all transforms together, 4 KiB each", "GMMU Bypass, Table 2");
    t.count("passes", passes, {1, 10'000}, "kernels, forward and inverse in turn", "SHOC, FFT (one of each)");
  }
};

// What happens between the loads and the stores of a thread, without its waits for memory.
struct Stage {
  Op op;
  std::uint32_t cycles;
};

// An 8-point transform: 24 complex additions (48), two rotations by 1/8 (4 each), two by 1/4 (free).
constexpr std::uint32_t kFft8 = 56;
// Seven complex multiplications (6), each with its angle (2) and a sine and a cosine.
constexpr std::uint32_t kTwiddle8 = 7 * (6 + 2 + 2);
constexpr std::uint32_t kExchange = 8;  // eight shared-memory accesses

constexpr Stage kStages[] = {
    {Op::compute, kFft8 + kTwiddle8 + kExchange},
    {Op::barrier, 0},
    {Op::compute, kExchange},
    {Op::barrier, 0},
    {Op::compute, kExchange},
    {Op::barrier, 0},
    {Op::compute, kExchange},
    {Op::barrier, 0},
    {Op::compute, kFft8 + kTwiddle8 + kExchange},
    {Op::barrier, 0},
    {Op::compute, kExchange},
    {Op::barrier, 0},
    {Op::compute, kExchange},
    {Op::barrier, 0},
    {Op::compute, kExchange + kFft8},
};
constexpr std::uint64_t kStageCount = sizeof(kStages) / sizeof(kStages[0]);

class Fft512 final : public LinearKernel {
 public:
  Fft512(std::uint64_t transforms, bool inverse, std::uint32_t warp_width, VirtAddr work)
      : LinearKernel({inverse ? "ifft1d_512" : "fft1d_512", transforms, kThreads, 40, 8 * 8 * 9 * 4},
                     warp_width, transforms * kThreads),
        work_(work) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step == 0) return set_compute(out, 6);  // index, address, high and low part of the thread's number
    if (step <= 8) return points(out, Op::load, block, warp, step - 1);
    auto const body = step - 9;
    if (body < kStageCount) {
      if (kStages[body].op == Op::barrier) return set_barrier(out);
      return set_compute(out, kStages[body].cycles, body == 0);
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
  BufferLayout layout;
  auto const work = layout.add("work", transforms * kPoints * kComplex);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t pass = 0; pass < spec.passes; ++pass)
    kernels.push_back(std::make_unique<Fft512>(transforms, pass % 2 == 1, context.warp_width, work));
  return {"fft", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo fft_info() {
  return {"fft", "batch of 512-point radix-8 transforms, a block each (SHOC)",
          &SpecBuilder<Spec, build>::make};
}

}  // namespace farfault::workloads
