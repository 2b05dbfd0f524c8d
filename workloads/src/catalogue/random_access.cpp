// SPDX-License-Identifier: Apache-2.0
// Every thread reads or updates random elements of one large array, drawn from the seed: the lanes of a warp
// usually access a page each. This is the random access of studies of unified memory (Allen and Ge, SC 2021),
// and with updates the pattern of GUPS (HPC Challenge, RandomAccess).
//
// Access k of thread t uses number t * accesses + k of the generator, scaled to the array: uniform, with
// repetitions, and computable without the earlier numbers. Two threads may update one element at the same
// time, as in GUPS, which allows lost updates.
//
// Counts: the generator's three shifts, sums and products of 64 bits, and the product that scales; assumed,
// because no compiled kernel was read.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "random.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::random_access {
namespace {

struct Spec {
  ByteSize size{64ULL << 20};
  std::uint64_t threads = 65'536;
  std::uint32_t accesses = 16;
  bool updates = false;
  std::uint32_t block = 256;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{8}, ByteSize{1ULL << 44}}, "Size of the array of 8-byte elements",
            "assumed");
    t.count("threads", threads, {1, 1ULL << 32}, "Total threads", "assumed");
    t.count("accesses", accesses, {1, 1U << 20}, "Elements accessed by each thread, in sequence", "assumed");
    t.flag("updates", updates,
           "Read, change and write each element before the next access. false: read all elements without "
           "waiting, then sum them",
           "assumed; HPC Challenge, RandomAccess: updates");
    t.count("block", block, {1, 1024}, "Threads per block", "assumed");
  }
};

class RandomAccess final : public LinearKernel {
 public:
  RandomAccess(KernelShape shape, std::uint32_t warp_width, Spec const& spec, VirtAddr array,
               std::uint64_t seed)
      : LinearKernel(std::move(shape), warp_width, spec.threads),
        array_(array),
        elements_(spec.size.bytes / kElement),
        accesses_(spec.accesses),
        steps_(spec.updates ? 4 : 2),
        seed_(seed) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    if (step == 0) return set_arguments(out, 3);
    if (step == 1)
      return set_compute(out, {.vector = 6, .special = 1, .scalar = 4}, kWait);  // index, compare
    auto const k = (step - 2) / steps_;
    if (t.lanes == 0 || k > accesses_) return set_end(out);
    if (k == accesses_) {  // the last value read is used
      bool const sum = steps_ == 2 && (step - 2) % steps_ == 0;
      return sum ? set_compute(out, {.vector = 1}, kWait) : set_end(out);
    }
    switch ((step - 2) % steps_) {
      case 0:
        return set_compute(out, {.vector = 25, .special = 12, .scalar = 2});
      case 1:
        return elements(out, Op::load, t, k);
      case 2:
        return set_compute(out, {.vector = 2}, kWait);  // both halves of the element
      default:
        return elements(out, Op::store, t, k);
    }
  }

 private:
  static constexpr std::uint64_t kElement = 8;

  void elements(WarpInstruction& out, Op op, ThreadRange const& t, std::uint64_t k) const {
    set_access(out, op, kElement, low_lanes(t.lanes));
    for (std::uint32_t lane = 0; lane < t.lanes; ++lane)
      out.address[lane] =
          array_ + kElement * Random::at(seed_, (t.first + lane) * accesses_ + k).below(elements_);
  }

  VirtAddr array_;
  std::uint64_t elements_, accesses_, steps_, seed_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  BufferLayout layout(context.buffers);
  auto const bytes = spec.size.bytes / 8 * 8;
  auto const array = spec.updates ? layout.add_result("array", bytes) : layout.add("array", bytes);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<RandomAccess>(
      KernelShape{"random_access", ceil_div(spec.threads, spec.block), spec.block, 24, 0}, context.warp_width,
      spec, array, context.seed));
  return {"random_access", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo info() {
  return {"random_access",
          "Random reads or updates of one array by all threads",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"size", "4MiB"}, {"threads", "4096"}}},
           {kMedium, {}},
           {kPaper,
            {},
            "assumed: the average footprint of GMMU Bypass (NPC 2020), 64 MB; studies of unified memory "
            "choose sizes relative to their GPU's memory"}}};
}

}  // namespace farfault::workloads::random_access
