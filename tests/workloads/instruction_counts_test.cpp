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
  CHECK(count("vectoradd") ==
        Counts{.vector = 11, .special = 1, .scalar = 7, .memory = 3, .scalar_loads = 4});
  CHECK(count("relu") == Counts{.vector = 13, .scalar = 4, .memory = 2, .scalar_loads = 4});
  CHECK(count("fir") == Counts{.vector = 251, .scalar = 86, .memory = 17, .scalar_loads = 20});
  CHECK(count("maxpool") ==
        Counts{.vector = 131, .special = 23, .scalar = 66, .memory = 6, .scalar_loads = 7});
  CHECK(count("aes") == Counts{.vector = 3068, .scalar = 127, .memory = 240, .scalar_loads = 6});
  CHECK(count("transpose") ==
        Counts{.vector = 96, .special = 9, .scalar = 9, .shared = 8, .memory = 8, .scalar_loads = 4});
  CHECK(count("fft") == Counts{.vector = 1562, .scalar = 451, .shared = 32, .memory = 16, .scalar_loads = 2});
  CHECK(count("kmeans", 0) ==
        Counts{.vector = 453, .special = 1, .scalar = 69, .memory = 64, .scalar_loads = 4});
  CHECK(count("kmeans", 1) == Counts{.vector = 2319, .scalar = 340, .memory = 161, .scalar_loads = 166});
  CHECK(count("stencil2d") ==
        Counts{.vector = 662, .special = 16, .scalar = 41, .shared = 90, .memory = 70, .scalar_loads = 4});
  CHECK(count("sgemm") ==
        Counts{.vector = 593, .special = 4, .scalar = 72, .shared = 1056, .memory = 33, .scalar_loads = 5});
  CHECK(count("random_access") ==
        Counts{.vector = 407, .special = 193, .scalar = 36, .memory = 16, .scalar_loads = 3});
  CHECK(count("stream") == Counts{.vector = 9 + 2 * 8, .scalar = 4, .memory = 8});
}

}  // namespace farfault::workloads::instruction_counts_test
