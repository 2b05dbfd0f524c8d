// SPDX-License-Identifier: Apache-2.0
// pathfinder and fw, executed on real values.
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/property_map/function_property_map.hpp>

#include "block_runs.hpp"
#include "graphbig.hpp"
#include "thread_play.hpp"

namespace farfault::workloads::dynamic_programs_test {
using namespace test;
using namespace test::lanes;
namespace {

constexpr double kFar = 999'999;

std::uint32_t weight(std::uint64_t from, std::uint64_t to) {
  return edge_weight(from, to, 101, 1) - 1;
}

// Dijkstra's algorithm from each vertex.
Values shortest_paths(CsrGraph const& g) {
  auto const graph = to_boost(g);
  auto const weights = boost::make_function_property_map<BoostGraph::edge_descriptor>(
      [&](auto const& e) { return static_cast<double>(weight(source(e, graph), target(e, graph))); });
  Values all;
  for (std::uint64_t v = 0; v < g.vertices; ++v) {
    Values from(g.vertices);
    boost::dijkstra_shortest_paths(
        graph, v,
        boost::weight_map(weights)
            .distance_map(boost::make_iterator_property_map(from.begin(), boost::identity_property_map()))
            .distance_inf(kFar));
    all.insert(all.end(), from.begin(), from.end());
  }
  return all;
}

void set_distances(Memory& memory, CsrGraph const& g) {
  std::ranges::fill(memory["distance"], kFar);
  for (std::uint64_t v = 0; v < g.vertices; ++v)
    for (auto e = g.offsets[v]; e < g.offsets[v + 1]; ++e)
      memory["distance"][v * g.vertices + g.targets[e]] = weight(v, g.targets[e]);
  for (std::uint64_t v = 0; v < g.vertices; ++v) memory["distance"][v * g.vertices + v] = 0;
}

CsrGraph small_graph() {
  RmatOptions options;
  options.scale = 6;
  options.edge_factor = 3;
  options.a = options.b = options.c = 0.25;
  return generate_rmat(options);
}

}  // namespace

TEST_CASE("pathfinder: the blocks' sums of their loads match those of the whole grid") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const& size : {std::array{700U, 12U, 5U}, {214U, 2U, 20U}, {1000U, 43U, 21U}}) {
      auto const cols = size[0], rows = size[1], height = size[2];
      CAPTURE(cols);
      auto const w = build("pathfinder",
                           {{"cols", std::to_string(cols)},
                            {"rows", std::to_string(rows)},
                            {"pyramid_height", std::to_string(height)}},
                           of_width(width));
      Memory memory(w);
      auto sums = fill(memory, "sums0", 1);
      auto const wall = fill(memory, "wall", 2);
      for (std::size_t r = 0; r + 1 < rows; ++r) {
        auto const before = sums;
        for (std::size_t c = 0; c < cols; ++c)
          sums[c] = wall[r * cols + c] + std::min({before[c], before[c - (c > 0)],
                                                   before[std::min<std::size_t>(c + 1, cols - 1)]});
      }
      REQUIRE(w.kernel_count() == (rows - 1 + height - 1) / height);
      for (std::size_t k = 0; k < w.kernel_count(); ++k) {
        auto const last = std::min(height, rows - 1 - static_cast<std::uint32_t>(k) * height);
        CHECK(barriers_agree(w, k, width));
        each_block(w, k, width, [&](auto, std::vector<Access> const& accesses) {
          std::map<std::uint32_t, double> sum;                             // by thread
          std::map<std::uint64_t, std::map<std::uint32_t, Access>> costs;  // by row and thread
          for (auto const& a : of_op(accesses, Op::load))
            if (a.buffer == "wall")
              costs[a.element / cols - k * height][a.thread] = a;
            else
              sum[a.thread] = memory.at(a);
          for (std::uint64_t r = 0; r < costs.size(); ++r) {
            auto const before = sum;
            sum.clear();
            for (auto const& [thread, a] : costs.at(r)) {
              auto const c = a.element % cols;
              auto least = before.at(thread);
              if (c > 0) least = std::min(least, before.at(thread - 1));
              if (c + 1 < cols) least = std::min(least, before.at(thread + 1));
              sum[thread] = memory.at(a) + least;
            }
          }
          CHECK((costs.empty() || costs.size() == last));
          for (auto const& a : of_op(accesses, Op::store)) memory.at(a) = sum.at(a.thread);
        });
      }
      CHECK(memory[w.kernel_count() % 2 == 0 ? "sums0" : "sums1"] == sums);
      CHECK(inside_buffers(w, width));
    }
}

TEST_CASE("pathfinder: a block reads its columns, and two fewer of each row") {
  // A block has 216 columns; the last has 100,000 - 462 x 216 = 208 columns and its halo.
  auto const w = build("pathfinder", {{"cols", "100000"}, {"rows", "21"}});
  REQUIRE(w.kernel_count() == 1);
  CHECK(w.kernel(0).shape().blocks == 463);
  auto const c = grids::counts_of(w.kernel(0), 32);
  std::uint64_t loads = 0;
  for (std::uint64_t block = 0; block < 463; ++block)
    for (std::uint64_t lost = 0; lost <= 20; ++lost) {
      auto const first = block * 216 + lost, end = block * 216 + 256 - lost;  // 20 columns beyond
      loads += std::min<std::uint64_t>(end, 100'020) - std::max<std::uint64_t>(first, 20);
    }
  CHECK(c.loaded == loads);
  CHECK(c.stored == 100'000);
  CHECK(c.barriers == 463 * 8 * 40);
}

TEST_CASE("fw: pairs write where the loaded sum is shorter, and end with the distances of Dijkstra") {
  auto const g = small_graph();
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w =
        build("fw", {{"rmat.scale", "6"}, {"rmat.edge_factor", "3"}, {"steps", "0"}}, of_width(width));
    REQUIRE(w.kernel_count() == g.vertices);
    Memory memory(w);
    set_distances(memory, g);
    std::uint64_t shorter = 0;
    for (std::size_t k = 0; k < w.kernel_count(); ++k) {
      std::set<std::uint64_t> wrote;
      auto const before = memory["distance"];
      play(w, k, width, memory, [&](auto, Access const& a, Values const& loaded) {
        REQUIRE(loaded.size() == 3);
        if (a.buffer == "through") {
          CHECK(wrote.contains(a.element));
          return static_cast<double>(k);
        }
        CHECK(wrote.insert(a.element).second);
        CHECK(loaded[0] + loaded[1] < loaded[2]);
        return loaded[0] + loaded[1];
      });
      for (std::uint64_t i = 0; i < g.vertices; ++i)
        for (std::uint64_t j = 0; j < g.vertices; ++j)
          if (before[i * g.vertices + k] + before[k * g.vertices + j] < before[i * g.vertices + j])
            CHECK(wrote.erase(i * g.vertices + j) == 1);
      CHECK(wrote.empty());
      shorter += lanes_of(w, k, width).stores / 2;
    }
    CHECK(shorter > g.vertices);
    CHECK(memory["distance"] == shortest_paths(g));
    // The intermediate vertex of a path is on it.
    for (std::uint64_t i = 0; i < g.vertices; ++i)
      for (std::uint64_t j = 0; j < g.vertices; ++j) {
        auto const& d = memory["distance"];
        auto const k = memory["through"][i * g.vertices + j];
        if (k < 0) continue;
        auto const via = static_cast<std::uint64_t>(k);
        CHECK(d[i * g.vertices + via] + d[via * g.vertices + j] == d[i * g.vertices + j]);
      }
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("fw: three loads for each pair and kernel; the lanes of a warp are a row apart") {
  auto const w = build("fw", {{"rmat.scale", "6"}, {"rmat.edge_factor", "3"}, {"steps", "5"}});
  REQUIRE(w.kernel_count() == 5);
  for (std::size_t k = 0; k < 5; ++k) {
    CHECK(w.kernel(k).shape().blocks == 16);
    auto const c = grids::counts_of(w.kernel(k), 32);
    CHECK(c.loads == 3 * 64 * 64 / 32);
    CHECK(c.loaded == 3 * 64 * 64);
  }
  each_block(w, 3, 32, [&](std::uint64_t block, std::vector<Access> const& accesses) {
    auto const loads = of_op(accesses, Op::load);
    for (std::uint32_t i = 0; i < 32; ++i) {
      auto const row = block % 4 * 16 + i % 16, column = block / 4 * 16 + i / 16;
      CHECK(loads[i] == Access{Op::load, "distance", 3 * 64 + column, i});
      CHECK(loads[32 + i] == Access{Op::load, "distance", row * 64 + 3, i});
      CHECK(loads[64 + i] == Access{Op::load, "distance", row * 64 + column, i});
    }
  });
}

TEST_CASE("fw: graphs that are not a multiple of a block, and records that are too long, are rejected") {
  TempFile const file("odd.graph", kHandGraph);
  CHECK(error_of([&] {
          build("fw", {{"graph", file.path()}});
        }) ==
        "fw: the graph has 5 vertices; the number must be a multiple of 16, the side of a block, and at most "
        "16384");
  CHECK(error_of([] {
          build("fw", {{"rmat.scale", "12"}, {"rmat.edge_factor", "1"}, {"steps", "600"}});
        }) == "fw: 600 steps of 4096 vertices need more than 1 GiB of host memory, the maximum; lower steps");
}

}  // namespace farfault::workloads::dynamic_programs_test
