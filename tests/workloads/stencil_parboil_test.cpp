// SPDX-License-Identifier: Apache-2.0
// stencil_parboil, executed on real values.
#include "block_runs.hpp"
#include "thread_play.hpp"

namespace farfault::workloads::stencil_parboil_test {
using namespace test;
using namespace test::lanes;

TEST_CASE("stencil_parboil: the blocks' loads suffice for their stored points, which are Jacobi's") {
  constexpr std::uint64_t nx = 130, ny = 11, nz = 6;
  constexpr double c0 = 1.0 / 6, c1 = 1.0 / 36;
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("stencil_parboil", {{"nx", "130"}, {"ny", "11"}, {"nz", "6"}, {"iterations", "3"}},
                         of_width(width));
    REQUIRE(w.kernel_count() == 3);
    CHECK(w.kernel(0).shape().blocks == 3 * 3);
    Memory memory(w);
    auto now = fill(memory, "volume0", 1);
    memory["volume1"] = now;
    auto const at = [](std::uint64_t x, std::uint64_t y, std::uint64_t z) { return x + nx * (y + ny * z); };
    auto const point = [](auto get, std::uint64_t e) {
      return (get(e + nx * ny) + get(e - nx * ny) + get(e + nx) + get(e - nx) + get(e + 1) + get(e - 1)) *
                 c1 -
             get(e) * c0;
    };
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(barriers_agree(w, k, width));
      each_block(w, k, width, [&](auto, std::vector<Access> const& accesses) {
        std::map<std::uint64_t, double> loaded;
        for (auto const& a : of_op(accesses, Op::load)) {
          CHECK(a.buffer == (k % 2 == 0 ? "volume0" : "volume1"));
          loaded[a.element] = memory.at(a);
        }
        for (auto const& a : of_op(accesses, Op::store)) {
          CHECK(a.buffer == (k % 2 == 0 ? "volume1" : "volume0"));
          memory.at(a) = point([&](std::uint64_t e) { return loaded.at(e); }, a.element);
        }
      });
      auto const before = now;
      for (std::uint64_t z = 1; z + 1 < nz; ++z)
        for (std::uint64_t y = 1; y + 1 < ny; ++y)
          for (std::uint64_t x = 1; x + 1 < nx; ++x)
            now[at(x, y, z)] = point([&](std::uint64_t e) { return before[e]; }, at(x, y, z));
      CHECK(near(memory[k % 2 == 0 ? "volume1" : "volume0"], now));
    }
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("stencil_parboil: each point once, and the inner sides of the blocks' parts") {
  // 2 x 4 blocks of 64 x 4 columns; 62 planes minus two are written.
  auto const w = build("stencil_parboil", {{"nx", "128"}, {"ny", "16"}, {"nz", "62"}, {"iterations", "1"}});
  auto const c = grids::counts_of(w.kernel(0), 32);
  // The first and last rows of blocks except the volume's first and last, and the inner columns 63 and 64
  // except in the volume's border rows.
  auto const sides = 2 * 3 * 126 + 2 * 14U;
  CHECK(c.loaded == 128 * 16 * 62 + 60 * sides);
  CHECK(c.stored == 126 * 14 * 60);
  CHECK(c.barriers == 8 * 4 * (2 + 2 * 60));
}

}  // namespace farfault::workloads::stencil_parboil_test
