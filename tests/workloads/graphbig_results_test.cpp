// SPDX-License-Identifier: Apache-2.0
// Results of GraphBIG's kernels, computed by executing their streams, against Boost.Graph.
#include <boost/graph/betweenness_centrality.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/core_numbers.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/page_rank.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <cmath>

#include "graphbig.hpp"

namespace farfault::workloads::graphbig_results_test {
using namespace test;
namespace {

constexpr std::uint32_t kFar = kNever;

template <class T>
auto map_of(std::vector<T>& values) {
  return boost::make_iterator_property_map(values.begin(), boost::identity_property_map());
}

std::vector<std::uint32_t> boost_levels(CsrGraph const& g, std::uint64_t source) {
  std::vector<std::uint32_t> level(g.vertices, kFar);
  level[source] = 0;
  auto const graph = to_boost(g);
  boost::breadth_first_search(
      graph, source,
      boost::visitor(boost::make_bfs_visitor(boost::record_distances(map_of(level), boost::on_tree_edge()))));
  return level;
}

// The levels that kernels write: the level of the kernel plus one. In bfs_ta an atomic with a result writes
// the level: the second access to the levels after an edge, unless it is to the thread's own vertex.
std::vector<std::uint32_t> played_levels(std::string const& name, Workload const& w, std::uint64_t source,
                                         std::uint64_t vertices, std::uint32_t width) {
  std::vector<std::uint32_t> level(vertices, kFar);
  level[source] = 0;
  std::uint32_t now = 0;
  for (std::size_t k = 1; k < w.kernel_count(); ++k) {
    if (name == "bfs_tf" && k % 2 == 0) continue;  // the second kernel of a level
    ++now;
    std::map<std::uint64_t, int> since_edge;  // by thread
    each_touch(w, k, width, [&](Touch const& t) {
      if (t.buffer == "edges") since_edge[t.thread] = 0;
      if (t.buffer != "levels") return;
      bool const atomic = name == "bfs_ta" && since_edge.contains(t.thread) && ++since_edge[t.thread] == 2 &&
                          t.element != t.thread;
      if (t.op != Op::store && !atomic) return;
      auto& l = level[t.element];
      CHECK((l == kFar || (name == "bfs_tf" && l == now)));  // written once; in bfs_tf once per edge
      l = now;
    });
  }
  return level;
}

}  // namespace

TEST_CASE("graphbig: the levels written by each of the five searches match Boost.Graph") {
  for (auto const& g : test_graphs({"power.graph", "as20graph.txt"})) {
    CAPTURE(g.name);
    auto const source = first_with_edge(g.graph, 3);
    auto const expected = boost_levels(g.graph, source);
    for (std::string const name : kSearches) {
      CAPTURE(name);
      auto const w = build_on(name, g, {{"source", "3"}});
      CHECK(played_levels(name, w, source, g.graph.vertices, 32) == expected);
    }
  }
}

TEST_CASE("graphbig: levels are the same with wavefronts of 64, each of two of GraphBIG's warps") {
  auto const g = rmat_graph(9, 4);
  auto const source = first_with_edge(g.graph);
  for (std::string const name : kSearches) {
    CAPTURE(name);
    auto const w = build_on(name, g, {{"block", "128"}}, 64);
    CHECK(played_levels(name, w, source, g.graph.vertices, 64) == boost_levels(g.graph, source));
  }
}

TEST_CASE("graphbig: sssp_twc's distances match Dijkstra, and its kernels compute them") {
  for (auto const& g : test_graphs({"power.graph", "as20graph.txt"}))
    for (std::uint32_t const width : {32U, 64U}) {
      CAPTURE(g.name);
      constexpr std::uint32_t kMax = 20;
      auto const source = first_with_edge(g.graph);
      auto const w = build_on("sssp_twc", g, {{"max_weight", "20"}}, width);
      std::vector<std::uint64_t> weight;
      for (std::uint64_t v = 0; v < g.graph.vertices; ++v)
        for (auto e = g.graph.offsets[v]; e < g.graph.offsets[v + 1]; ++e)
          weight.push_back(edge_weight(v, g.graph.targets[e], kMax, 1));
      CHECK(*std::max_element(weight.begin(), weight.end()) == kMax);
      CHECK(*std::min_element(weight.begin(), weight.end()) == 1);

      // Executes the kernels and checks each access against the data.
      constexpr std::uint64_t kInfinity = ~std::uint64_t{0};
      std::vector<std::uint64_t> distance(g.graph.vertices, kInfinity), update = distance;
      std::vector<bool> mask(g.graph.vertices, false);
      distance[source] = 0;
      mask[source] = true;
      for (std::size_t k = 1; k < w.kernel_count(); k += 2) {
        std::map<std::uint64_t, std::uint64_t> now, edge;  // vertex by logical warp, edge by thread
        auto const before = mask;
        std::uint64_t rows = 0;
        each_touch(w, k, width, [&](Touch const& t) {
          auto const warp = t.thread / 32;
          if (t.buffer == "distance") {
            CHECK(before[t.element]);
            now[warp] = t.element;
            ++rows;
          }
          if (t.buffer == "weights") edge[t.thread] = t.element;
          if (t.buffer == "update") {
            auto const e = edge.at(t.thread);
            CHECK(g.graph.targets[e] == t.element);
            CHECK(e - g.graph.offsets[now.at(warp)] <
                  g.graph.offsets[now.at(warp) + 1] - g.graph.offsets[now.at(warp)]);
            update[t.element] = std::min(update[t.element], distance[now.at(warp)] + weight[e]);
          }
          if (t.buffer == "mask" && t.op == Op::store) mask[t.element] = false;
        });
        CHECK(rows == static_cast<std::uint64_t>(std::count(before.begin(), before.end(), true)));
        CHECK(std::count(mask.begin(), mask.end(), true) == 0);
        each_touch(w, k + 1, width, [&](Touch const& t) {
          if (t.op != Op::store) return;
          auto const v = t.thread;
          if (t.buffer == "distance") {
            CHECK(distance[v] > update[v]);
            distance[v] = update[v];
          }
          if (t.buffer == "update") {
            CHECK(distance[v] <= update[v]);
            update[v] = distance[v];
          }
          if (t.buffer == "mask") mask[v] = true;
        });
      }
      std::vector<std::uint64_t> expected(g.graph.vertices);
      auto const graph = to_boost(g.graph);
      auto const cost = boost::make_function_property_map<BoostGraph::edge_descriptor>(
          [](auto const& e) { return std::uint64_t{edge_weight(e.m_source, e.m_target, kMax, 1)}; });
      boost::dijkstra_shortest_paths(
          graph, source, boost::distance_map(map_of(expected)).distance_inf(kInfinity).weight_map(cost));
      CHECK(distance == expected);
      CHECK(shortest_paths(g.graph, source, kMax, 1).distance == expected);
    }
}

TEST_CASE("graphbig: kcore leaves the vertices whose core number in Boost.Graph is k or more") {
  for (auto const& g : test_graphs({"astro-ph.graph", "as20graph.txt"})) {
    CAPTURE(g.name);
    auto graph = to_boost(g.graph);
    std::vector<std::uint64_t> number(g.graph.vertices);
    boost::core_numbers(graph, map_of(number));
    for (std::uint32_t const k : {1U, 3U, 5U}) {
      auto const w = build_on("kcore", g, {{"k", std::to_string(k)}});
      std::vector<std::uint64_t> degree(g.graph.vertices);
      for (std::uint64_t v = 0; v < g.graph.vertices; ++v)
        degree[v] = g.graph.offsets[v + 1] - g.graph.offsets[v];
      std::vector<bool> removed(g.graph.vertices, false);
      for (std::size_t i = 1; i < w.kernel_count(); ++i)
        each_touch(w, i, 32, [&](Touch const& t) {
          if (t.op != Op::store) return;
          if (t.buffer == "degrees") --degree[t.element];
          if (t.buffer != "removed") return;
          CHECK(degree[t.element] < k);
          CHECK_FALSE(removed[t.element]);
          removed[t.element] = true;
        });
      for (std::uint64_t v = 0; v < g.graph.vertices; ++v) REQUIRE(removed[v] == (number[v] < k));
    }
  }
}

TEST_CASE("graphbig: both colourings give neighbours different colours, the same in both") {
  for (auto const& g : test_graphs({"power.graph", "as20graph.txt"}, 8)) {
    CAPTURE(g.name);
    std::vector<std::uint32_t> first;
    for (auto const* name : {"gc_ttc", "gc_dtc"}) {
      CAPTURE(name);
      auto const w = build_on(name, g);
      std::vector<std::uint32_t> colour(g.graph.vertices, kFar);
      for (std::size_t k = 1; k < w.kernel_count(); ++k)
        each_touch(w, k, 32, [&](Touch const& t) {
          if (t.buffer != "colours" || t.op != Op::store) return;
          CHECK(colour[t.element] == kFar);
          colour[t.element] = static_cast<std::uint32_t>(k) - 1;
        });
      for (std::uint64_t v = 0; v < g.graph.vertices; ++v) {
        REQUIRE(colour[v] != kFar);
        for (auto e = g.graph.offsets[v]; e < g.graph.offsets[v + 1]; ++e)
          if (g.graph.targets[e] != v) REQUIRE(colour[g.graph.targets[e]] != colour[v]);
      }
      if (first.empty()) first = colour;
      CHECK(colour == first);
    }
  }
}

TEST_CASE("graphbig: executing bc's kernels for all roots gives the centrality of Boost.Graph") {
  std::vector<TestGraph> graphs{rmat_graph(5, 3)};
  if (auto const path = data_file("graphs/chesapeake.mtx"))
    graphs.push_back({"chesapeake.mtx", {{"graph", *path}}, undirected(read_graph(*path))});
  for (auto const& g : graphs) {
    CAPTURE(g.name);
    auto const n = g.graph.vertices;
    auto const w = build_on("bc", g, {{"roots", std::to_string(n)}});
    std::vector<double> sigma(n), delta(n), centrality(n);
    std::vector<bool> is_root(n, false);
    std::uint64_t root = first_with_edge(g.graph) + n - 1;
    for (std::size_t k = 0; k < w.kernel_count(); ++k) {
      auto const& name = w.kernel(k).shape().name;
      if (name.starts_with("bc_init")) {
        root = (root + 1) % n;
        CHECK_FALSE(is_root[root]);
        is_root[root] = true;
        std::fill(sigma.begin(), sigma.end(), 0);
        std::fill(delta.begin(), delta.end(), 0);
        sigma[root] = 1;
      }
      // Per thread: the neighbour whose sigma was read after the thread's own, and the sum.
      std::map<std::uint64_t, std::pair<std::uint64_t, bool>> neighbour;
      std::map<std::uint64_t, double> sum;
      each_touch(w, k, 32, [&](Touch const& t) {
        if (name.starts_with("bc_forward") && t.buffer == "sigma" && t.op == Op::store)
          sigma[t.element] += sigma[t.thread];
        if (name.starts_with("bc_backward") && t.buffer == "sigma") {
          auto& [w_of, own_read] = neighbour[t.thread];
          if (!own_read) CHECK(t.element == t.thread);
          if (own_read) w_of = t.element;
          own_read = !own_read;
        }
        if (name.starts_with("bc_backward") && t.buffer == "delta") {
          if (t.op == Op::store) {
            delta[t.thread] += sum[t.thread];
          } else if (t.element != t.thread) {
            auto const x = neighbour.at(t.thread).first;
            CHECK(x == t.element);
            sum[t.thread] += sigma[t.thread] / sigma[x] * (1 + delta[x]);
          }
        }
        if (name.starts_with("bc_backsum") && t.buffer == "centrality" && t.op == Op::store) {
          CHECK(t.element != root);
          centrality[t.element] += delta[t.element];
        }
      });
    }
    std::vector<double> expected(n);
    boost::brandes_betweenness_centrality(to_boost(g.graph), map_of(expected));
    for (std::uint64_t v = 0; v < n; ++v) CHECK(centrality[v] == doctest::Approx(expected[v]).epsilon(1e-9));
  }
}

TEST_CASE("graphbig: pr_graphbig's ranks match Boost.Graph, and its kernels compute them") {
  for (auto const& g : test_graphs({"power.graph"}, 7)) {
    CAPTURE(g.name);
    auto const n = g.graph.vertices;
    constexpr std::uint32_t kRounds = 150;
    auto const w = build_on("pr_graphbig", g, {{"error", "0"}, {"max_rounds", "150"}});
    REQUIRE(w.kernel_count() == 1 + 3 * kRounds);
    // Executes one round: the second kernel's contributions, starting from equal ranks.
    auto const one = page_ranks(g.graph, 0.85, 0, 1);
    std::vector<double> rank(n, 0.15 / static_cast<double>(n));
    each_touch(w, 2, 32, [&](Touch const& t) {
      auto const degree = g.graph.offsets[t.thread + 1] - g.graph.offsets[t.thread];
      if (t.buffer == "ranks") rank[t.element] += 0.85 / static_cast<double>(n * degree);
    });
    for (std::uint64_t v = 0; v < n; ++v) REQUIRE(rank[v] == doctest::Approx(one.rank[v]).epsilon(1e-9));

    auto const all = page_ranks(g.graph, 0.85, 0, kRounds);
    CHECK(all.rounds == kRounds);
    // Boost's ranks are larger by the number of vertices.
    std::vector<double> expected(n);
    boost::graph::page_rank(to_boost(g.graph), map_of(expected), boost::graph::n_iterations(kRounds), 0.85);
    for (std::uint64_t v = 0; v < n; ++v)
      REQUIRE(all.rank[v] * static_cast<double>(n) == doctest::Approx(expected[v]).epsilon(1e-6));
  }
}

TEST_CASE(
    "graphbig: pr_graphbig ends when two rounds' ranks are close, or after the maximum number of rounds") {
  auto const g = rmat_graph(7, 4);
  auto const rounds = [&](Settings settings) {
    return (build_on("pr_graphbig", g, settings).kernel_count() - 1) / 3;
  };
  CHECK(rounds({{"error", "0"}, {"max_rounds", "7"}}) == 7);
  CHECK(rounds({{"error", "1"}}) == 1);
  auto const n = rounds({});
  CHECK(n > 1);
  CHECK(n < 100);
  auto const distance = [&](std::uint32_t round) {
    auto const a = page_ranks(g.graph, 0.85, 0, round).rank;
    auto const b = page_ranks(g.graph, 0.85, 0, round - 1).rank;
    double sum = 0;
    for (std::size_t v = 0; v < a.size(); ++v) sum += (a[v] - b[v]) * (a[v] - b[v]);
    return std::sqrt(sum);
  };
  CHECK(distance(static_cast<std::uint32_t>(n)) < 0.001);
  CHECK(distance(static_cast<std::uint32_t>(n) - 1) >= 0.001);
}

}  // namespace farfault::workloads::graphbig_results_test
