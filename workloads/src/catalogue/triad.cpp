// SPDX-License-Identifier: Apache-2.0
// Triad of SHOC: c = a + s x b, on vectors that are copied to the GPU and back part by part. Two sets of
// buffers alternate, each with its own stream, so that one part is copied while another is computed. The
// program repeats this for parts of every size from the smallest to the whole vector.
//
// If the program copies nothing, only the kernels remain, which are independent within a size.
//
// Counts: LLVM 14's code for gfx803. Registers: nvcc 13.0 for sm_75.
#include <memory>
#include <string>
#include <vector>

#include "farfault/workloads/buffer_layout.hpp"
#include "farfault/workloads/kernel_support.hpp"
#include "spec_builder.hpp"

namespace farfault::workloads::triad {
namespace {

constexpr std::uint32_t kThreads = 128;

struct Spec {
  ByteSize size{4ULL << 20};
  ByteSize smallest{64ULL << 10};
  std::uint32_t passes = 1;
  std::uint32_t streams = 2;

  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{512}, ByteSize{1ULL << 32}},
            "Size of each vector and of each of the six GPU buffers: `smallest` times a power of two (SHOC: "
            "16 MiB, which takes 5 times as long)",
            "assumed");
    t.bytes("smallest", smallest, {ByteSize{512}, ByteSize{1ULL << 32}},
            "Size of the smallest parts in which a vector is copied, a multiple of 512 B; then doubled up to "
            "`size`",
            "SHOC, Triad");
    t.count("passes", passes, {1, 1000}, "Passes over all sizes (published: 10)", "assumed");
    t.count("streams", streams, {1, 2}, "Streams. 1: one for both sets of buffers; 2: one per set",
            "SHOC, Triad; Mosaic's published code: 1");
  }
};

struct Set {
  VirtAddr a, b, c;
};

class Triad final : public LinearKernel {
 public:
  Triad(std::uint64_t elements, std::uint32_t warp_width, Set const& set)
      : LinearKernel({"triad", elements / kThreads, kThreads, 12, 0}, warp_width, elements), set_(set) {}

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const t = threads(block, warp);
    auto const at = [&](Op op, VirtAddr array) { set_linear(out, op, 4, array + 4 * t.first, 4, t.lanes); };
    switch (step) {
      case 0:
        return set_arguments(out, 4);
      case 1:  // index and three addresses: the grid has a thread per element
        return set_compute(out, {.vector = 12, .scalar = 2}, kWait);
      case 2:
        return at(Op::load, set_.a);
      case 3:
        return at(Op::load, set_.b);
      case 4:
        return set_compute(out, {.vector = 1}, kWait);
      case 5:
        return at(Op::store, set_.c);
      default:
        return set_end(out);
    }
  }

 private:
  Set set_;
};

// The program: kernels, and operations in order.
class Program {
 public:
  Program(Spec const& spec, std::uint32_t warp_width, Set const (&sets)[2])
      : streams_(spec.streams), vector_(spec.size.bytes), warp_width_(warp_width), sets_{sets[0], sets[1]} {}

  // The whole vector in parts of `part` bytes.
  void add(std::uint64_t part) {
    start_together();
    auto const parts = vector_ / part;
    copy_in(0, part);
    launch(0, part);
    if (parts > 1) copy_in(1, part);
    for (std::uint64_t done = 0; done < parts; ++done) {
      auto const set = static_cast<std::uint32_t>(done % 2);
      add(Operation::copy_to_host(sets_[set].c, part), set);
      if (done + 1 < parts) launch(1 - set, part);
      if (done + 2 < parts) copy_in(set, part);
    }
  }

  std::vector<std::unique_ptr<Kernel const>> take_kernels() { return std::move(kernels_); }
  std::vector<Operation> take_operations() { return std::move(operations_); }

 private:
  void add(Operation operation, std::uint32_t set) {
    operation.stream = set % streams_;
    last_[operation.stream] = operations_.size();
    operations_.push_back(operation);
  }
  void copy_in(std::uint32_t set, std::uint64_t part) {
    add(Operation::copy_to_gpus(sets_[set].a, part), set);
    add(Operation::copy_to_gpus(sets_[set].b, part), set);
  }
  void launch(std::uint32_t set, std::uint64_t part) {
    add(Operation::launch(static_cast<std::uint32_t>(kernels_.size())), set);
    kernels_.push_back(std::make_unique<Triad>(part / 4, warp_width_, sets_[set]));
  }
  // The host waits for both streams before it continues with another size.
  void start_together() {
    if (last_[1] == kNone) return;
    std::size_t const last[2] = {last_[0], last_[1]};
    for (std::uint32_t stream = 0; stream < 2; ++stream)
      add(Operation::wait_for(static_cast<std::uint32_t>(last[1 - stream]), stream), stream);
  }

  static constexpr std::size_t kNone = ~std::size_t{0};

  std::uint32_t streams_;
  std::uint64_t vector_;
  std::uint32_t warp_width_;
  Set sets_[2];
  std::vector<std::unique_ptr<Kernel const>> kernels_;
  std::vector<Operation> operations_;
  std::size_t last_[2] = {kNone, kNone};  // last operation of each stream
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.smallest.bytes % (4 * kThreads) != 0)
    throw ParameterError("smallest", spec.smallest, "must be a multiple of 512 B, the data of a block");
  auto part = spec.smallest.bytes;
  while (part < spec.size.bytes) part *= 2;
  if (part != spec.size.bytes)
    throw ParameterError("size", spec.size,
                         "must be a power of two times smallest, " + to_text(spec.smallest));
  BufferLayout layout(context.buffers);
  Set sets[2];
  for (auto& set : sets) {
    auto const n = std::to_string(&set - sets);
    set.a = layout.add("a" + n, spec.size.bytes);
    set.b = layout.add("b" + n, spec.size.bytes);
    set.c = layout.add_result("c" + n, spec.size.bytes);
  }
  Program program(spec, context.warp_width, sets);
  for (std::uint32_t pass = 0; pass < spec.passes; ++pass)
    for (part = spec.smallest.bytes; part <= spec.size.bytes; part *= 2) program.add(part);
  return {"triad", layout.take(), program.take_kernels(), {}, program.take_operations()};
}

}  // namespace

WorkloadInfo info() {
  return {"triad",
          "c = a + s b with vectors copied to the GPU and back in parts of all sizes (SHOC)",
          &SpecBuilder<Spec, build>::make,
          {{kSmall, {{"size", "512KiB"}}},
           {kMedium, {}},
           {kPaper,
            {{"size", "16MiB"}, {"passes", "10"}},
            "SHOC, Triad, as in Mosaic (MICRO 2017): to 16 MiB, 10 passes"}}};
}

}  // namespace farfault::workloads::triad
