// SPDX-License-Identifier: Apache-2.0
// Bandwidth microbenchmark: all warps read (or, for a given share, write) one array in fully coalesced
// accesses.
//
// Access k of all threads together covers one contiguous range of the array, so adjacent warps access
// adjacent lines. Loads never wait: as many are in flight as the machine allows. Every byte is accessed
// exactly once per pass.
#include <cmath>
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::stream {
namespace {

struct Spec {
  ByteSize bytes{64ULL << 20};
  double write_fraction = 0.0;
  std::uint32_t bytes_per_lane = 4;
  std::uint32_t accesses_per_thread = 8;
  std::uint32_t passes = 1;
  std::uint32_t block = 256;

  void describe(ParamTable& t) {
    t.bytes("bytes", bytes, {ByteSize{64}, ByteSize{1ULL << 44}}, "Size of the array", "assumed");
    t.number("write_fraction", write_fraction, {0.0, 1.0},
             "Fraction of a thread's accesses that are stores, evenly distributed", "assumed");
    t.count("bytes_per_lane", bytes_per_lane, {1, 16}, "Bytes per lane and access: 1, 2, 4, 8 or 16",
            "assumed");
    t.count("accesses_per_thread", accesses_per_thread, {1, 65536}, "Accesses per thread and pass",
            "assumed");
    t.count("passes", passes, {1, 65536}, "Kernels, each over the whole array", "assumed");
    t.count("block", block, {1, 1024}, "Threads per block", "assumed");
  }
};

class Stream final : public LinearKernel {
 public:
  Stream(KernelShape shape, std::uint32_t warp_width, std::uint64_t grid_threads, Spec const& spec,
         VirtAddr base, std::uint64_t elements)
      : LinearKernel(std::move(shape), warp_width, grid_threads),
        base_(base),
        elements_(elements),
        grid_threads_(grid_threads),
        bytes_(spec.bytes_per_lane),
        is_store_(spec.accesses_per_thread) {
    for (std::uint32_t k = 0; k < spec.accesses_per_thread; ++k)
      is_store_[k] = std::floor((k + 1) * spec.write_fraction) > std::floor(k * spec.write_fraction);
  }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (step == 0)  // index, compare, base address (8 vector, 4 scalar), and the address of each access
      return set_compute(out, {.vector = 8 + 2 * static_cast<std::uint32_t>(is_store_.size()), .scalar = 4});
    auto const k = step - 1;
    auto const first = k * grid_threads_ + t.first;
    if (t.lanes == 0 || k >= is_store_.size() || first >= elements_) {
      // The sum of the values read is used once, after the last access.
      return k <= is_store_.size() && t.lanes != 0 && last_step(t.first) == step
                 ? set_compute(out, {.vector = 1}, kWait)
                 : set_end(out);
    }
    auto const lanes = static_cast<std::uint32_t>(std::min<std::uint64_t>(t.lanes, elements_ - first));
    set_linear(out, is_store_[k] ? Op::store : Op::load, bytes_, base_ + first * bytes_, bytes_, lanes);
  }

 private:
  std::uint64_t last_step(std::uint64_t first_thread) const {
    auto const accesses = first_thread < elements_ ? ceil_div(elements_ - first_thread, grid_threads_) : 0;
    return 1 + std::min<std::uint64_t>(accesses, is_store_.size());
  }

  VirtAddr base_;
  std::uint64_t elements_, grid_threads_;
  std::uint32_t bytes_;
  std::vector<std::uint8_t> is_store_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if ((spec.bytes_per_lane & (spec.bytes_per_lane - 1)) != 0)
    throw ParameterError("bytes_per_lane", spec.bytes_per_lane, "must be 1, 2, 4, 8 or 16");
  auto const elements = spec.bytes.bytes / spec.bytes_per_lane;
  auto const blocks = ceil_div(elements, std::uint64_t{spec.block} * spec.accesses_per_thread);
  BufferLayout layout(context.buffers);
  auto const base = layout.add("array", elements * spec.bytes_per_lane);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (std::uint32_t pass = 0; pass < spec.passes; ++pass)
    kernels.push_back(std::make_unique<Stream>(KernelShape{"stream", blocks, spec.block, 24, 0},
                                               context.warp_width, blocks * spec.block, spec, base,
                                               elements));
  return {"stream", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"stream",
          "Coalesced reads (and writes) of one array by all warps: bandwidth",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"bytes", "4MiB"}}},
           {kMedium, {}},
           {kPaper, {}, "assumed: the average footprint of GMMU Bypass (NPC 2020), 64 MB"}}};
}

}  // namespace farfault::workloads::stream
