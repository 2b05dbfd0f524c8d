// SPDX-License-Identifier: Apache-2.0
// Sum of an array, as in SHOC's Reduction: 64 blocks stride over the array. Each thread reads two elements a
// block's width apart in every round; each block adds up its threads' sums in shared memory and writes one
// sum, and the host adds up these. The kernel runs many times on the same data; each pass copies the data to
// the GPU again.
//
// Counts: LLVM 14's code for gfx803, without the source's division for the size of the grid, and with
// accesses to shared memory as in nvcc 13.0's code. Registers: nvcc 13.0 for sm_75.
#include <memory>
#include <string>
#include <vector>

#include "block_sum.hpp"
#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::reduction {
namespace {

constexpr std::uint64_t kPair = 2 * kSumThreads;  // elements that a block reads in a round

struct Spec {
  ByteSize size{1ULL << 20};
  std::uint32_t passes = 1;
  std::uint32_t iterations = 32;
  Precision precision = Precision::both;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{4096}, ByteSize{1ULL << 34}},
            "Size of the array for each precision, a multiple of 4 KiB", "SHOC, Reduction, size 1");
    t.count("passes", passes, {1, 1000}, "Passes; each copies and sums the array (published: 10)", "assumed");
    t.count("iterations", iterations, {1, 100'000}, "Kernels per pass (published: 256)", "assumed");
    describe_precision(t, precision, "SHOC, Reduction, on a GPU with double precision");
  }
};

class Reduce final : public Kernel {
 public:
  Reduce(std::uint64_t elements, std::uint32_t element_bytes, std::uint32_t warp_width, VirtAddr in,
         VirtAddr sums)
      : shape_{"reduce", kSumBlocks, kSumThreads, 14, std::uint64_t{element_bytes} * kSumThreads},
        warp_width_(warp_width),
        elements_(elements),
        element_bytes_(element_bytes),
        in_(in),
        sums_(sums) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 3);
    if (step-- == 0)  // index, compare; the sum's initial zero
      return set_compute(
          out, {.vector = 5, .scalar = 4, .shared = 1, .shared_bytes_per_lane = element_bytes_}, kWait);
    auto const first = warp * warp_width_;
    auto const pairs = elements_ / kPair;
    auto const rounds = block < pairs ? ceil_div(pairs - block, kSumBlocks) : 0;
    if (step < 3 * rounds) {
      if (step % 3 == 2)  // two sums; addresses, compare
        return set_compute(
            out, {.vector = 12, .scalar = 3, .shared = 2, .shared_bytes_per_lane = element_bytes_}, kWait);
      auto const element = (block + step / 3 * kSumBlocks) * kPair + step % 3 * kSumThreads + first;
      return set_linear(out, Op::load, element_bytes_, in_ + element_bytes_ * element, element_bytes_,
                        warp_width_);
    }
    set_block_sum(out, first, element_bytes_, sums_ + element_bytes_ * block, step - 3 * rounds);
  }

 private:
  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t elements_;
  std::uint32_t element_bytes_;
  VirtAddr in_, sums_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.size.bytes % 4096 != 0) throw ParameterError("size", spec.size, "must be a multiple of 4 KiB");
  BufferLayout layout(context.buffers);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  std::vector<Operation> operations;
  for (auto const& element : element_sizes(spec.precision)) {
    auto const in = layout.add(std::string("input") + element.suffix, spec.size.bytes);
    auto const sums =
        layout.add_result(std::string("sums") + element.suffix, std::uint64_t{element.bytes} * kSumBlocks);
    for (std::uint32_t pass = 0; pass < spec.passes; ++pass) {
      operations.push_back(Operation::copy_to_gpus(in, spec.size.bytes));
      for (std::uint32_t i = 0; i < spec.iterations; ++i) {
        operations.push_back(Operation::launch(static_cast<std::uint32_t>(kernels.size())));
        kernels.push_back(std::make_unique<Reduce>(spec.size.bytes / element.bytes, element.bytes,
                                                   context.warp_width, in, sums));
      }
      operations.push_back(Operation::copy_to_host(sums, std::uint64_t{element.bytes} * kSumBlocks));
    }
  }
  return {"reduction", layout.take(), std::move(kernels), {}, std::move(operations)};
}

}  // namespace

WorkloadInfo info() {
  return {"reduction",
          "Sum of an array by 64 blocks, repeated (SHOC)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"size", "256KiB"}, {"iterations", "8"}}},
           {kMedium, {}},
           {kPaper,
            {{"iterations", "256"}, {"passes", "10"}},
            "SHOC, Reduction, size 1, as in Mosaic (MICRO 2017): 1 MiB, 256 times, 10 passes"}}};
}

}  // namespace farfault::workloads::reduction
