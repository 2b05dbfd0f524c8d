// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <map>

#include "data.hpp"
#include "farfault/workloads/graph.hpp"
#include "temp_file.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads::graph_kernels_test {
using namespace test;
namespace {

struct BfsRun {
  std::map<std::uint64_t, std::uint32_t> level;  // of each written vertex and of the source
  std::vector<std::uint32_t> edge_visits;
  std::vector<std::uint32_t> level_reads;  // per kernel: number of vertices that read their own level
};

// Executes the kernels: reads edges by address, writes levels by address.
BfsRun play(Workload const& w, CsrGraph const& g, std::uint64_t source, std::uint32_t width) {
  BfsRun run;
  run.level[source] = 0;
  run.edge_visits.assign(g.targets.size(), 0);
  auto const& levels = buffer(w, "levels");
  auto const& columns = buffer(w, "columns");
  for (std::size_t k = 0; k < w.kernel_count(); ++k) {
    std::uint32_t own = 0;
    walk(w.kernel(k), width, [&](auto, auto, auto step, WarpInstruction const& in) {
      if (in.op == Op::load && step == 2) own += static_cast<std::uint32_t>(std::popcount(in.lanes));
      if (in.op != Op::load && in.op != Op::store) return;
      each_lane(in, [&](auto, VirtAddr a) {
        if (in.op == Op::load && a >= columns.base && a < columns.base + columns.bytes)
          ++run.edge_visits[(a - columns.base) / 4];
        if (in.op == Op::store && a >= levels.base && a < levels.base + levels.bytes) {
          auto const v = (a - levels.base) / 4;
          CHECK_MESSAGE(run.level.count(v) == 0, "vertex " << v << " is written twice");
          run.level[v] = static_cast<std::uint32_t>(k) + 1;
        }
      });
    });
    run.level_reads.push_back(own);
  }
  return run;
}

std::map<std::uint64_t, std::uint32_t> textbook_bfs(CsrGraph const& g, std::uint64_t source) {
  std::map<std::uint64_t, std::uint32_t> level{{source, 0}};
  std::deque<std::uint64_t> queue{source};
  while (!queue.empty()) {
    auto const v = queue.front();
    queue.pop_front();
    for (auto e = g.offsets[v]; e < g.offsets[v + 1]; ++e)
      if (level.emplace(g.targets[e], level[v] + 1).second) queue.push_back(g.targets[e]);
  }
  return level;
}

void check_bfs(Workload const& w, CsrGraph const& g, std::uint64_t source, std::uint32_t width) {
  auto const run = play(w, g, source, width);
  auto const expected = textbook_bfs(g, source);
  CHECK(run.level == expected);
  std::uint32_t depth = 0;
  for (auto const& [v, l] : expected) depth = std::max(depth, l);
  CHECK(w.kernel_count() == depth + 1);
  for (std::uint64_t v = 0; v < g.vertices; ++v)
    for (auto e = g.offsets[v]; e < g.offsets[v + 1]; ++e) REQUIRE(run.edge_visits[e] == expected.count(v));
  for (auto const own : run.level_reads) CHECK(own == g.vertices);
}

}  // namespace

TEST_CASE("bfs: levels equal a textbook search and each edge of a reached vertex is read exactly once") {
  for (std::uint32_t const width : {32U, 64U}) {
    BuildContext context;
    context.warp_width = width;
    context.seed = 7;
    auto const w = build("bfs", {{"rmat.scale", "9"}, {"rmat.edge_factor", "4"}, {"block", "128"}}, context);
    RmatOptions options;
    options.scale = 9;
    options.edge_factor = 4;
    options.seed = 7;
    auto const g = undirected(generate_rmat(options));
    std::uint64_t source = 0;
    while (g.offsets[source] == g.offsets[source + 1]) ++source;
    check_bfs(w, g, source, width);
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("bfs: levels of the power grid equal a textbook search") {
  auto const path = data_file("graphs/power.graph");
  if (!path) return;
  auto const w = build("bfs", {{"graph", *path}, {"source", "17"}});
  check_bfs(w, read_graph(*path), 17, 32);
  REQUIRE(w.inputs().size() == 1);
  CHECK(w.inputs()[0].path == *path);
  CHECK(w.inputs()[0].bytes == 67968);
}

TEST_CASE("bfs: a directed file is searched along its edges by default") {
  auto const path = data_file("graphs/cit-HepTh.mtx.gz");
  if (!path) return;
  auto const w = build("bfs", {{"graph", *path}, {"undirected", "false"}});
  check_bfs(w, read_graph(*path), 0, 32);
}

TEST_CASE("bfs: a warp that finds a vertex sets the flag once, and the last level sets none") {
  auto const w = build("bfs", {{"rmat.scale", "8"}});
  auto const& flag = buffer(w, "flag");
  CHECK(touches(w, flag, Op::store, 32, 4, 0, 1)[0] == 1);
  CHECK(touches(w, flag, Op::store, 32, 4, w.kernel_count() - 1)[0] == 0);
}

TEST_CASE("bfs: a source outside the graph and a block of incomplete warps are rejected") {
  CHECK(error_of([] {
          build("bfs", {{"rmat.scale", "8"}, {"source", "256"}});
        }) == "source = 256 must be a vertex of the graph, 0 to 255");
  CHECK(error_of([] {
          build("bfs", {{"rmat.scale", "8"}, {"block", "48"}});
        }) == "block = 48 must be a multiple of the warp width, 32");
}

TEST_CASE("bfs: a path with so many levels that the frontiers would take gigabytes is rejected") {
  std::string text = "# a path\n";
  for (int v = 0; v < 400'000; ++v) text += std::to_string(v) + " " + std::to_string(v + 1) + "\n";
  TempFile const file("path.txt", text);
  CHECK(error_of([&] {
          build("bfs", {{"graph", file.path()}});
        }) ==
        "bfs: the frontiers of 400001 levels of 400001 vertices need more than 1 GiB of host memory, the "
        "maximum; use a graph with a smaller diameter");
}

TEST_CASE("bfs: relative names of graphs start at the base folder") {
  BuildContext context;
  context.base_folder = "/nonexistent/folder";
  CHECK(error_of([&] {
          build("bfs", {{"graph", "g.mtx"}}, context);
        }) == "/nonexistent/folder/g.mtx: no such file");
}

TEST_CASE("pagerank: each iteration has the addresses of a plain loop over rows and entries") {
  RmatOptions options;
  options.scale = 8;
  options.edge_factor = 6;
  auto const g = transposed(generate_rmat(options));
  for (std::uint32_t const width : {32U, 64U})
    for (auto const* mapping : {"warp", "thread"}) {
      CAPTURE(mapping);
      BuildContext context;
      context.warp_width = width;
      auto const w =
          build("pagerank",
                {{"rmat.scale", "8"}, {"rmat.edge_factor", "6"}, {"mapping", mapping}, {"iterations", "3"}},
                context);
      REQUIRE(w.kernel_count() == 3);
      CHECK(inside_buffers(w, width));
      for (std::uint32_t i = 0; i < 3; ++i) {
        auto const x = buffer(w, i % 2 == 0 ? "ranks0" : "ranks1").base;
        auto const y = buffer(w, i % 2 == 0 ? "ranks1" : "ranks0").base;
        std::vector<VirtAddr> loads, stores;
        for (std::uint64_t v = 0; v < g.vertices; ++v) {
          loads.push_back(buffer(w, "row_offsets").base + 4 * v);
          loads.push_back(buffer(w, "row_offsets").base + 4 * (v + 1));
          for (auto e = g.offsets[v]; e < g.offsets[v + 1]; ++e) {
            loads.push_back(buffer(w, "columns").base + 4 * e);
            loads.push_back(buffer(w, "values").base + 4 * e);
            loads.push_back(x + std::uint64_t{4} * g.targets[e]);
          }
          stores.push_back(y + 4 * v);
        }
        auto seen = addresses(w.kernel(i), width, Op::load);
        std::sort(seen.begin(), seen.end());
        std::sort(loads.begin(), loads.end());
        CHECK(seen == loads);
        CHECK(addresses(w.kernel(i), width, Op::store) == stores);
      }
    }
}

TEST_CASE("pagerank: the gather waits for the columns that it follows") {
  auto const w = build("pagerank", {{"rmat.scale", "8"}});
  auto const& x = buffer(w, "ranks0");
  std::uint64_t gathers = 0;
  walk(w.kernel(0), 32, [&](auto, auto, auto, WarpInstruction const& in) {
    if (in.op != Op::load || in.address[static_cast<std::size_t>(std::countr_zero(in.lanes))] < x.base)
      return;
    CHECK(in.wait_loads);
    ++gathers;
  });
  CHECK(gathers > 256);
}

}  // namespace farfault::workloads::graph_kernels_test
