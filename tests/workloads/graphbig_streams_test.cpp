// SPDX-License-Identifier: Apache-2.0
// The streams of GraphBIG's workloads: the number of accesses to each buffer, their order, and the threads
// that make them.
#include "farfault/workloads/kernel_support.hpp"
#include "graphbig.hpp"

namespace farfault::workloads::graphbig_streams_test {
using namespace test;
namespace {

// Terms of the closed forms.
struct Numbers {
  std::uint64_t n = 0, edges = 0, levels = 0;
  std::uint64_t reached = 0, reached_edges = 0;
  std::uint64_t downward = 0;  // edges from a level to the next
  std::uint64_t finders = 0;   // vertices that discover another
};

Numbers numbers_of(CsrGraph const& g, std::uint64_t source) {
  auto const search = breadth_first(g, source);
  Numbers x{.n = g.vertices, .edges = g.targets.size(), .levels = search.depth + std::uint64_t{1}};
  for (std::uint64_t v = 0; v < g.vertices; ++v) {
    if (search.level[v] == kNever) continue;
    ++x.reached;
    bool finds = false;
    for (auto e = g.offsets[v]; e < g.offsets[v + 1]; ++e) {
      ++x.reached_edges;
      x.downward += search.level[g.targets[e]] == search.level[v] + 1;
      finds = finds || search.finds[e];
    }
    x.finders += finds;
  }
  return x;
}

constexpr auto kLast = ~std::size_t{0};

// Number of accesses to a buffer by kernels of this name.
std::uint64_t count_in(std::string const& kernel, Workload const& w, std::string_view buffer, Op op,
                       std::uint32_t width) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < w.kernel_count(); ++k)
    if (w.kernel(k).shape().name.starts_with(kernel)) sum += count(w, buffer, op, k, k + 1, width);
  return sum;
}

}  // namespace

TEST_CASE("graphbig: every address of every kernel is in a buffer, on warps of 32 and of 64 threads") {
  auto const g = rmat_graph(8, 4);
  for (auto const* name : kGraphBig)
    for (std::uint32_t const width : {32U, 64U})
      for (auto const* block : {"128", "1024"}) {
        CAPTURE(name);
        CHECK(inside_buffers(build_on(name, g, {{"block", block}}, width), width));
      }
}

TEST_CASE("graphbig: bfs_ttc and bfs_twc read each reached vertex's edges once, and write discoveries once") {
  auto const g = rmat_graph(9, 4);
  auto const x = numbers_of(g.graph, first_with_edge(g.graph));
  for (auto const* name : {"bfs_ttc", "bfs_twc"})
    for (std::uint32_t const width : {32U, 64U}) {
      CAPTURE(name);
      auto const w = build_on(name, g, {{"block", "256"}}, width);
      REQUIRE(w.kernel_count() == 1 + x.levels);
      CHECK(count(w, "levels", Op::store, 0, 1, width) == x.n);
      CHECK(count(w, "levels", Op::load, 1, kLast, width) == x.n * x.levels + x.reached_edges);
      CHECK(count(w, "vertices", Op::load, 1, kLast, width) == 2 * x.reached);
      CHECK(count(w, "edges", Op::load, 1, kLast, width) == x.reached_edges);
      CHECK(count(w, "levels", Op::store, 1, kLast, width) == x.reached - 1);
      CHECK(count(w, "changed", Op::store, 1, kLast, width) == x.reached - 1);
    }
}

TEST_CASE("graphbig: bfs_ta reads all edges in every round, and each discovering vertex writes the flag") {
  auto const g = rmat_graph(9, 4);
  auto const x = numbers_of(g.graph, first_with_edge(g.graph));
  auto const w = build_on("bfs_ta", g);
  REQUIRE(w.kernel_count() == 1 + x.levels);
  CHECK(count(w, "vertices", Op::load, 1) == 2 * x.n * x.levels);
  CHECK(count(w, "edges", Op::load, 1) == x.edges * x.levels);
  CHECK(count(w, "levels", Op::load, 1) == 2 * x.edges * x.levels + x.reached - 1);
  CHECK(count(w, "levels", Op::store, 1) == 0);  // by atomics with a result
  CHECK(count(w, "changed", Op::store, 1) == x.finders);
}

TEST_CASE("graphbig: bfs_tf writes a neighbour for each edge to it, and moves the frontier") {
  auto const g = rmat_graph(9, 4);
  auto const x = numbers_of(g.graph, first_with_edge(g.graph));
  auto const w = build_on("bfs_tf", g);
  REQUIRE(w.kernel_count() == 1 + 2 * x.levels);
  for (auto const* buffer : {"frontier", "updating", "visited", "levels"})
    CHECK(count(w, buffer, Op::store, 0, 1) == x.n);
  CHECK(count(w, "edges", Op::load, 1) == x.reached_edges);
  CHECK(count(w, "visited", Op::load, 1) == x.reached_edges);
  CHECK(count(w, "levels", Op::load, 1) == x.downward);
  CHECK(count(w, "levels", Op::store, 1) == x.downward);
  CHECK(count(w, "frontier", Op::load, 1) == x.n * x.levels);
  CHECK(count(w, "updating", Op::load, 1) == x.n * x.levels);
  CHECK(count(w, "frontier", Op::store, 1) == x.reached + (x.reached - 1));  // removals and insertions
  CHECK(count(w, "updating", Op::store, 1) == x.downward + (x.reached - 1));
  CHECK(count(w, "visited", Op::store, 1) == x.reached - 1);
  CHECK(count(w, "changed", Op::store, 1) == x.reached - 1);
}

TEST_CASE("graphbig: bfs_dwc pushes each found vertex once, without gaps, and reads what was pushed") {
  auto const g = rmat_graph(9, 4);
  auto const x = numbers_of(g.graph, first_with_edge(g.graph));
  for (std::uint32_t const width : {32U, 64U})
    for (auto const* chunk : {"32", "5"}) {
      auto const w = build_on("bfs_dwc", g, {{"chunk", chunk}}, width);
      REQUIRE(w.kernel_count() == 1 + x.levels);
      CHECK(count(w, "edges", Op::load, 1, kLast, width) == x.reached_edges);
      CHECK(count(w, "levels", Op::load, 1, kLast, width) == x.reached_edges);
      CHECK(count(w, "levels", Op::store, 1, kLast, width) == x.reached - 1);
      std::uint64_t size = 1;
      for (std::size_t k = 1; k < w.kernel_count(); ++k) {
        std::string const in = k % 2 == 1 ? "worklist1" : "worklist2";
        std::string const out = k % 2 == 1 ? "worklist2" : "worklist1";
        // A block with less than 32 threads holds a part of a warp, and each part reads what the whole warp
        // reads.
        std::set<std::uint64_t> read;
        std::vector<std::uint64_t> pushed;
        std::uint64_t ends = 0;
        each_touch(w, k, width, [&](Touch const& t) {
          if (t.buffer == in) read.insert(t.element);
          if (t.buffer == out) pushed.push_back(t.element);
          if (t.buffer == out + "_end") ++ends;
        });
        std::sort(pushed.begin(), pushed.end());
        CHECK(read.size() == size);
        CHECK(*read.rbegin() == size - 1);
        for (std::uint64_t i = 0; i < pushed.size(); ++i) CHECK(pushed[i] == i);
        CHECK(ends == ceil_div(size, std::stoull(chunk)) * 32);  // every thread with work
        size = pushed.size();
      }
      CHECK(size == 0);
    }
}

TEST_CASE("graphbig: sssp_twc lowers a new distance for each edge of the vertices that it reads") {
  auto const g = rmat_graph(9, 4);
  auto const source = first_with_edge(g.graph);
  auto const paths = shortest_paths(g.graph, source, 9, 1);
  std::uint64_t reads = 0, edges = 0;
  for (std::uint64_t v = 0; v < g.graph.vertices; ++v)
    for (std::uint32_t r = 0; r < paths.rounds; ++r)
      if (paths.is_read(v, r)) {
        ++reads;
        edges += g.graph.offsets[v + 1] - g.graph.offsets[v];
      }
  CHECK(reads > numbers_of(g.graph, source).reached);  // some vertices more than once
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build_on("sssp_twc", g, {{"max_weight", "9"}}, width);
    REQUIRE(w.kernel_count() == 1 + 2 * paths.rounds);
    auto const n = g.graph.vertices;
    CHECK(count_in("sssp_kernel_", w, "mask", Op::load, width) == n * paths.rounds);
    CHECK(count_in("sssp_kernel_", w, "distance", Op::load, width) == reads);
    CHECK(count_in("sssp_kernel_", w, "vertices", Op::load, width) == 2 * reads);
    CHECK(count_in("sssp_kernel_", w, "edges", Op::load, width) == edges);
    CHECK(count_in("sssp_kernel_", w, "weights", Op::load, width) == edges);
    CHECK(count_in("sssp_kernel_", w, "update", Op::store, width) == edges);
    CHECK(count_in("sssp_kernel_", w, "mask", Op::store, width) == reads);
    CHECK(count_in("sssp_kernel2", w, "distance", Op::load, width) == n * paths.rounds);
    CHECK(count_in("sssp_kernel2", w, "update", Op::load, width) == n * paths.rounds);
    CHECK(count_in("sssp_kernel2", w, "distance", Op::store, width) == reads - 1);
    CHECK(count_in("sssp_kernel2", w, "mask", Op::store, width) == reads - 1);
    CHECK(count_in("sssp_kernel2", w, "changed", Op::store, width) == reads - 1);
    CHECK(count_in("sssp_kernel2", w, "update", Op::store, width) == n * paths.rounds - (reads - 1));
  }
}

TEST_CASE("graphbig: kcore reads the rows of removed vertices once, and lowers the remaining ones") {
  auto const g = rmat_graph(9, 4);
  auto const peeled = core(g.graph, 4);
  std::uint64_t removed = 0, edges = 0, lowered = 0, looked_at = 0;
  for (std::uint64_t v = 0; v < g.graph.vertices; ++v) {
    looked_at += std::min(peeled.removed[v], peeled.rounds - 1) + 1;
    if (peeled.removed[v] == kNever) continue;
    ++removed;
    for (auto e = g.graph.offsets[v]; e < g.graph.offsets[v + 1]; ++e) {
      ++edges;
      lowered += peeled.removed[g.graph.targets[e]] > peeled.removed[v];
    }
  }
  CHECK(peeled.rounds > 2);
  auto const w = build_on("kcore", g, {{"k", "4"}});
  auto const n = g.graph.vertices;
  REQUIRE(w.kernel_count() == 1 + 2 * peeled.rounds);
  CHECK(count(w, "vertices", Op::load, 0, 1) == 2 * n);
  for (auto const* buffer : {"degrees", "removed", "flags"}) CHECK(count(w, buffer, Op::store, 0, 1) == n);
  CHECK(count_in("kcore_kernel_", w, "flags", Op::load, 32) == n * peeled.rounds);
  CHECK(count_in("kcore_kernel_", w, "vertices", Op::load, 32) == 2 * removed);
  CHECK(count_in("kcore_kernel_", w, "edges", Op::load, 32) == edges);
  CHECK(count_in("kcore_kernel_", w, "removed", Op::load, 32) == edges);
  CHECK(count_in("kcore_kernel_", w, "degrees", Op::store, 32) == lowered);
  CHECK(count_in("kcore_kernel_", w, "flags", Op::store, 32) == removed);
  CHECK(count_in("kcore_kernel2", w, "removed", Op::load, 32) == n * peeled.rounds);
  CHECK(count_in("kcore_kernel2", w, "degrees", Op::load, 32) == looked_at);
  for (auto const* buffer : {"removed", "flags", "removed_count", "over"})
    CHECK(count_in("kcore_kernel2", w, buffer, Op::store, 32) == removed);
}

TEST_CASE("graphbig: bc adds paths along each edge to the next level, and gathers them back") {
  auto const g = rmat_graph(8, 4);
  auto const source = first_with_edge(g.graph);
  auto const x = numbers_of(g.graph, source);
  auto const search = breadth_first(g.graph, source);
  std::uint64_t upper = 0, upper_edges = 0;  // vertices above the last level
  for (std::uint64_t v = 0; v < g.graph.vertices; ++v)
    if (search.level[v] < search.depth) {
      ++upper;
      upper_edges += g.graph.offsets[v + 1] - g.graph.offsets[v];
    }
  auto const w = build_on("bc", g);
  auto const forward = [&](auto buffer, Op op) { return count_in("bc_forward", w, buffer, op, 32); };
  auto const backward = [&](auto buffer, Op op) { return count_in("bc_backward", w, buffer, op, 32); };
  REQUIRE(w.kernel_count() == 2 * x.levels + 1);
  CHECK(count(w, "distance", Op::store, 0, 1) == x.n + 1);
  CHECK(count(w, "sigma", Op::store, 0, 1) == x.n + 1);
  CHECK(count(w, "delta", Op::store, 0, 1) == x.n);
  CHECK(forward("edges", Op::load) == x.reached_edges);
  CHECK(forward("distance", Op::load) == x.n * x.levels + x.reached_edges + x.reached - 1);
  CHECK(forward("distance", Op::store) == x.reached - 1);
  CHECK(forward("over", Op::store) == x.reached - 1);
  CHECK(forward("sigma", Op::load) == x.downward);
  CHECK(forward("sigma", Op::store) == x.downward);
  CHECK(backward("edges", Op::load) == upper_edges);
  CHECK(backward("distance", Op::load) == x.n * (x.levels - 1) + upper_edges);
  CHECK(backward("sigma", Op::load) == 2 * x.downward);
  CHECK(backward("delta", Op::load) == x.downward + upper);
  CHECK(backward("delta", Op::store) == upper);
  CHECK(count_in("bc_backsum", w, "distance", Op::load, 32) == x.n - 1);
  CHECK(count_in("bc_backsum", w, "delta", Op::load, 32) == x.reached - 1);
  CHECK(count_in("bc_backsum", w, "centrality", Op::store, 32) == x.reached - 1);
}

TEST_CASE("graphbig: a round of pr_graphbig pushes along every edge once") {
  auto const g = rmat_graph(8, 4);
  auto const w = build_on("pr_graphbig", g, {{"error", "0"}, {"max_rounds", "3"}});
  auto const n = g.graph.vertices;
  auto const m = g.graph.targets.size();
  CHECK(count(w, "ranks", Op::store, 0, 1) == n);
  for (std::size_t k = 1; k < w.kernel_count(); k += 3) {
    CHECK(count(w, "ranks", Op::load, k, k + 1) == n);
    CHECK(count(w, "old_ranks", Op::store, k, k + 1) == n);
    CHECK(count(w, "ranks", Op::store, k, k + 1) == n);
    CHECK(count(w, "old_ranks", Op::load, k + 1, k + 2) == n);
    CHECK(count(w, "edges", Op::load, k + 1, k + 2) == m);
    CHECK(count(w, "ranks", Op::store, k + 1, k + 2) == m);
    CHECK(count(w, "error", Op::store, k + 2, k + 3) == n);
  }
}

TEST_CASE("graphbig: a colouring's thread stops at the first neighbour that must be coloured before") {
  auto const g = rmat_graph(8, 4);
  auto const coloured = colouring(g.graph, 1);
  for (std::string const name : {"gc_ttc", "gc_dtc"}) {
    CAPTURE(name);
    auto const w = build_on(name, g);
    REQUIRE(w.kernel_count() == 1 + coloured.colours);
    for (std::uint32_t round = 0; round < coloured.colours; ++round) {
      std::vector<std::uint64_t> looked_at(g.graph.vertices, 0);
      std::vector<bool> numbered(g.graph.targets.size(), false);
      std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> at;  // vertex and edge of a thread
      each_touch(w, round + 1, 32, [&](Touch const& t) {
        if (t.buffer == "vertices") at[t.thread].first = t.element;  // the second access is the row's begin
        if (t.buffer == "edges") {
          auto& [v, e] = at[t.thread];
          e = t.element;
          CHECK(e == g.graph.offsets[v] + looked_at[v]++);
        }
        if (t.buffer == "numbers" && at.contains(t.thread)) numbered[at[t.thread].second] = true;
      });
      for (std::uint64_t v = 0; v < g.graph.vertices; ++v) {
        auto const row = g.graph.offsets[v + 1] - g.graph.offsets[v];
        auto const colour = coloured.colour[v];
        if (colour < round) CHECK(looked_at[v] == 0);
        if (colour == round) CHECK(looked_at[v] == row);
        if (colour > round) {  // the last neighbour is uncoloured and gets a colour before v does
          auto const last = coloured.colour[g.graph.targets[g.graph.offsets[v] + looked_at[v] - 1]];
          CHECK((last >= round && last < colour));
        }
        for (std::uint64_t i = 0; i < looked_at[v]; ++i) {
          auto const e = g.graph.offsets[v] + i;
          REQUIRE(numbered[e] == (coloured.colour[g.graph.targets[e]] >= round));
          // No earlier neighbour stops the loop: none of them must be coloured before v.
          if (i + 1 < looked_at[v] && coloured.colour[g.graph.targets[e]] >= round)
            CHECK((coloured.colour[g.graph.targets[e]] > colour || g.graph.targets[e] == v));
        }
      }
    }
  }
}

TEST_CASE("graphbig: thread- and warp-centric kernels touch the same lines of the graph in each round") {
  auto const g = rmat_graph(9, 4);
  auto const same = [&](std::string_view a, std::string_view b, std::set<std::string> const& buffers) {
    auto const wa = build_on(a, g);
    auto const wb = build_on(b, g);
    REQUIRE(wa.kernel_count() == wb.kernel_count());
    for (std::size_t k = 1; k < wa.kernel_count(); ++k) CHECK(lines(wa, k, buffers) == lines(wb, k, buffers));
  };
  same("bfs_ttc", "bfs_twc", {"vertices", "edges", "levels", "changed"});
  same("bfs_ttc", "bfs_dwc", {"vertices", "edges"});
  same("gc_ttc", "gc_dtc", {"vertices", "edges", "numbers"});
}

}  // namespace farfault::workloads::graphbig_streams_test
