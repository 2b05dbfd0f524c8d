// SPDX-License-Identifier: Apache-2.0
// Instructions that a warp of each kernel executes, by kind: docs/reference/workloads.md.
#include "warp_walk.hpp"

namespace farfault::workloads::instruction_counts_test {
using namespace test;
namespace {

struct Counts {
  std::uint64_t vector = 0;
  std::uint64_t special = 0;
  std::uint64_t scalar = 0;
  std::uint64_t shared = 0;
  std::uint64_t memory = 0;
  std::uint64_t scalar_loads = 0;
  bool operator==(Counts const&) const = default;
};

std::ostream& operator<<(std::ostream& out, Counts const& c) {
  return out << c.vector << " vector, " << c.special << " special, " << c.scalar << " scalar, " << c.shared
             << " shared, " << c.memory << " memory, " << c.scalar_loads << " scalar loads";
}

// Counts of warp 0 of block 0, with 64 lanes. A barrier is a scalar instruction.
Counts count(std::string const& workload, std::size_t kernel = 0) {
  BuildContext context;
  context.warp_width = 64;
  auto const w = build(workload, {}, context);
  Counts c;
  WarpInstruction in;
  for (std::uint64_t step = 0;; ++step) {
    w.kernel(kernel).instruction(0, 0, step, in);
    switch (in.op) {
      case Op::end:
        return c;
      case Op::barrier:
        ++c.scalar;
        break;
      case Op::load:
      case Op::store:
        ++c.memory;
        break;
      case Op::scalar_load:
        c.scalar_loads += in.work.scalar;
        break;
      case Op::compute:
        c.vector += in.work.vector;
        c.special += in.work.special;
        c.scalar += in.work.scalar;
        c.shared += in.work.shared;
    }
  }
}

}  // namespace

TEST_CASE("instruction counts: a full warp of each kernel executes the handbook's counts") {
  CHECK(count("vectoradd") == Counts{11, 1, 7, 0, 3, 4});
  CHECK(count("relu") == Counts{13, 0, 4, 0, 2, 4});
  CHECK(count("fir") == Counts{251, 0, 86, 0, 17, 20});
  CHECK(count("maxpool") == Counts{131, 23, 66, 0, 6, 7});
  CHECK(count("aes") == Counts{3068, 0, 127, 0, 240, 6});
  CHECK(count("transpose") == Counts{96, 9, 9, 8, 8, 4});
  CHECK(count("fft") == Counts{1562, 0, 451, 32, 16, 2});
  CHECK(count("kmeans", 0) == Counts{453, 1, 69, 0, 64, 4});
  CHECK(count("kmeans", 1) == Counts{2319, 0, 340, 0, 161, 166});
  CHECK(count("stencil2d") == Counts{662, 16, 41, 90, 70, 4});
  CHECK(count("sgemm") == Counts{593, 4, 72, 1056, 33, 5});
  CHECK(count("random_access") == Counts{407, 193, 36, 0, 16, 3});
  CHECK(count("stream") == Counts{9 + 2 * 8, 0, 4, 0, 8, 0});
}

}  // namespace farfault::workloads::instruction_counts_test
