// SPDX-License-Identifier: Apache-2.0
// A workload in which each thread reads one random element of a table, and a preset that runs it.
#include <farfault/program.hpp>
#include <farfault/workloads/buffer_layout.hpp>
#include <farfault/workloads/kernel_support.hpp>

namespace {

using namespace farfault;
using namespace farfault::workloads;

class GatherKernel final : public LinearKernel {
 public:
  GatherKernel(KernelShape shape, std::uint32_t width, std::uint64_t threads, VirtAddr table,
               std::uint64_t elements, std::uint64_t seed)
      : LinearKernel(std::move(shape), width, threads), table_(table), elements_(elements), seed_(seed) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const here = threads(block, warp);
    if (step == 0) return set_arguments(out, 2);
    if (step == 1) return set_compute(out, {.vector = 4, .scalar = 2}, kWait);
    if (step > 2 || here.lanes == 0) return set_end(out);
    set_access(out, Op::load, 4, low_lanes(here.lanes));
    for (std::uint32_t lane = 0; lane < here.lanes; ++lane) {
      auto x = (here.first + lane + seed_) * 0x9E3779B97F4A7C15ULL;
      x ^= x >> 32;
      out.address[lane] = table_ + 4 * (x % elements_);
    }
  }

 private:
  VirtAddr table_;
  std::uint64_t elements_;
  std::uint64_t seed_;
};

struct Gather final : WorkloadBuilder {
  std::uint64_t elements = 1 << 20;
  std::uint64_t reads = 1 << 16;

  void describe(ParamTable& t) override {
    t.count("elements", elements, {1, 1ULL << 32}, "Elements of the table, 4 bytes each", "assumed");
    t.count("reads", reads, {1, 1ULL << 32}, "Threads; each reads one element", "assumed");
  }
  Workload build(BuildContext const& context) const override {
    BufferLayout layout(context.buffers);
    auto const table = layout.add("table", 4 * elements);
    std::vector<std::unique_ptr<Kernel const>> kernels;
    kernels.push_back(std::make_unique<GatherKernel>(KernelShape{"gather", ceil_div(reads, 256), 256, 8, 0},
                                                     context.warp_width, reads, table, elements,
                                                     context.seed));
    return {"gather", layout.take(), std::move(kernels)};
  }
};

constexpr auto kPreset = R"(
include = ["paper-gmmu-bypass"]
workload.name = "gather"
gpu.dram.scheduler = "capped_row_hits"
gpu.l2_tlb.organization = "split"
gpu.sms = 4
gpu.dram.channels = 1
gpu.dram.bandwidth = "2 GB/s"
)";

}  // namespace

void gather(Extensions& all) {
  all.workload<Gather>("gather", "reads of random elements of a table");
  all.preset("small-gather", kPreset);
}
