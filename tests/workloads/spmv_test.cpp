// SPDX-License-Identifier: Apache-2.0
// spmv, executed on real values.
#include "block_runs.hpp"
#include "graphbig.hpp"
#include "thread_play.hpp"

namespace farfault::workloads::spmv_test {
using namespace test;
using namespace test::lanes;
namespace {

double entry(std::uint64_t row, std::uint64_t column) {
  return static_cast<double>((row * 31 + column * 17) % 23) - 11;
}

// Each thread sums the entries of the row that it stores, at the columns of its loads from the vector.
// Entries beyond the row's end are at column 0 and have the value 0.
void check_product(Workload const& w, CsrGraph const& g, std::uint32_t width) {
  Memory memory(w);
  auto const x = fill(memory, "x", 3);
  std::vector<std::uint32_t> values(memory["values"].size()), columns(values.size());
  std::vector<std::uint32_t> stored(g.vertices);
  each_block(w, 0, width, [&](auto, std::vector<Access> const& accesses) {
    std::map<std::uint32_t, std::vector<Access>> of_thread;
    for (auto const& a : accesses) of_thread[a.thread].push_back(a);
    for (auto const& [thread, list] : of_thread) {
      REQUIRE(list.back().op == Op::store);
      CHECK(list.back().buffer == "y");
      auto const row = list.back().element;
      std::vector<std::uint64_t> value, column, from;
      for (auto const& a : list) {
        if (a.buffer == "values") value.push_back(a.element), ++values[a.element];
        if (a.buffer == "columns") column.push_back(a.element), ++columns[a.element];
        if (a.buffer == "x") from.push_back(a.element);
      }
      CHECK(value == column);
      CHECK(from.size() == value.size());
      auto const size = g.offsets[row + 1] - g.offsets[row];
      REQUIRE(from.size() >= size);
      double sum = 0, expected = 0;
      for (std::size_t k = 0; k < from.size(); ++k) {
        if (k >= size)
          CHECK(from[k] == 0);
        else
          sum += entry(row, from[k]) * x[from[k]];
      }
      for (auto e = g.offsets[row]; e < g.offsets[row + 1]; ++e)
        expected += entry(row, g.targets[e]) * x[g.targets[e]];
      CHECK(sum == expected);
      ++stored[row];
    }
  });
  CHECK(all_equal(stored, 1));
  // Rows of the last group without a thread are padding.
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] <= 1);
  CHECK(values == columns);
  CHECK(inside_buffers(w, width));
}

CsrGraph cube(std::uint64_t side) {
  CsrGraph g;
  g.vertices = side * side * side;
  g.offsets.push_back(0);
  for (std::uint64_t a = 0; a < g.vertices; ++a) {
    for (std::uint64_t b = 0; b < g.vertices; ++b) {
      auto const near = [&](std::uint64_t unit) {
        auto const p = a / unit % side, q = b / unit % side;
        return p + 1 >= q && q + 1 >= p;
      };
      if (near(1) && near(side) && near(side * side)) g.targets.push_back(static_cast<std::uint32_t>(b));
    }
    g.offsets.push_back(g.targets.size());
  }
  return g;
}

}  // namespace

TEST_CASE("spmv: a thread's loads, multiplied and added, are the element of A x that it stores") {
  for (std::uint32_t const width : {32U, 64U}) {
    check_product(build("spmv", {{"side", "5"}}, of_width(width)), cube(5), width);
    for (auto const& g : test_graphs({"chesapeake.mtx", "power.graph"}, 7)) {
      if (g.settings.size() != 1) continue;  // skip generated graphs
      check_product(build_on("spmv", g, {}, width), g.graph, width);
    }
  }
  TempFile const hand("hand.graph", kHandGraph);  // with an empty row
  check_product(build("spmv", {{"graph", hand.path()}}), undirected(read_graph(hand.path())), 32);
}

TEST_CASE("spmv: a mesh's rows have 27 entries, fewer at its sides, and are padded in groups of 32") {
  // 10^3 points: 8^3 rows of 27, 6 x 8^2 of 18, 12 x 8 of 12, 8 of 8; 32 groups.
  auto const w = build("spmv", {{"side", "10"}, {"iterations", "2"}});
  REQUIRE(w.kernel_count() == 2);
  std::uint64_t elements = 0, diagonals = 0;
  for (std::uint64_t group = 0; group < 32; ++group) {
    auto const first = 32 * group;
    auto const length = first < 512 ? 27 : first < 896 ? 18 : first < 992 ? 12 : 8;
    elements += 32 * static_cast<std::uint64_t>(length);
    diagonals += static_cast<std::uint64_t>(length);
  }
  CHECK(buffer(w, "values").bytes == 4 * elements);
  CHECK(buffer(w, "starts").bytes == 4 * 27);
  CHECK(w.kernel(1).shape().blocks == 6);
  auto const c = grids::counts_of(w.kernel(1), 32);
  // A value, a column and an element of x per entry, and the position; the last group has 8 rows.
  CHECK(c.loads == 3 * diagonals + 32);
  CHECK(c.loaded == 3 * (elements - 24 * 8) + 1000);
  CHECK(c.stores == 32);
  CHECK(c.stored == 1000);
  // The arguments of all 36 warps; a length and the starts of diagonals for warps with rows.
  CHECK(c.scalar_loads == 36 + 32 + diagonals);
}

}  // namespace farfault::workloads::spmv_test
