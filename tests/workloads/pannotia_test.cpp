// SPDX-License-Identifier: Apache-2.0
// Results of Pannotia's graph workloads, computed by executing their streams.
#include "../../workloads/src/pannotia.hpp"

#include <boost/graph/betweenness_centrality.hpp>
#include <boost/property_map/property_map.hpp>
#include <cmath>

#include "graphbig.hpp"

namespace farfault::workloads::pannotia_test {
using namespace test;
namespace {

// Settings of the graphs of these tests.
Settings const kSkewed{{"rmat.a", "0.57"}, {"rmat.b", "0.19"}, {"rmat.c", "0.19"}};
constexpr std::uint32_t kInfinite = ~std::uint32_t{0};

bool begins(std::string const& name, char const* with) {
  return name.rfind(with, 0) == 0;
}

template <class Use>
void each_neighbour(CsrGraph const& g, std::uint64_t v, Use use) {
  for (auto e = g.offsets[v]; e < g.offsets[v + 1]; ++e) use(std::uint64_t{g.targets[e]});
}

std::uint64_t degree(CsrGraph const& g, std::uint64_t v) {
  return g.offsets[v + 1] - g.offsets[v];
}

// Greedy set by ascending numbers: each vertex without a neighbour in the set joins.
std::vector<bool> greedy_set(CsrGraph const& g, std::vector<std::uint32_t> const& numbers) {
  std::vector<std::uint64_t> order(g.vertices);
  for (std::uint64_t v = 0; v < g.vertices; ++v) order[numbers[v]] = v;
  std::vector<bool> in(g.vertices);
  for (auto const v : order) {
    bool free = true;
    each_neighbour(g, v, [&](auto w) { free = free && !in[w]; });
    in[v] = free;
  }
  return in;
}

struct Sets {
  std::vector<bool> in;
  std::uint64_t rounds = 0;
};

// Executes the kernels on states, and checks that each thread's stores follow from its loads.
Sets play_mis(Workload const& w, CsrGraph const& g, std::vector<std::uint32_t> const& numbers,
              std::uint32_t width) {
  auto const n = g.vertices;
  std::vector<bool> open(n, true), told(n), in(n);
  std::vector<std::uint32_t> least(n, kInfinite);
  Sets result;
  REQUIRE(w.kernel_count() % 3 == 1);
  for (std::size_t k = 1; k < w.kernel_count(); ++k) {
    auto const before = open;
    std::uint64_t wrote = 0;
    if (k % 3 == 1) {
      CHECK(begins(w.kernel(k).shape().name, "mis1"));
      ++result.rounds;
      std::map<std::uint64_t, std::uint32_t> found;
      each_touch(w, k, width, [&](Touch const& t) {
        if (t.buffer == "numbers") {
          auto& f = found.try_emplace(t.thread, kInfinite).first->second;
          f = std::min(f, numbers[t.element]);
        }
        if (t.buffer != "least") return;
        CHECK(t.op == Op::store);
        CHECK(t.element == t.thread);
        CHECK(before[t.thread]);
        least[t.thread] = found.try_emplace(t.thread, kInfinite).first->second;
        ++wrote;
      });
      for (std::uint64_t v = 0; v < n; ++v) {
        if (!before[v]) continue;
        --wrote;
        auto expected = kInfinite;
        each_neighbour(g, v,
                       [&](auto x) { expected = before[x] ? std::min(expected, numbers[x]) : expected; });
        CHECK(least[v] == expected);
      }
      CHECK(wrote == 0);
    } else if (k % 3 == 2) {
      std::set<std::uint64_t> expected;
      for (std::uint64_t v = 0; v < n; ++v)
        if (before[v] && numbers[v] <= least[v])
          each_neighbour(g, v, [&](auto x) {
            if (before[x] && x != v) expected.insert(x);
          });
      std::set<std::uint64_t> out;
      each_touch(w, k, width, [&](Touch const& t) {
        if (t.op != Op::store) return;
        if (t.buffer == "new_states") {
          out.insert(t.element);
          told[t.element] = true;
          return;
        }
        CHECK(t.element == t.thread);
        CHECK(before[t.thread]);
        CHECK(numbers[t.thread] <= least[t.thread]);
        if (t.buffer == "set") in[t.thread] = true;
        if (t.buffer == "states") open[t.thread] = false, ++wrote;
      });
      CHECK(out == expected);
      for (std::uint64_t v = 0; v < n; ++v) wrote -= before[v] && numbers[v] <= least[v];
      CHECK(wrote == 0);
    } else {
      each_touch(w, k, width, [&](Touch const& t) {
        if (t.op != Op::store) return;
        CHECK(t.buffer == "states");
        CHECK(told[t.element]);
        open[t.element] = false;
        ++wrote;
      });
      CHECK(wrote == static_cast<std::uint64_t>(std::count(told.begin(), told.end(), true)));
    }
  }
  CHECK(std::count(open.begin(), open.end(), true) == 0);
  result.in = in;
  return result;
}

}  // namespace

TEST_CASE("mis: the set is independent and maximal, and equals selection by rising number") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const& g : test_graphs({"power.graph", "as20graph.txt"})) {
      CAPTURE(g.name);
      auto const w = build_on("mis", g, kSkewed, width);
      auto const numbers = vertex_numbers(g.graph.vertices, 1);
      auto const sets = play_mis(w, g.graph, numbers, width);
      CHECK(sets.rounds > 3);
      for (std::uint64_t v = 0; v < g.graph.vertices; ++v) {
        bool beside = false;
        each_neighbour(g.graph, v, [&](auto x) { beside = beside || (sets.in[x] && x != v); });
        CHECK(beside != sets.in[v]);
      }
      CHECK(sets.in == greedy_set(g.graph, numbers));
    }
}

TEST_CASE("mis: on a hand-made graph each access matches the algorithm") {
  TempFile const file("hand.graph", kHandGraph);
  auto const w = build("mis", {{"graph", file.path()}});
  // Among the first three vertices the second has the minimum number; the fourth has a greater one than the
  // third, its only neighbour, and joins in the second round; the fifth has no edges and joins immediately.
  auto const numbers = vertex_numbers(5, 1);
  CHECK(numbers[1] < std::min(numbers[0], numbers[2]));
  CHECK(numbers[2] < numbers[3]);
  REQUIRE(w.kernel_count() == 1 + 3 * 3);
  CHECK(text(w, 0) == ". w:states[0,1,2,3,4] w:new_states[0,1,2,3,4] w:set[0,1,2,3,4]");
  CHECK(text(w, 1) ==
        ". r:states[0,1,2,3,4] . w:stop[0,0,0,0,0] r:row[0,1,2,3,4] r:row[1,2,3,4] . "
        "r:column[0,2,4,7] . r:states[1,0,0,2] . r:numbers[1,0,0,2] . "
        "r:column[1,3,5] . r:states[2,2,1] . r:numbers[2,2,1] . "
        "r:column[6] . r:states[3] . r:numbers[3] . w:least[0,1,2,3,4]");
  CHECK(text(w, 2) ==
        ". r:numbers[0,1,2,3,4] r:least[0,1,2,3,4] . r:states[1,4] . w:set[1,4] r:row[1,4] r:row[2] . "
        "w:states[1,4] r:column[2] . r:states[0] . w:new_states[0] r:column[3] . r:states[2] . "
        "w:new_states[2]");
  CHECK(text(w, 3) == ". r:new_states[0,1,2,3,4] . w:states[0,2]");
  CHECK(text(w, 4) ==
        ". r:states[0,1,2,3,4] . w:stop[0] r:row[3] r:row[4] . r:column[7] . r:states[2] . . . w:least[3]");
  CHECK(text(w, 9) == ". r:new_states[0,1,2,3,4] . w:states[0,2]");
}

TEST_CASE(
    "color: neighbours have different colours, except for vertices with a single edge, which read none") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const& g : test_graphs({"wing.graph", "as20graph.txt"})) {
      CAPTURE(g.name);
      auto const w = build_on("color", g, kSkewed, width);
      auto const n = g.graph.vertices;
      auto const numbers = vertex_numbers(n, 1);
      std::vector<std::uint32_t> colour(n, kInfinite);
      std::vector<std::int64_t> greatest(n), least(n);
      REQUIRE(w.kernel_count() % 2 == 1);
      bool asked = true;
      for (std::size_t k = 1; k < w.kernel_count(); ++k) {
        std::map<std::uint64_t, std::vector<std::uint64_t>> stores;
        if (k % 2 == 1) {
          CHECK(asked);
          asked = false;
          std::set<std::uint64_t> wrote;
          std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> found;
          each_touch(w, k, width, [&](Touch const& t) {
            auto& f = found.try_emplace(t.thread, -1, kInfinite).first->second;
            if (t.buffer == "numbers") {
              f.first = std::max<std::int64_t>(f.first, numbers[t.element]);
              f.second = std::min<std::int64_t>(f.second, numbers[t.element]);
            }
            if (t.buffer == "stop") asked = true;
            if (t.buffer != "greatest" && t.buffer != "least") return;
            CHECK(t.element == t.thread);
            wrote.insert(t.element);
            (t.buffer == "greatest" ? greatest : least)[t.element] =
                t.buffer == "greatest" ? f.first : f.second;
          });
          for (std::uint64_t v = 0; v < n; ++v) {
            CHECK(wrote.contains(v) == (colour[v] == kInfinite));
            if (!wrote.contains(v)) continue;
            std::int64_t up = -1, down = kInfinite;
            each_neighbour(g.graph, v, [&](auto x) {
              if (colour[x] != kInfinite || degree(g.graph, v) == 1) return;
              up = std::max<std::int64_t>(up, numbers[x]);
              down = std::min<std::int64_t>(down, numbers[x]);
            });
            CHECK(greatest[v] == up);
            CHECK(least[v] == down);
          }
          continue;
        }
        std::map<std::uint64_t, int> written;
        each_touch(w, k, width, [&](Touch const& t) {
          if (t.op != Op::store) return;
          CHECK(t.element == t.thread);
          CHECK(t.buffer == "colours");
          ++written[t.element];
        });
        for (std::uint64_t v = 0; v < n; ++v) {
          bool const first = numbers[v] >= greatest[v], second = numbers[v] <= least[v];
          if (colour[v] != kInfinite) {
            CHECK(!written.contains(v));
          } else {
            CHECK((written.contains(v) ? written[v] : 0) == first + second);
            if (first || second) colour[v] = static_cast<std::uint32_t>(k - 1 + second);
          }
        }
      }
      CHECK(!asked);
      std::uint64_t edges = 0;
      for (std::uint64_t v = 0; v < n; ++v) {
        CHECK(colour[v] != kInfinite);
        each_neighbour(g.graph, v, [&](auto x) {
          edges += x != v && colour[x] == colour[v];
          CHECK((x == v || colour[x] != colour[v] || degree(g.graph, v) == 1 || degree(g.graph, x) == 1));
        });
      }
      if (g.name == "wing.graph") CHECK(edges == 0);
    }
}

TEST_CASE("pr_pannotia: the ranks that threads push and sum up match the power method") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const& g : test_graphs({"chesapeake.mtx", "as20graph.txt"})) {
      auto const n = g.graph.vertices;
      auto const w = build_on("pr_pannotia", g, {{"iterations", "3"}}, width);
      REQUIRE(w.kernel_count() == 7);
      std::vector<double> ranks(n), sums(n), expected(n, 1.0 / double(n));
      for (std::size_t k = 0; k < 7; ++k) {
        std::map<std::uint64_t, double> loaded;
        each_touch(w, k, width, [&](Touch const& t) {
          if (t.buffer == "row" || t.buffer == "column") return;
          auto& array = t.buffer == "ranks" ? ranks : sums;
          if (t.op == Op::load) {
            CHECK(t.element == t.thread);
            loaded[t.thread] = array[t.element];
          } else if (k == 0) {
            array[t.element] = t.buffer == "ranks" ? 1.0 / double(n) : 0;
          } else if (k % 2 == 1) {
            CHECK(t.buffer == "sums");
            sums[t.element] += loaded.at(t.thread) / double(degree(g.graph, t.thread));
          } else {
            array[t.element] = t.buffer == "ranks" ? 0.15 / double(n) + 0.85 * loaded.at(t.thread) : 0;
          }
        });
      }
      for (int i = 0; i < 3; ++i) {
        std::vector<double> next(n, 0.15 / double(n));
        for (std::uint64_t v = 0; v < n; ++v)
          each_neighbour(g.graph, v,
                         [&](auto x) { next[x] += 0.85 * expected[v] / double(degree(g.graph, v)); });
        expected = next;
      }
      for (std::uint64_t v = 0; v < n; ++v) CHECK(ranks[v] == doctest::Approx(expected[v]));
    }
}

TEST_CASE("pr_pannotia: a column, the rank and a sum for each edge; both ends of a row except for the last") {
  auto const g = rmat_graph(9, 4);
  auto const w = build_on("pr_pannotia", g, {{"iterations", "1"}});
  auto const m = g.graph.targets.size();
  CHECK(count(w, "row", Op::load) == 2 * 512 - 1);
  for (auto const* buffer : {"column", "ranks"}) CHECK(count(w, buffer, Op::load, 1, 2) == m);
  CHECK(count(w, "sums", Op::store, 1, 2) == m);
  CHECK(count(w, "sums", Op::load, 2, 3) == 512);
  CHECK(count(w, "sums", Op::store, 2, 3) == 512);
  CHECK(count(w, "ranks", Op::store, 2, 3) == 512);
  TempFile const hand("hand.graph", kHandGraph);
  auto const small = build("pr_pannotia", {{"graph", hand.path()}, {"iterations", "1"}});
  CHECK(text(small, 2) == ". r:sums[0,1,2,3,4] . w:ranks[0,1,2,3,4] w:sums[0,1,2,3,4]");
}

TEST_CASE("bc_pannotia: the threads' sums over all roots are the centrality of Boost.Graph") {
  auto const g = rmat_graph(7, 3);
  auto const n = g.graph.vertices;
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build_on("bc_pannotia", g, {{"roots", "128"}}, width);
    std::vector<double> centrality(n), sigma(n), rho(n);
    std::vector<int> level(n);
    int depth = 0;
    std::uint64_t root = 0;
    for (std::size_t k = 0; k < w.kernel_count(); ++k) {
      auto const name = w.kernel(k).shape().name;
      bool const forward = begins(name, "bfs"), backward = begins(name, "backtrack");
      if (forward) ++depth;
      if (backward) --depth;
      if (begins(name, "clean_root")) {
        root = std::stoull(name.substr(10));
        CHECK(depth == 0);
      }
      std::map<std::uint64_t, std::vector<double>> loaded;
      std::set<std::uint64_t> added;
      each_touch(w, k, width, [&](Touch const& t) {
        if (t.buffer == "stop" || t.buffer == "levels") {
          if (t.op == Op::store && t.buffer == "levels")
            level[t.element] = forward ? depth : t.element == root ? 0 : -1;
          return;
        }
        if (t.buffer != "rho" && t.buffer != "sigma" && t.buffer != "centrality") return;
        auto& array = t.buffer == "rho" ? rho : t.buffer == "sigma" ? sigma : centrality;
        auto& values = loaded[t.thread];
        if (t.op == Op::load) return values.push_back(array[t.element]);
        if (forward) {
          added.insert(t.element);
          rho[t.element] += values.at(0);
        } else if (backward && t.buffer == "sigma") {
          CHECK(level[t.element] == depth - 1);
          REQUIRE(values.size() == 3);
          sigma[t.element] += values[1] / values[0] * (1 + values[2]);
        } else if (backward) {
          CHECK(t.element == t.thread);
          CHECK(level[t.element] == depth);
          REQUIRE(values.size() == 2);
          centrality[t.element] = values[0] + values[1];
        } else {
          array[t.element] = t.buffer == "rho" && t.element == root ? 1 : 0;
        }
        values.clear();
      });
      // Exactly the vertices of the level get paths, regardless of the thread that finds them.
      for (std::uint64_t v = 0; v < n && forward; ++v) CHECK(added.contains(v) == (level[v] == depth));
    }
    auto const graph = to_boost(g.graph);
    std::vector<double> expected(n);
    boost::brandes_betweenness_centrality(
        graph, boost::make_iterator_property_map(expected.begin(), boost::identity_property_map()));
    for (std::uint64_t v = 0; v < n; ++v) CHECK(centrality[v] == doctest::Approx(expected[v]));
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("mis, color: a directed graph is rejected") {
  for (std::string const name : {"mis", "color"})
    CHECK(error_of([&] {
            build(name, {{"undirected", "false"}, {"rmat.scale", "5"}});
          }) ==
          "undirected = false must be true, because the graph is directed and the algorithm needs an "
          "undirected graph");
}

}  // namespace farfault::workloads::pannotia_test
