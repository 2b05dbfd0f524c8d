// SPDX-License-Identifier: Apache-2.0
// atax, bicg, mvt and conv2d, executed on real values.
#include "block_runs.hpp"
#include "thread_play.hpp"

namespace farfault::workloads::polybench_test {
using namespace test;
using namespace test::lanes;
namespace {

constexpr std::uint64_t kRows = 70, kCols = 300;

Values product(Values const& a, Values const& x, bool transposed) {
  Values y(transposed ? kCols : kRows);
  for (std::uint64_t i = 0; i < kRows; ++i)
    for (std::uint64_t j = 0; j < kCols; ++j)
      (transposed ? y[j] : y[i]) += a[i * kCols + j] * (transposed ? x[i] : x[j]);
  return y;
}

// Each store is the sum so far: the value that was loaded or set first, plus the products of the matrix's
// element, which each thread loads, and the vector's, which the first lane of the warp loads for all.
void play_product(Workload const& w, std::size_t kernel, std::uint32_t width, Memory& memory,
                  std::string_view vector) {
  each_block(w, kernel, width, [&](auto, std::vector<Access> const& accesses) {
    std::map<std::uint32_t, double> factor, element, sum;  // factor by warp, the others by thread
    for (auto const& a : accesses) {
      if (a.op == Op::store)
        memory.at(a) = sum[a.thread] += element[a.thread] * factor[a.thread / width];
      else if (a.buffer == vector)
        factor[a.thread / width] = memory.at(a);
      else
        (a.buffer == "a" ? element : sum)[a.thread] = memory.at(a);
    }
  });
}

}  // namespace

TEST_CASE("atax: the kernels' loads, multiplied and added, give A x and then A^T (A x)") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("atax", {{"rows", "70"}, {"cols", "300"}}, of_width(width));
    Memory memory(w);
    auto const a = fill(memory, "a", 1), x = fill(memory, "x", 2);
    for (auto const* name : {"y", "tmp"}) std::ranges::fill(memory[name], 0);
    play_product(w, 0, width, memory, "x");
    play_product(w, 1, width, memory, "tmp");
    CHECK(inside_buffers(w, width));
    CHECK(memory["tmp"] == product(a, x, false));
    CHECK(memory["y"] == product(a, memory["tmp"], true));
  }
}

TEST_CASE("bicg: the kernels' loads, multiplied and added, give A^T r and A p, for any initial contents") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("bicg", {{"rows", "70"}, {"cols", "300"}}, of_width(width));
    Memory memory(w);
    auto const a = fill(memory, "a", 1), r = fill(memory, "r", 2), p = fill(memory, "p", 3);
    play_product(w, 0, width, memory, "r");
    play_product(w, 1, width, memory, "p");
    CHECK(inside_buffers(w, width));
    CHECK(memory["s"] == product(a, r, true));
    CHECK(memory["q"] == product(a, p, false));
  }
}

TEST_CASE("mvt: the kernels' loads, multiplied and added, give x1 + A y1 and x2 + A^T y2") {
  constexpr std::uint64_t n = 270;
  auto const w = build("mvt", {{"side", "270"}});
  Memory memory(w);
  auto const a = fill(memory, "a", 1), y1 = fill(memory, "y1", 2), y2 = fill(memory, "y2", 3);
  auto x1 = fill(memory, "x1", 4), x2 = fill(memory, "x2", 5);
  for (std::uint64_t i = 0; i < n; ++i)
    for (std::uint64_t j = 0; j < n; ++j) {
      x1[i] += a[i * n + j] * y1[j];
      x2[i] += a[j * n + i] * y2[j];
    }
  play_product(w, 0, 32, memory, "y1");
  play_product(w, 1, 32, memory, "y2");
  CHECK(memory["x1"] == x1);
  CHECK(memory["x2"] == x2);
}

TEST_CASE("atax, bicg, mvt: accesses equal the matrix's elements, one row or one line at a time") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::string const name : {"atax", "bicg", "mvt"}) {
      CAPTURE(name);
      auto const w = name == "mvt" ? build(name, {{"side", "512"}}, of_width(width))
                                   : build(name, {{"rows", "512"}, {"cols", "512"}}, of_width(width));
      REQUIRE(w.kernel_count() == 2);
      auto const warps = 512 / width;
      for (std::size_t k = 0; k < 2; ++k) {
        auto const clears = name == "bicg";
        auto const c = grids::counts_of(w.kernel(k), width);
        CHECK(c.loads == warps * (2 * 512 + !clears));
        CHECK(c.stores == warps * (512 + clears));
        CHECK(c.scalar_loads == warps);
        CHECK(c.barriers == 0);
        // The vector's elements are loaded by one lane, the matrix's and the sums by all lanes.
        CHECK(c.loaded == warps * 512 + 512 * (512 + !clears));
        CHECK(c.stored == 512 * (512 + clears));
        // 128-byte lines in an access to the matrix: along rows each lane has its own.
        bool const rows = k == (clears ? 1 : 0);
        std::set<std::size_t> lines;
        walk(w.kernel(k), width, [&](auto, auto, auto, WarpInstruction const& in) {
          if (in.op != Op::load || !grids::within(buffer(w, "a"), in.address[0])) return;
          std::set<VirtAddr> of_access;
          each_lane(in, [&](auto, VirtAddr a) { of_access.insert(a / 128); });
          lines.insert(of_access.size());
        });
        CHECK(lines == std::set<std::size_t>{rows ? width : width / 32});
      }
    }
}

TEST_CASE("conv2d: a thread's loads with the filter's weights give its element of the convolved matrix") {
  constexpr std::uint64_t rows = 21, cols = 71;
  constexpr double filter[] = {0.2, 0.5, -0.8, -0.3, 0.6, -0.9, 0.4, 0.7, 0.1};
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("conv2d", {{"rows", "21"}, {"cols", "71"}}, of_width(width));
    Memory memory(w);
    auto const a = fill(memory, "a", 1);
    auto const untouched = memory["b"];
    play(w, 0, width, memory, [&](auto, auto const&, Values const& loaded) {
      REQUIRE(loaded.size() == 9);
      double sum = 0;
      for (std::size_t i = 0; i < 9; ++i) sum += filter[i] * loaded[i];
      return sum;
    });
    auto expected = untouched;
    for (std::uint64_t i = 1; i + 1 < rows; ++i)
      for (std::uint64_t j = 1; j + 1 < cols; ++j) {
        expected[i * cols + j] = 0;
        for (std::uint64_t f = 0; f < 9; ++f)
          expected[i * cols + j] += filter[f] * a[(i + f / 3 - 1) * cols + j + f % 3 - 1];
      }
    CHECK(memory["b"] == expected);
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("conv2d: nine loads and one store for each element that is not on the border") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("conv2d", {{"rows", "64"}, {"cols", "96"}}, of_width(width));
    CHECK(w.kernel(0).shape().blocks == 3 * 8);
    auto const c = grids::counts_of(w.kernel(0), width);
    CHECK(c.loaded == 9 * 62 * 94);
    CHECK(c.stored == 62 * 94);
    // A warp of 32 is part of one row; two rows have no element. A warp of 64 covers two rows.
    auto const warps = width == 32 ? 3 * 62 : 3 * 32U;
    CHECK(c.loads == 9 * warps);
    CHECK(c.stores == warps);
  }
}

}  // namespace farfault::workloads::polybench_test
