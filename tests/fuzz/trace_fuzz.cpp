// SPDX-License-Identifier: Apache-2.0
// Accel-Sim kernel traces. For an accepted trace, the first steps of every warp are requested.
#include "farfault/workloads/trace.hpp"
#include "harness.hpp"

using namespace farfault;
using namespace farfault::workloads;

namespace {

void walk(Kernel const& kernel) {
  constexpr std::uint64_t kMaxBlocks = 8;
  constexpr std::uint64_t kMaxSteps = 100;
  auto const& shape = kernel.shape();
  auto const warps = (shape.threads_per_block + 31) / 32;
  for (std::uint64_t block = 0; block < std::min(shape.blocks, kMaxBlocks); ++block) {
    for (std::uint32_t warp = 0; warp < warps; ++warp) {
      WarpInstruction instruction;
      for (std::uint64_t step = 0; step < kMaxSteps; ++step) {
        kernel.instruction(block, warp, step, instruction);
        if (instruction.op == Op::end) break;
      }
    }
  }
}

}  // namespace

void fuzz_one(fuzz::Bytes input) {
  static fuzz::MemoryFile file;
  file.set(input);
  workloads::BuildContext context;
  context.limits = fuzz::small_limits();
  fuzz::accepts([&] {
    auto const workload = read_trace(file.path(), context, {10'000});
    for (std::size_t k = 0; k < workload.kernel_count(); ++k) walk(workload.kernel(k));
  });
  fuzz::accepts([&] { static_cast<void>(summarize_trace(file.path(), context.limits)); });
}
