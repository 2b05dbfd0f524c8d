// SPDX-License-Identifier: Apache-2.0
// Accel-Sim kernel lists, in a folder with the trace of one kernel.
#include <string>

#include "farfault/workloads/trace.hpp"
#include "harness.hpp"

using namespace farfault;
using namespace farfault::workloads;

namespace {

constexpr std::string_view kTrace =
    "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 0\n-nregs = 8\n"
    "-accelsim tracer version = 5\n\n#traces format = x\n\n#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\n"
    "insts = 1\n0100 ffffffff 1 R1 LDG.E 1 R2 4 1 0x7f0000000000 4\n\n#END_TB\n";

}  // namespace

void fuzz_one(fuzz::Bytes input) {
  static fuzz::MemoryFolder const folder;
  static bool const trace_exists = [] {
    folder.set("kernel-1.traceg", {reinterpret_cast<std::uint8_t const*>(kTrace.data()), kTrace.size()});
    return true;
  }();
  static_cast<void>(trace_exists);
  folder.set("kernelslist.g", input);
  BuildContext context;
  context.limits = fuzz::small_limits();
  fuzz::accepts([&] {
    auto const workload = read_trace(folder.path(), context, {10'000});
    for (auto const& buffer : workload.buffers()) fuzz::expect(buffer.bytes > 0, "a region is not empty");
  });
}
