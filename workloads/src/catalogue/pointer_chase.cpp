// SPDX-License-Identifier: Apache-2.0
// Latency microbenchmark: one lane of one warp follows a chain of pointers, one load at a time.
//
// Every load waits for the previous one. On an idle machine the run therefore takes the sum of the load
// latencies plus the cycle that uses the last one: a closed form.
// - Order `random` is one cycle through all elements in random order (Sattolo's algorithm), which no stride
//   prefetcher predicts.
// - Order `lines` visits them by ascending address: with a stride of at least a cache line each of the first
//   `elements` loads is a cold miss, and a new page begins every page / stride loads.
// - Several chains run one after the other, by a kernel each, over a buffer each: differences between the
//   buffers show in the times of the kernels. In several streams they run concurrently: the total time shows
//   the latency that can be hidden.
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "random.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::pointer_chase {
namespace {

enum class Order { random, ascending };

struct Spec {
  ByteSize stride{128};
  std::uint64_t elements = 8192;
  std::uint64_t hops = 16384;
  std::uint32_t chains = 1;
  std::uint32_t streams = 1;
  Order order = Order::random;

  void describe(ParamTable& t) {
    t.bytes("stride", stride, {ByteSize{8}, ByteSize{1ULL << 30}},
            "Distance between neighbouring elements, a multiple of 8 B", "assumed");
    t.count("elements", elements, {1, 1ULL << 26}, "Pointers per chain", "assumed");
    t.count("hops", hops, {1, 1ULL << 40},
            "Loads per chain; if more than `elements`, the chain is walked again", "assumed");
    t.count("chains", chains, {1, 1024},
            "Chains, one kernel and one buffer each: chain0, chain1, ... (a single chain: chain)", "assumed");
    t.count("streams", streams, {1, 64}, "Streams; the kernels of the chains are assigned round-robin",
            "assumed");
    t.choice("order", order,
             {{"random", Order::random, "one random cycle"},
              {"lines", Order::ascending, "ascending addresses, for cold misses"}},
             "Order of the chain", "assumed");
  }
};

class PointerChase final : public Kernel {
 public:
  PointerChase(Spec const& spec, VirtAddr base, std::uint64_t seed)
      : shape_{"pointer_chase", 1, 1, 16, 0},
        base_(base),
        stride_(spec.stride.bytes),
        elements_(spec.elements),
        hops_(spec.hops) {
    if (spec.order == Order::ascending) return;
    std::vector<std::uint32_t> next(elements_);
    std::iota(next.begin(), next.end(), 0U);
    Random random(seed);
    for (auto i = elements_ - 1; i > 0; --i) std::swap(next[i], next[random.below(i)]);
    visit_.reserve(elements_);
    std::uint32_t at = 0;
    for (std::uint64_t i = 0; i < elements_; ++i, at = next[at]) visit_.push_back(at);
  }

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (block != 0 || warp != 0 || step > hops_) return set_end(out);
    if (step == hops_) return set_compute(out, {}, kWait);  // wait for the last pointer
    auto const i = step % elements_;
    set_uniform(out, Op::load, 8, base_ + stride_ * (visit_.empty() ? i : visit_[i]), kWait);
  }

 private:
  KernelShape shape_;
  VirtAddr base_;
  std::uint64_t stride_, elements_, hops_;
  std::vector<std::uint32_t> visit_;  // elements in chain order; empty for ascending order
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.stride.bytes % 8 != 0)
    throw ParameterError("stride", spec.stride, "must be a multiple of 8 B, the size of a pointer");
  BufferLayout layout(context.buffers);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  std::vector<Operation> operations;
  for (std::uint32_t c = 0; c < spec.chains; ++c) {
    auto const base = layout.add(spec.chains == 1 ? "chain" : "chain" + std::to_string(c),
                                 spec.stride.bytes * spec.elements);
    kernels.push_back(std::make_unique<PointerChase>(spec, base, context.seed));
    operations.push_back(Operation::launch(c, c % spec.streams));
  }
  return {"pointer_chase", layout.take(), std::move(kernels), {}, std::move(operations)};
}

}  // namespace

WorkloadInfo info() {
  return {"pointer_chase",
          "One lane follows a chain of pointers: unloaded latency",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"elements", "2048"}, {"hops", "4096"}}},
           {kMedium, {}},
           {kPaper,
            {{"elements", "524288"}, {"hops", "1048576"}},
            "assumed: the average footprint of GMMU Bypass (NPC 2020), 64 MB"}}};
}

}  // namespace farfault::workloads::pointer_chase
