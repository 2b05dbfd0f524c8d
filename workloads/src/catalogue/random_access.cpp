// Updates of random elements of one array: what HPC Challenge's RandomAccess (GUPS) does, each thread for
// itself. Which element a thread takes next is a hash of the seed, the thread and the number of the access,
// so that no access waits for one before it but by its warp's update.
#include <memory>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads {
namespace {

constexpr std::uint32_t kElement = 8;  // bytes: HPC Challenge's are of 64 bits

struct Spec {
  ByteSize size{std::uint64_t{64} << 20};
  std::uint64_t threads = 65'536;
  std::uint32_t accesses = 8;
  bool writes = true;
  std::uint32_t block = 256;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{kElement}, ByteSize{1ULL << 40}},
            "of the array of 64-bit elements, a multiple of 8 B", "assumed");
    t.count("threads", threads, {1, 1ULL << 32}, "threads in all", "assumed");
    t.count("accesses", accesses, {1, 1 << 20}, "elements that a thread takes, one after the other",
            "assumed");
    t.flag("writes", writes, "whether an element is written back after it was read",
           "HPC Challenge, RandomAccess: updates");
    t.count("block", block, {1, 1024}, "threads per block", "assumed");
  }
};

class RandomAccess final : public LinearKernel {
 public:
  RandomAccess(Spec const& spec, BuildContext const& context, VirtAddr base)
      : LinearKernel({"random_access", ceil_div(spec.threads, spec.block), spec.block, 16, 0},
                     context.warp_width, spec.threads),
        base_(base),
        elements_(spec.size.bytes / kElement),
        seed_(context.seed),
        accesses_(spec.accesses),
        steps_(spec.writes ? 3 : 2) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    if (step-- == 0) return set_arguments(out, 3);
    auto const t = threads(block, warp);
    // The index, a comparison with the number of threads, and the state of the generator.
    if (step-- == 0) return set_compute(out, {.vector = t.lanes ? 8U : 4U, .special = 1, .scalar = 4}, kWait);
    auto const access = step / steps_;
    if (t.lanes == 0 || access >= accesses_) return set_end(out);
    switch (step % steps_) {
      case 0:  // the generator's next value, its remainder, an address of 64 bits; the loop
        return set_compute(out, {.vector = 9, .special = 2, .scalar = 3});
      case 1:
        return elements(out, Op::load, t, access, false);
      default:
        return elements(out, Op::store, t, access, kWait);
    }
  }

 private:
  void elements(WarpInstruction& out, Op op, ThreadRange t, std::uint64_t access, bool wait) const {
    set_access(out, op, kElement, low_lanes(t.lanes), wait);
    for (std::uint32_t lane = 0; lane < t.lanes; ++lane)
      out.address[lane] = base_ + kElement * (hash((t.first + lane) * accesses_ + access) % elements_);
  }
  // The n-th number of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
  std::uint64_t hash(std::uint64_t n) const {
    auto z = seed_ + (n + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }

  VirtAddr base_;
  std::uint64_t elements_, seed_;
  std::uint64_t accesses_, steps_;
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.size.bytes % kElement != 0)
    throw UserError("random_access: size " + to_text(spec.size) + " is not a multiple of an element's 8 B");
  BufferLayout layout(context.first_address);
  auto const base = layout.add("array", spec.size.bytes);
  std::vector<std::unique_ptr<Kernel const>> kernels;
  kernels.push_back(std::make_unique<RandomAccess>(spec, context, base));
  return {"random_access", layout.take(), std::move(kernels)};
}

}  // namespace

WorkloadInfo random_access_info() {
  return {"random_access", "every thread updates random elements of one array (HPC Challenge's RandomAccess)",
          &SpecBuilder<Spec, build>::make};
}

}  // namespace farfault::workloads
