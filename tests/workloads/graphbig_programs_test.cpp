// SPDX-License-Identifier: Apache-2.0
// The streams of GraphBIG's workloads on a graph small enough to write them down, at the ends of grids, and
// with invalid parameters.
#include "graphbig.hpp"

namespace farfault::workloads::graphbig_programs_test {
using namespace test;
namespace {

struct Hand {
  TempFile file{"hand.graph", kHandGraph};
  TestGraph graph{"hand", {{"graph", file.path()}}, undirected(read_graph(file.path()))};
};

// Instructions of warp 0 of block 0: vector, scalar (without scalar loads), memory, scalar loads.
std::array<std::uint64_t, 4> instructions(Workload const& w, std::size_t kernel) {
  std::array<std::uint64_t, 4> all{};
  WarpInstruction in;
  for (std::uint64_t step = 0;; ++step) {
    w.kernel(kernel).instruction(0, 0, step, in);
    if (in.op == Op::end) return all;
    if (in.op == Op::compute) {
      all[0] += in.work.vector;
      all[1] += in.work.scalar;
    }
    all[2] += in.op == Op::load || in.op == Op::store;
    if (in.op == Op::scalar_load) all[3] += in.work.scalar;
  }
}

// A path with the given number of vertices.
std::string path_of(int vertices) {
  std::string text = "# a path\n";
  for (int v = 0; v + 1 < vertices; ++v) text += std::to_string(v) + " " + std::to_string(v + 1) + "\n";
  return text;
}

}  // namespace

TEST_CASE("graphbig: a warp's instructions on a graph of five vertices, accesses in the order of GraphBIG") {
  Hand const hand;
  auto const& g = hand.graph;
  {
    auto const w = build_on("bc", g);
    CHECK(text(w, 0) ==
          ". w:distance[0,1,2,3,4] w:sigma[0,1,2,3,4] w:delta[0,1,2,3,4] w:distance[0] w:sigma[0]");
    CHECK(text(w, 1) ==
          ". r:distance[0,1,2,3,4] . r:vertices[1] r:vertices[0] . r:edges[0] . r:distance[1] . "
          "w:distance[1] w:over[0] r:distance[1] r:sigma[0] . w:sigma[1] r:edges[1] . "
          "r:distance[2] . w:distance[2] w:over[0] r:distance[2] r:sigma[0] . w:sigma[2]");
    CHECK(text(w, 2) ==
          ". r:distance[0,1,2,3,4] . r:vertices[2,3] r:vertices[1,2] . r:edges[2,4] . "
          "r:distance[0,0] . . . . . . . r:edges[3,5] . r:distance[2,1] . . . . . . . r:edges[6] . "
          "r:distance[3] . w:distance[3] w:over[0] r:distance[3] r:sigma[2] . w:sigma[3]");
    CHECK(text(w, 4) ==
          ". r:distance[0,1,2,3,4] . r:vertices[2,3] r:vertices[1,2] . r:edges[2,4] . "
          "r:distance[0,0] . . . . . r:edges[3,5] . r:distance[2,1] . . . . . r:edges[6] . "
          "r:distance[3] . r:sigma[2] r:sigma[3] r:delta[3] . r:delta[1,2] . w:delta[1,2]");
    CHECK(text(w, 6) == ". r:distance[1,2,3,4] . r:centrality[1,2,3] r:delta[1,2,3] . w:centrality[1,2,3]");
  }
  {
    auto const w = build_on("bfs_dwc", g);
    CHECK(text(w, 1) ==
          ". r:worklist1_end[0] . r:worklist1[0] . r:vertices[1] r:vertices[0] . r:edges[0] . "
          "r:levels[1] . w:levels[1] r:worklist2_end[0] . w:worklist2[0] .");
    CHECK(text(w, 2) ==
          ". r:worklist2_end[0] . r:worklist2[0] . r:vertices[2] r:vertices[1] . r:edges[2,3] . "
          "r:levels[0,2] . . r:worklist2[1] . r:vertices[3] r:vertices[2] . r:edges[4,5] . "
          "r:levels[0,1] . . r:worklist1_end[0,0] .");
  }
  {
    auto const w = build_on("bfs_ta", g);
    CHECK(text(w, 1) ==
          ". r:vertices[0,1,2,3,4] r:vertices[1,2,3,4,5] . r:levels[0,1,2,3] r:edges[0,2,4,7] . "
          "r:levels[1,0,0,2] . r:levels[1] . r:levels[0,1,2] r:edges[1,3,5] . r:levels[2,2,1] . "
          "r:levels[2] . r:levels[2] r:edges[6] . r:levels[3] . . . w:changed[0]");
    CHECK(text(w, 2) ==
          ". r:vertices[0,1,2,3,4] r:vertices[1,2,3,4,5] . r:levels[0,1,2,3] r:edges[0,2,4,7] . "
          "r:levels[1,0,0,2] . . . r:levels[0,1,2] r:edges[1,3,5] . r:levels[2,2,1] . . . "
          "r:levels[2] r:edges[6] . r:levels[3] . r:levels[3] . w:changed[0]");
  }
  {
    auto const w = build_on("bfs_tf", g);
    CHECK(text(w, 0) ==
          ". w:frontier[0,1,2,3,4] w:updating[0,1,2,3,4] w:visited[0,1,2,3,4] w:levels[0,1,2,3,4]");
    CHECK(text(w, 1) ==
          ". r:frontier[0,1,2,3,4] . w:frontier[0] r:vertices[1] r:vertices[0] . r:edges[0] . "
          "r:visited[1] . r:levels[0] . w:levels[1] w:updating[1] r:edges[1] . r:visited[2] . "
          "r:levels[0] . w:levels[2] w:updating[2]");
    CHECK(text(w, 2) ==
          ". r:updating[0,1,2,3,4] . w:frontier[1,2] w:visited[1,2] w:updating[1,2] w:changed[0,0]");
    CHECK(text(w, 3) ==
          ". r:frontier[0,1,2,3,4] . w:frontier[1,2] r:vertices[2,3] r:vertices[1,2] . "
          "r:edges[2,4] . r:visited[0,0] . . . . . r:edges[3,5] . r:visited[2,1] . . . . . "
          "r:edges[6] . r:visited[3] . r:levels[2] . w:levels[3] w:updating[3]");
  }
  {
    auto const w = build_on("bfs_ttc", g);
    CHECK(text(w, 0) == ". w:levels[0,1,2,3,4]");
    CHECK(text(w, 1) ==
          ". r:levels[0,1,2,3,4] . r:vertices[1] r:vertices[0] . r:edges[0] . r:levels[1] . "
          "w:changed[0] w:levels[1] r:edges[1] . r:levels[2] . w:changed[0] w:levels[2]");
    CHECK(text(w, 2) ==
          ". r:levels[0,1,2,3,4] . r:vertices[2,3] r:vertices[1,2] . r:edges[2,4] . r:levels[0,0] "
          ". . . r:edges[3,5] . r:levels[2,1] . . . r:edges[6] . r:levels[3] . w:changed[0] "
          "w:levels[3]");
    CHECK(text(w, 3) ==
          ". r:levels[0,1,2,3,4] . r:vertices[4] r:vertices[3] . r:edges[7] . r:levels[2] . . .");
  }
  {
    auto const w = build_on("bfs_twc", g);
    CHECK(text(w, 1) ==
          ". r:levels[0] . r:vertices[1] r:vertices[0] . r:edges[0,1] . r:levels[1,2] . "
          "w:levels[1,2] w:changed[0,0] r:levels[1] . r:levels[2] . r:levels[3] . r:levels[4] .");
    CHECK(text(w, 2) ==
          ". r:levels[0] . r:levels[1] . r:vertices[2] r:vertices[1] . r:edges[2,3] . "
          "r:levels[0,2] . . . r:levels[2] . r:vertices[3] r:vertices[2] . r:edges[4,5,6] . "
          "r:levels[0,1,3] . w:levels[3] w:changed[0] r:levels[3] . r:levels[4] .");
  }
  {
    auto const w = build_on("gc_dtc", g);
    CHECK(text(w, 1) ==
          ". r:worklist1_end[0] . r:worklist1[0,1,2,3,4] . r:colours[0,1,2,3,4] . "
          "r:numbers[0,1,2,3,4] r:vertices[1,2,3,4,5] r:vertices[0,1,2,3,4] . r:edges[0,2,4,7] . "
          "r:colours[1,0,0,2] . r:numbers[1,0,0,2] . r:edges[3,5] . r:colours[2,1] . "
          "r:numbers[2,1] . r:edges[6] . r:colours[3] . r:numbers[3] . w:colours[2,4] "
          "r:worklist2_end[0,0,0] . w:worklist2[0,1,2]");
    CHECK(text(w, 2) ==
          ". r:worklist2_end[0] . r:worklist2[0,1,2] . r:colours[0,1,3] . r:numbers[0,1,3] "
          "r:vertices[1,2,4] r:vertices[0,1,3] . r:edges[0,2,7] . r:colours[1,0,2] . "
          "r:numbers[1,0] . r:edges[3] . r:colours[2] . . . w:colours[1,3] r:worklist1_end[0] . "
          "w:worklist1[0]");
  }
  {
    auto const w = build_on("gc_ttc", g);
    CHECK(text(w, 1) ==
          ". r:colours[0,1,2,3,4] . r:numbers[0,1,2,3,4] r:vertices[1,2,3,4,5] "
          "r:vertices[0,1,2,3,4] . r:edges[0,2,4,7] . r:colours[1,0,0,2] . r:numbers[1,0,0,2] . "
          "r:edges[3,5] . r:colours[2,1] . r:numbers[2,1] . r:edges[6] . r:colours[3] . "
          "r:numbers[3] . w:colours[2,4] w:over[0,0,0]");
    CHECK(text(w, 2) ==
          ". r:colours[0,1,2,3,4] . r:numbers[0,1,3] r:vertices[1,2,4] r:vertices[0,1,3] . "
          "r:edges[0,2,7] . r:colours[1,0,2] . r:numbers[1,0] . r:edges[3] . r:colours[2] . . . "
          "w:colours[1,3] w:over[0]");
  }
  {
    auto const w = build_on("kcore", g);
    CHECK(text(w, 0) ==
          ". r:vertices[0,1,2,3,4] r:vertices[1,2,3,4,5] . w:degrees[0,1,2,3,4] "
          "w:removed[0,1,2,3,4] w:flags[0,1,2,3,4]");
    CHECK(text(w, 2) ==
          ". r:removed[0,1,2,3,4] . r:degrees[0,1,2,3,4] . w:removed[0,1,3,4] w:flags[0,1,3,4] "
          "w:removed_count[0,0,0,0] w:over[0,0,0,0]");
    CHECK(text(w, 3) ==
          ". r:flags[0,1,2,3,4] . r:vertices[1,2,4,5] r:vertices[0,1,3,4] . r:edges[0,2,7] . "
          "r:removed[1,0,2] . w:degrees[2] r:edges[1,3] . r:removed[2,2] . w:degrees[2,2] "
          "w:flags[0,1,3,4]");
    CHECK(text(w, 4) ==
          ". r:removed[0,1,2,3,4] . r:degrees[2] . w:removed[2] w:flags[2] w:removed_count[0] "
          "w:over[0]");
  }
  {
    auto const w = build_on("pr_graphbig", g);
    CHECK(text(w, 1) == ". r:ranks[0,1,2,3,4] w:old_ranks[0,1,2,3,4] w:ranks[0,1,2,3,4]");
    CHECK(text(w, 2) ==
          ". r:vertices[1,2,3,4,5] r:vertices[0,1,2,3,4] r:old_ranks[0,1,2,3,4] . r:edges[0,2,4,7] "
          ". w:ranks[1,0,0,2] r:edges[1,3,5] . w:ranks[2,2,1] r:edges[6] . w:ranks[3]");
    CHECK(text(w, 3) == ". r:ranks[0,1,2,3,4] r:old_ranks[0,1,2,3,4] . w:error[0,0,0,0,0]");
  }
  {
    auto const w = build_on("sssp_twc", g);
    CHECK(text(w, 0) == ". w:distance[0,1,2,3,4] w:update[0,1,2,3,4] w:mask[0,1,2,3,4]");
    CHECK(text(w, 1) ==
          ". r:mask[0] . r:vertices[1] r:vertices[0] r:distance[0] . r:edges[0,1] r:weights[0,1] . "
          "w:update[1,2] w:mask[0] r:mask[1] . r:mask[2] . r:mask[3] . r:mask[4] .");
    CHECK(text(w, 2) ==
          ". r:update[0,1,2,3,4] r:distance[0,1,2,3,4] . w:distance[1,2] w:mask[1,2] "
          "w:changed[0,0] w:update[0,3,4]");
    CHECK(text(w, 3) ==
          ". r:mask[0] . r:mask[1] . r:vertices[2] r:vertices[1] r:distance[1] . r:edges[2,3] "
          "r:weights[2,3] . w:update[0,2] w:mask[1] r:mask[2] . r:vertices[3] r:vertices[2] "
          "r:distance[2] . r:edges[4,5,6] r:weights[4,5,6] . w:update[0,1,3] w:mask[2] r:mask[3] . "
          "r:mask[4] .");
    CHECK(text(w, 4) ==
          ". r:update[0,1,2,3,4] r:distance[0,1,2,3,4] . w:distance[3] w:mask[3] w:changed[0] "
          "w:update[0,1,2,4]");
  }
}

TEST_CASE("graphbig: instructions of a warp are composed of the pieces of its statements") {
  Hand const hand;
  auto const ttc = build_on("bfs_ttc", hand.graph);
  // Index 9 and 4; level 9 and 3; row 5 and 3; two edges of 10 and 6, each with a discovered target.
  CHECK(instructions(ttc, 1) == std::array<std::uint64_t, 4>{9 + 9 + 5 + 2 * 10, 4 + 3 + 3 + 2 * 6, 11, 5});
  // One edge, which finds nothing: two branches instead of two stores.
  CHECK(instructions(ttc, 3) == std::array<std::uint64_t, 4>{9 + 9 + 5 + 10, 4 + 3 + 3 + 6 + 2, 5, 5});
  auto const twc = build_on("bfs_twc", hand.graph);
  // Index 13 and 6; the levels of five vertices 12 and 6 each; one row of 9 and 3, and a round of 10 and 6.
  CHECK(instructions(twc, 1) ==
        std::array<std::uint64_t, 4>{13 + 5 * 12 + 9 + 10, 6 + 5 * 6 + 3 + 6, 5 + 2 + 4, 5});
  auto const dwc = build_on("bfs_dwc", hand.graph);
  // Index, the list's end 4 and 6, entry 4, row 9 and 3, a round of 4 and 12 with 9, the end, a push.
  CHECK(instructions(dwc, 1) == std::array<std::uint64_t, 4>{13 + 4 + 4 + 9 + (4 + 12) + 5 + 5,
                                                             6 + 6 + 3 + 9 + 3 + 3, 1 + 1 + 2 + 3 + 1 + 1,
                                                             6});
}

TEST_CASE("graphbig: warps beyond the end read only a work list's length") {
  TempFile const file("path.txt", path_of(140));
  TestGraph const g{"path", {{"graph", file.path()}}, undirected(read_graph(file.path()))};
  for (std::string const name : kGraphBig)
    for (std::uint32_t const width : {32U, 64U}) {
      CAPTURE(name);
      CAPTURE(width);
      auto const w = build_on(name, g, {{"block", "128"}}, width);
      bool const lists = name == "bfs_dwc" || name == "gc_dtc";
      std::uint64_t beyond = 0;
      for (std::size_t k = 0; k < w.kernel_count(); ++k) {
        auto const& kernel = w.kernel(k);
        auto const& shape = kernel.shape();
        CHECK(shape.threads_per_block <= 128);
        // Each vertex or entry has a thread, or each 32 of them have a warp of 32 threads.
        std::uint64_t threads = 0;
        each_touch(w, k, width, [&](Touch const& t) {
          if (!t.buffer.ends_with("_end")) threads = std::max(threads, t.thread + 1);
        });
        CHECK(threads <= 160);
        WarpInstruction in;
        for (std::uint64_t block = 0; block < shape.blocks; ++block)
          for (std::uint32_t warp = 0; warp < warps_of(kernel, width); ++warp) {
            if (block * shape.threads_per_block + warp * width < threads) continue;
            ++beyond;
            std::string ops;
            for (std::uint64_t step = 0; step < 5; ++step) {
              kernel.instruction(block, warp, step, in);
              ops += in.op == Op::scalar_load ? 's'
                     : in.op == Op::compute   ? '.'
                     : in.op == Op::load      ? 'r'
                     : in.op == Op::end       ? 'e'
                                              : '?';
              if (in.op == Op::load) {
                CHECK(std::popcount(in.lanes) == 1);
                CHECK((in.address[0] == buffer(w, "worklist1_end").base ||
                       in.address[0] == buffer(w, "worklist2_end").base));
              }
            }
            bool const reads_length = lists && k > 0;
            CHECK(ops == (reads_length ? "s.r.e" : "s.eee"));
          }
      }
      CHECK(beyond > 0);
    }
}

TEST_CASE("graphbig: streams are the same when read backwards, and twice") {
  for (auto const* name : kGraphBig)
    for (std::uint32_t const width : {32U, 64U}) {
      CAPTURE(name);
      auto const w = build_on(name, rmat_graph(6, 4), {}, width);
      auto const again = build_on(name, rmat_graph(6, 4), {}, width);
      REQUIRE(w.kernel_count() == again.kernel_count());
      for (std::size_t k = 0; k < w.kernel_count(); ++k) {
        std::vector<WarpInstruction> forward;
        do {
          auto const step = forward.size();
          again.kernel(k).instruction(0, 0, step, forward.emplace_back());
        } while (forward.back().op != Op::end);
        for (auto s = forward.size(); s-- > 0;) {
          WarpInstruction in;
          w.kernel(k).instruction(0, 0, s, in);
          REQUIRE(in.op == forward[s].op);
          if (in.op == Op::compute) CHECK(in.work.instructions() == forward[s].work.instructions());
          if (in.op != Op::load && in.op != Op::store) continue;
          REQUIRE(in.lanes == forward[s].lanes);
          each_lane(in, [&](auto lane, VirtAddr a) { CHECK(a == forward[s].address[lane]); });
        }
      }
    }
}

TEST_CASE("graphbig: element sizes and launches match GraphBIG") {
  auto const g = rmat_graph(12, 4);
  auto const n = g.graph.vertices;
  for (auto const* name : kGraphBig) {
    auto const w = build_on(name, g);
    CHECK(buffer(w, "vertices").bytes == 8 * (n + 1));
    CHECK(buffer(w, "edges").bytes == 8 * g.graph.targets.size());
  }
  auto const ttc = build_on("bfs_ttc", g);
  CHECK(buffer(ttc, "levels").bytes == 4 * n);
  CHECK(buffer(ttc, "changed").bytes == 1);
  CHECK(ttc.kernel(1).shape().blocks == 4);
  CHECK(ttc.kernel(1).shape().threads_per_block == 1024);
  CHECK(ttc.kernel(1).shape().registers_per_thread == 18);
  // 4 blocks divided by chunks of 32, rounded up, times the threads of a warp.
  CHECK(build_on("bfs_twc", g).kernel(1).shape().blocks == 32);
  CHECK(build_on("bfs_twc", g, {{"block", "64"}}).kernel(1).shape().blocks == 64);
  auto const dwc = build_on("bfs_dwc", g, {{"worklist", "16777216"}});
  CHECK(buffer(dwc, "worklist1").bytes == 128ULL << 20);
  CHECK(dwc.kernel(1).shape().threads_per_block == 1);
  CHECK(dwc.kernel(1).shape().blocks == 32);
  auto const tf = build_on("bfs_tf", g);
  for (auto const* b : {"frontier", "updating", "visited"}) CHECK(buffer(tf, b).bytes == n);
  auto const sssp = build_on("sssp_twc", g);
  CHECK(buffer(sssp, "weights").bytes == 4 * g.graph.targets.size());
  CHECK(buffer(sssp, "mask").bytes == n);
}

TEST_CASE("graphbig: invalid parameters and graphs are rejected") {
  auto const refusal = [](std::string_view name, Settings settings) {
    return error_of([&] { build(name, settings); });
  };
  CHECK(refusal("bfs_tf", {{"rmat.scale", "8"}, {"source", "256"}}) ==
        "source = 256 must be a vertex of the graph, 0 to 255");
  CHECK(refusal("bfs_twc", {{"rmat.scale", "8"}, {"block", "48"}}) ==
        "block = 48 must be a multiple of the warp width, 32");
  for (std::string const name : {"kcore", "gc_ttc", "gc_dtc"})
    CHECK(refusal(name, {{"rmat.scale", "8"}, {"undirected", "false"}}) ==
          "undirected = false must be true, because the graph is directed and the algorithm needs an "
          "undirected graph");
  CHECK(refusal("gc_dtc", {{"rmat.scale", "8"}, {"worklist", "255"}}) ==
        "worklist = 255 must be 0 or at least the number of vertices, 256");
  CHECK(refusal("bc", {{"rmat.scale", "16"}, {"rmat.edge_factor", "1"}, {"roots", "65536"}}) ==
        "bc: 65536 searches need more than 1 GiB of host memory, the maximum; use a smaller graph");
  TempFile const file("path.txt", path_of(530'000));
  for (auto const* name : {"bfs_ttc", "sssp_twc"})
    CHECK(refusal(name, {{"graph", file.path()}}) ==
          std::string(name) + ": the graph needs 1060001 kernel launches, more than the maximum, 1048576; " +
              "use a smaller graph");
}

TEST_CASE("graphbig: a directed graph is searched along its edges if configured") {
  auto const path = data_file("graphs/cit-HepTh.mtx.gz");
  if (!path) return;
  auto const g = read_graph(*path);
  auto const search = breadth_first(g, first_with_edge(g));
  std::uint64_t edges = 0;
  for (std::uint64_t v = 0; v < g.vertices; ++v)
    if (search.level[v] != kNever) edges += g.offsets[v + 1] - g.offsets[v];
  auto const w = build("bfs_dwc", {{"graph", *path}, {"undirected", "false"}});
  CHECK(count(w, "edges", Op::load) == edges);
}

}  // namespace farfault::workloads::graphbig_programs_test
