// SPDX-License-Identifier: Apache-2.0
// RandomAccess of the HPC Challenge (GUPS) on a GPU, as in the published code of Mosaic: each thread reads
// the start of its part of the random sequence. Number by number, it then combines the table element that the
// number's low bits select with the number, by exclusive or, in two 32-bit atomics without a result. All
// threads together make the updates of the sequential benchmark; no update is lost.
//
// `random_access` is similar, with uniform numbers, elements that are read and written, and configurable
// sizes.
//
// Counts: a number takes a 64-bit shift (3), a compare, a select and an exclusive or; the address of its
// element a mask, a 64-bit shift and a sum; the loop two. Registers per thread are from nvcc 13.0 -O3 for
// sm_75.
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "gups_sequence.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::gups {
namespace {

struct Spec {
  ByteSize table{4ULL << 20};
  std::uint64_t blocks = 512;
  std::uint32_t block = 128;
  std::uint32_t updates = 32;

  void describe(ParamTable& t) {
    t.bytes("table", table, {ByteSize{8}, ByteSize{1ULL << 40}},
            "Size of the table of 8-byte elements, a power of two", "Mosaic, published code");
    t.count("blocks", blocks, {1, 65'535}, "Thread blocks", "Mosaic, published code");
    t.count("block", block, {1, 1024}, "Threads per block", "Mosaic, published code");
    t.count("updates", updates, {1, 1U << 20}, "Updates per thread",
            "Mosaic, published code: four per table element");
  }
};

class Gups final : public LinearKernel {
 public:
  Gups(KernelShape shape, std::uint32_t warp_width, Spec const& spec, VirtAddr table, VirtAddr starts)
      : LinearKernel(std::move(shape), warp_width, spec.blocks * spec.block),
        updates_(spec.updates),
        mask_(spec.table.bytes / kElement - 1),
        table_(table),
        starts_(starts),
        numbers_(items()) {
    std::uint64_t number = 1;
    for (auto& n : numbers_) {
      n = number;
      number = gups_number(number, updates_);
    }
  }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (take(step, 1)) return set_arguments(out, 3);
    if (take(step, 1)) return set_compute(out, {.vector = 4, .special = 1, .scalar = 2}, kWait);  // index
    if (take(step, 1))
      return set_linear(out, Op::load, kElement, starts_ + kElement * t.first, kElement, t.lanes);
    auto const k = step / 3;
    if (k >= updates_) return set_end(out);
    switch (step % 3) {
      case 0:
        return set_compute(out, {.vector = 11, .scalar = 2}, k == 0);
      case 1:
        return halves(out, t, k, 0);
      default:
        return halves(out, t, k, 4);
    }
  }

 private:
  static constexpr std::uint32_t kElement = 8;

  void halves(WarpInstruction& out, ThreadRange const& t, std::uint64_t k, std::uint64_t half) const {
    set_access(out, Op::store, 4, low_lanes(t.lanes));
    for (std::uint32_t lane = 0; lane < t.lanes; ++lane)
      out.address[lane] = table_ + kElement * (gups_number(numbers_[t.first + lane], k + 1) & mask_) + half;
  }

  std::uint64_t updates_, mask_;
  VirtAddr table_, starts_;
  std::vector<std::uint64_t> numbers_;  // per thread: the number before its first
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (!std::has_single_bit(spec.table.bytes))
    throw ParameterError("table", spec.table, "must be a power of two");
  BufferLayout layout(context.buffers);
  auto const table = layout.add("table", spec.table.bytes);
  auto const starts = layout.add("starts", 8 * spec.blocks * spec.block);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(
      std::make_unique<Gups>(KernelShape{"random_access_update", spec.blocks, spec.block, 26, 0},
                             context.warp_width, spec, table, starts));
  return {"gups", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"gups",
          "RandomAccess: atomic updates of random table elements (HPC Challenge)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"table", "1MiB"}, {"blocks", "16"}}},
           {kMedium, {{"table", "2MiB"}, {"blocks", "256"}}},
           {kPaper, {}, "Mosaic (MICRO 2017), published code: 4 MiB, four updates per element"}}};
}

}  // namespace farfault::workloads::gups
