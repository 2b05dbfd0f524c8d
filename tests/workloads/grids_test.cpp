// SPDX-License-Identifier: Apache-2.0
// Workloads on matrices and grids: each block reads the elements that its results depend on.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>

#include "block_runs.hpp"

namespace farfault::workloads::grids_test {
using namespace test;
using namespace test::grids;

TEST_CASE("sgemm_parboil: each thread's sums over its and its block's loads are its row of A x B") {
  for (std::uint32_t const width : {32U, 64U}) {
    constexpr std::uint64_t m = 256, n = 48, k = 24;
    auto const w = build("sgemm_parboil", {{"m", "256"}, {"n", "48"}, {"k", "24"}}, of_width(width));
    auto const &a = buffer(w, "a"), &b = buffer(w, "b_transposed"), &c = buffer(w, "c");
    std::vector<int> product(m * n, 12345);
    std::vector<std::array<int, 16>> sum;
    std::array<int, 128> rows{};  // eight columns of B in shared memory
    std::vector<std::uint64_t> reads, stores;
    run_blocks(w.kernel(0), width, [&](auto, auto warp, auto phase, WarpInstruction const& in) {
      if (phase == 0 && in.op == Op::scalar_load && warp == 0) {
        sum.assign(128, {});
        reads.assign(128, 0);
        stores.assign(128, 0);
      }
      if (in.op != Op::load && in.op != Op::store) return;
      each_lane(in, [&](auto lane, VirtAddr at) {
        auto const thread = warp * width + lane;
        if (within(b, at)) rows[thread] = value((at - b.base) / 4 + 1);
        if (within(a, at))
          for (std::size_t i = 0, row = reads[thread]++ % 8; i < 16; ++i)
            sum[thread][i] += value((at - a.base) / 4) * rows[16 * row + i];
        if (in.op == Op::store) product[(at - c.base) / 4] = sum[thread][stores[thread]++];
      });
    });
    std::vector<int> expected(m * n);
    for (std::uint64_t y = 0; y < m; ++y)
      for (std::uint64_t x = 0; x < n; ++x)
        for (std::uint64_t i = 0; i < k; ++i) expected[y + x * m] += value(y + i * m) * value(x + i * n + 1);
    CHECK(product == expected);
    CHECK(all_equal(touches(w, a, Op::load, width, 4), n / 16));
    CHECK(all_equal(touches(w, b, Op::load, width, 4), m / 128));
    CHECK(all_equal(touches(w, c, Op::load, width, 4), 1));
    CHECK(all_equal(touches(w, c, Op::store, width, 4), 1));
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE(
    "sgemm_parboil: blocks and accesses follow from the sizes; two elements of A are outstanding at a time") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const k : {16U, 40U}) {
      auto const w =
          build("sgemm_parboil", {{"m", "128"}, {"n", "32"}, {"k", k == 16 ? "16" : "40"}}, of_width(width));
      CHECK(w.kernel(0).shape().blocks == 2);
      CHECK(w.footprint() == 4 * (128 * k + k * 32 + 128 * 32));
      auto const warps = 2 * 128 / width;
      auto const counts = counts_of(w.kernel(0), width);
      CHECK(counts.loads == warps * (k / 8 * 9 + 16));
      CHECK(counts.stores == warps * 16);
      CHECK(counts.barriers == warps * (k / 8 * 2));
    }
  std::vector<Op> ops;
  std::vector<std::uint64_t> waits;
  walk(build("sgemm_parboil", {{"m", "128"}, {"n", "16"}, {"k", "8"}}).kernel(0), 32,
       [&](auto, auto warp, auto step, WarpInstruction const& in) {
         if (warp != 0 || step >= 21) return;
         ops.push_back(in.op);
         if (in.wait_loads) waits.push_back(step);
       });
  using enum Op;
  CHECK(ops == std::vector<Op>{scalar_load, compute, load,    compute, barrier, load, load,
                               compute,     load,    load,    compute, load,    load, compute,
                               load,        load,    compute, barrier, compute, load, compute});
  CHECK(waits == std::vector<std::uint64_t>{1, 3, 7, 10, 13, 16, 20});
}

TEST_CASE("sgemm_parboil: a side that is not a multiple of the tile is rejected") {
  CHECK(error_of([] { build("sgemm_parboil", {{"m", "192"}}); }) == "m = 192 must be a multiple of 128");
  CHECK(error_of([] { build("sgemm_parboil", {{"k", "12"}}); }) == "k = 12 must be a multiple of 8");
}

TEST_CASE("laplace3d: a block has read all neighbours of every written node before the barrier") {
  for (std::uint32_t const width : {32U, 64U}) {
    constexpr std::uint64_t nx = 70, ny = 9, nz = 5, pitch = 72;
    auto const w = build("laplace3d",
                         {{"nx", "70"}, {"ny", "9"}, {"nz", "5"}, {"repeat", "2"}, {"row_alignment", "32 B"}},
                         of_width(width));
    REQUIRE(w.kernel_count() == 2);
    for (std::size_t kernel = 0; kernel < 2; ++kernel) {
      auto const &from = buffer(w, kernel == 0 ? "u1" : "u2"), &to = buffer(w, kernel == 0 ? "u2" : "u1");
      REQUIRE(from.bytes == 4 * pitch * ny * nz);
      std::map<std::uint64_t, std::size_t> read;  // node -> phase
      std::vector<int> written(pitch * ny * nz);
      std::uint64_t present = ~std::uint64_t{0}, early = 0;
      bool wrong = false;
      run_blocks(w.kernel(kernel), width, [&](auto block, auto, auto phase, WarpInstruction const& in) {
        if (block != present) read.clear();
        present = block;
        each_lane(in, [&](auto, VirtAddr at) {
          if (in.op == Op::load) {
            wrong = wrong || !within(from, at) || (at - from.base) / 4 % pitch >= nx;
            early += read.contains((at - from.base) / 4) ? 1 : 0;
            read.emplace((at - from.base) / 4, phase);
          }
          if (in.op != Op::store) return;
          auto const e = (at - to.base) / 4;
          std::uint64_t const x = e % pitch, y = e / pitch % ny, z = e / pitch / ny;
          wrong = wrong || !within(to, at) || x >= nx;
          ++written[e];
          auto const known = [&](std::uint64_t node) { return read.contains(node) && read[node] < phase; };
          bool complete = known(e);
          if (x > 0 && x + 1 < nx && y > 0 && y + 1 < ny && z > 0 && z + 1 < nz)
            for (auto const d : {std::uint64_t{1}, pitch, pitch * ny})
              complete = complete && known(e - d) && known(e + d);
          wrong = wrong || !complete;
        });
      });
      CHECK_FALSE(wrong);
      CHECK(early == 0);  // a block reads each node once
      for (std::uint64_t e = 0; e < written.size(); ++e) REQUIRE(written[e] == (e % pitch < nx ? 1 : 0));
    }
  }
}

TEST_CASE(
    "laplace3d: each block reads its tile and the halo around it, clipped at the grid, once for each plane") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const nx : {31U, 100U}) {
      std::uint64_t const ny = 10, nz = 3;
      auto const w =
          build("laplace3d", {{"nx", nx == 31 ? "31" : "100"}, {"ny", "10"}, {"nz", "3"}}, of_width(width));
      CHECK(w.footprint() == 2 * 512 * ny * nz);
      std::uint64_t loaded = 0, blocks = 0;
      for (std::uint64_t top = 0; top < ny; top += 4)
        for (std::uint64_t left = 0; left < nx; left += 32, ++blocks)
          loaded += nz * (std::min(left + 33, nx) - (left == 0 ? 0 : left - 1)) *
                    (std::min(top + 5, ny) - (top == 0 ? 0 : top - 1));
      auto const counts = counts_of(w.kernel(0), width);
      CHECK(w.kernel(0).shape().blocks == blocks);
      CHECK(counts.loaded == loaded);
      CHECK(counts.stored == nx * ny * nz);
      CHECK(counts.barriers == blocks * (128 / width) * nz * 2);
    }
}

TEST_CASE("laplace3d: rows padded to a size that is not a power of two are rejected") {
  CHECK(error_of([] {
          build("laplace3d", {{"row_alignment", "48 B"}});
        }) == "row_alignment = 48 B must be a power of two");
}

TEST_CASE("stencil3d: a block has read the whole stencil of every written element") {
  for (std::uint32_t const width : {32U, 64U}) {
    constexpr std::int64_t x = 64, y = 16, z = 20, plane = x * y;
    auto const w = build("stencil3d", {{"x", "64"}, {"y", "16"}, {"z", "20"}}, of_width(width));
    auto const &from = buffer(w, "input"), &to = buffer(w, "output");
    std::map<std::int64_t, std::size_t> read;
    std::vector<std::set<std::int64_t>> own(256);
    std::vector<std::int64_t> result(x * y * z, -1);
    std::uint64_t present = ~std::uint64_t{0};
    bool wrong = false;
    run_blocks(w.kernel(0), width, [&](auto block, auto warp, auto phase, WarpInstruction const& in) {
      if (block != present) {
        read.clear();
        own.assign(256, {});
      }
      present = block;
      each_lane(in, [&](auto lane, VirtAddr at) {
        if (in.op == Op::load && within(from, at)) {
          auto const e = static_cast<std::int64_t>(at - from.base) / 4;
          read[e] = phase;
          own[warp * width + lane].insert(e);
        }
        if (in.op != Op::store) return;
        wrong = wrong || !within(to, at);
        auto const e = static_cast<std::int64_t>(at - to.base) / 4;
        std::int64_t sum = value(static_cast<std::uint64_t>(e));
        for (std::int64_t r = 1; r <= 4; ++r)
          for (auto const d : {r, -r, r * x, -r * x, r * plane, -r * plane}) {
            auto const known = std::abs(d) >= plane ? own[warp * width + lane].contains(e + d)
                                                    : read.contains(e + d) && read[e + d] < phase;
            wrong = wrong || !known;
            sum += (r + 1) * value(static_cast<std::uint64_t>(e + d));
          }
        wrong = wrong || result[static_cast<std::size_t>(e)] != -1;
        result[static_cast<std::size_t>(e)] = sum + 1'000'000;
      });
    });
    CHECK_FALSE(wrong);
    for (std::int64_t e = 0; e < x * y * z; ++e) {
      bool const inner = e / plane >= 4 && e / plane < z - 12;
      REQUIRE((result[static_cast<std::size_t>(e)] != -1) == inner);
    }
    // Each block reads its column up to four planes ahead, and in every plane eight elements to each side of
    // its tile.
    std::vector<std::uint32_t> expected(x * y * z);
    for (std::int64_t top = 0; top < y; top += 8)
      for (std::int64_t left = 0; left < x; left += 32)
        for (std::int64_t at = 0; at < z - 8; ++at)
          for (auto j = top - 8; j < top + 16; ++j)
            for (auto i = left - 8; i < left + 40; ++i) {
              bool const beside_x = i < left || i >= left + 32, beside_y = j < top || j >= top + 8;
              bool const halo = at >= 4 && at < z - 12 && beside_x != beside_y;
              if (halo || (!beside_x && !beside_y))
                ++expected[static_cast<std::size_t>(at * plane + j * x + i)];
            }
    CHECK(touches(w, from, Op::load, width, 4) == expected);
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE(
    "stencil3d: a warp reads one element ahead, two above and below, its part of the sides, five "
    "coefficients") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const z : {17U, 21U}) {
      auto const w =
          build("stencil3d", {{"x", "32"}, {"y", "24"}, {"z", z == 17 ? "17" : "21"}, {"repeat", "2"}},
                of_width(width));
      REQUIRE(w.kernel_count() == 2);
      CHECK(w.kernel(1).shape().blocks == 3);
      CHECK(w.footprint() == 2 * 4 * 32 * 24 * z + 40);
      auto const counts = counts_of(w.kernel(1), width);
      std::uint64_t const warps = 3 * 256 / width, planes = z - 16;
      CHECK(counts.loads == warps * (8 + planes * 10));
      CHECK(counts.loaded == 3 * 256 * (8 + planes * 3) + planes * (3 * 256 / 2 + warps * 5));
      CHECK(counts.stored == planes * 3 * 256);
      CHECK(counts.barriers == warps * planes * 2);
      CHECK(touches(w, buffer(w, "coefficients"), Op::load, width, 4, 0, 1) ==
            std::vector<std::uint32_t>{
                static_cast<std::uint32_t>(warps * planes), static_cast<std::uint32_t>(warps * planes),
                static_cast<std::uint32_t>(warps * planes), static_cast<std::uint32_t>(warps * planes),
                static_cast<std::uint32_t>(warps * planes), 0, 0, 0, 0, 0});
    }
}

TEST_CASE("stencil3d: a side that is not a multiple of the tile is rejected") {
  CHECK(error_of([] { build("stencil3d", {{"x", "100"}}); }) == "x = 100 must be a multiple of 32");
  CHECK(error_of([] { build("stencil3d", {{"y", "100"}}); }) == "y = 100 must be a multiple of 8");
}

}  // namespace farfault::workloads::grids_test
