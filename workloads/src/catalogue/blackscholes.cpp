// SPDX-License-Identifier: Apache-2.0
// European options by the Black-Scholes formula, as in the CUDA sample BlackScholes: computes the prices of
// call and put from price, strike and years of each option. A grid of a fixed size strides over the options;
// its threads are adjacent in every round, so that all five streams are coalesced.
//
// Counts: LLVM 14's code for gfx803, without the source's division for the size of the grid. Registers: nvcc
// 13.0 for sm_75.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::blackscholes {
namespace {

struct Spec {
  std::uint64_t options = 2'000'000;
  std::uint32_t blocks = 480;
  std::uint32_t block = 128;
  std::uint32_t iterations = 1;

  void describe(ParamTable& t) {
    t.count("options", options, {1, 0x7fff'ffff}, "Options of five floats each",
            "Mosaic's published code; CUDA samples: 4,000,000");
    t.count("blocks", blocks, {1, 1 << 20}, "Thread blocks, independent of the number of options",
            "CUDA samples, BlackScholes");
    t.count("block", block, {1, 1024}, "Threads per block", "CUDA samples, BlackScholes");
    t.count("iterations", iterations, {1, 10'000}, "Kernels, each over the same options",
            "Mosaic's published code; CUDA samples: 512");
  }
};

struct Arrays {
  VirtAddr price, strike, years, call, put;
};

class BlackScholes final : public Kernel {
 public:
  BlackScholes(Spec const& spec, std::uint32_t warp_width, Arrays const& arrays)
      : shape_{"black_scholes", spec.blocks, spec.block, 33, 0},
        warp_width_(warp_width),
        options_(spec.options),
        threads_(std::uint64_t{spec.blocks} * spec.block),
        arrays_(arrays) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const in_block = warp * warp_width_;
    if (in_block >= shape_.threads_per_block) return set_end(out);
    if (step-- == 0) return set_arguments(out, 8);
    auto const first = block * shape_.threads_per_block + in_block;
    if (step == 0) {  // index, compare (2 vector, 4 scalar); drift, index and step as offsets of 64 bits
      bool const any = first < options_;
      return set_compute(out, {.vector = any ? 10U : 2U, .scalar = any ? 10U : 4U}, kWait);
    }
    constexpr std::uint64_t kSteps = 6;
    auto const option = first + (step - 1) / kSteps * threads_;
    if (option >= options_) return set_end(out);
    auto const width = std::min(warp_width_, shape_.threads_per_block - in_block);
    auto const lanes = static_cast<std::uint32_t>(std::min<std::uint64_t>(width, options_ - option));
    auto const at = [&](Op op, VirtAddr array) { set_linear(out, op, 4, array + 4 * option, 4, lanes); };
    switch ((step - 1) % kSteps) {
      case 0:
        return at(Op::load, arrays_.years);
      case 1:
        return at(Op::load, arrays_.strike);
      case 2:
        return at(Op::load, arrays_.price);
      case 3:  // a root, a logarithm, three exponentials, four quotients; two polynomials; addresses, loop
        return set_compute(out, {.vector = 100, .special = 9, .scalar = 11}, kWait);
      case 4:
        return at(Op::store, arrays_.call);
      default:
        return at(Op::store, arrays_.put);
    }
  }

 private:
  KernelShape shape_;
  std::uint32_t warp_width_;
  std::uint64_t options_, threads_;
  Arrays arrays_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  auto const bytes = 4 * spec.options;
  // In the order in which the sample allocates them.
  Arrays arrays{};
  arrays.call = layout.add_result("call", bytes);
  arrays.put = layout.add_result("put", bytes);
  arrays.price = layout.add("price", bytes);
  arrays.strike = layout.add("strike", bytes);
  arrays.years = layout.add("years", bytes);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t i = 0; i < spec.iterations; ++i)
    kernels.push_back(std::make_unique<BlackScholes>(spec, context.warp_width, arrays));
  return {"blackscholes", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"blackscholes",
          "Black-Scholes prices of European options, a grid-stride loop over five arrays (CUDA sample)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"options", "262144"}}},
           {kMedium, {}},
           {kPaper, {}, "Mosaic (MICRO 2017), published code: 2,000,000 options"}}};
}

}  // namespace farfault::workloads::blackscholes
