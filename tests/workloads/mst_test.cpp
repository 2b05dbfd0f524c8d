// SPDX-License-Identifier: Apache-2.0
// mst, executed on values, against Kruskal's algorithm.
#include <algorithm>
#include <boost/graph/kruskal_min_spanning_tree.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <numeric>

#include "../../workloads/src/boruvka.hpp"
#include "graphbig.hpp"

namespace farfault::workloads::mst_test {
using namespace test;
namespace {

bool begins(std::string const& name, char const* with) {
  return name.rfind(with, 0) == 0;
}

struct Weighted {
  std::uint64_t edges = 0, weight = 0;
  bool operator==(Weighted const&) const = default;
};

Weighted kruskal(CsrGraph const& g, std::uint32_t most) {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  Graph graph(g.vertices);
  for (std::uint64_t v = 0; v < g.vertices; ++v)
    for (auto e = g.offsets[v]; e < g.offsets[v + 1]; ++e)
      if (v < g.targets[e]) add_edge(v, g.targets[e], graph);
  auto const weights = boost::make_function_property_map<Graph::edge_descriptor>(
      [&](auto const& e) { return edge_weight(source(e, graph), target(e, graph), most, 1); });
  std::vector<Graph::edge_descriptor> tree;
  boost::kruskal_minimum_spanning_tree(graph, std::back_inserter(tree), boost::weight_map(weights));
  Weighted sum;
  for (auto const& e : tree) {
    ++sum.edges;
    sum.weight += get(weights, e);
  }
  return sum;
}

// Memory of a machine that runs the warps of a kernel one after the other; loads return the values from
// before the kernel. Each store must be the algorithm's result for these values.
class Machine {
 public:
  Machine(Workload const& w, CsrGraph const& g, std::uint32_t most, std::uint32_t width)
      : w_(w), g_(g), most_(most), width_(width), n_(static_cast<std::uint32_t>(g.vertices)) {
    parent_.resize(n_);
    std::iota(parent_.begin(), parent_.end(), 0U);
  }

  Weighted run() {
    for (std::size_t k = 0; k < w_.kernel_count(); ++k) {
      auto const& name = w_.kernel(k).shape().name;
      before_ = parent_;
      if (begins(name, "dinit_")) initialize();
      if (begins(name, "dfindelemin_")) find(k);
      if (begins(name, "dfindelemin2")) claim(k);
      if (begins(name, "verify")) verify(k);
      if (begins(name, "dfindcompmintwo_find")) find_leaders(k);
      if (begins(name, "dfindcompmintwo_unify")) join(k);
    }
    return sum_;
  }

  std::uint32_t boss(std::uint32_t v) const {
    while (parent_[v] != v) v = parent_[v];
    return v;
  }

 private:
  std::uint32_t leader_before(std::uint32_t v) const {
    while (before_[v] != v) v = before_[v];
    return v;
  }

  void initialize() {
    lightest_.assign(n_, kNoWeight);
    lightest_of_ = lightest_;
    partner_.resize(n_);
    std::iota(partner_.begin(), partner_.end(), 0U);
    chosen_.assign(n_, n_);
    adds_.assign(n_, false);
  }

  // A thread's accesses in order. Accesses to the trees are checked: a search climbs the trees as they were
  // before the kernel, then makes its vertex name the boss.
  std::vector<std::vector<Touch>> threads(std::size_t kernel, bool searches = true) {
    std::vector<std::vector<Touch>> all(n_);
    each_touch(w_, kernel, width_, [&](Touch const& t) {
      REQUIRE(t.thread < n_);
      all[t.thread].push_back(t);
    });
    if (!searches) return all;
    for (auto const& list : all)
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].buffer != "ele2comp") continue;
        auto const start = static_cast<std::uint32_t>(list[i].element);
        auto v = start;
        for (; before_[v] != v; v = before_[v]) {
          CHECK(list.at(++i).element == v);  // its parent
          CHECK(list.at(++i).element == before_[v]);
        }
        CHECK(list.at(++i).op == Op::store);
        CHECK(list[i].element == start);
        parent_[start] = v;
      }
    return all;
  }

  static std::vector<std::uint64_t> elements(std::vector<Touch> const& list, std::string const& buffer,
                                             Op op) {
    std::vector<std::uint64_t> found;
    for (auto const& t : list)
      if (t.buffer == buffer && t.op == op) found.push_back(t.element);
    return found;
  }

  std::uint32_t weight(std::uint64_t v, std::uint64_t e) const {
    return edge_weight(v, g_.targets[e], most_, 1);
  }

  void find(std::size_t k) {
    auto const all = threads(k);
    for (std::uint32_t v = 0; v < n_; ++v) {
      auto least = kNoWeight;
      auto partner = n_;
      std::vector<std::uint64_t> targets, weights;
      for (auto e = g_.offsets[v]; e < g_.offsets[v + 1]; ++e) {
        weights.push_back(e + 1);
        if (weight(v, e) >= least) continue;
        targets.push_back(e + 1);
        if (leader_before(g_.targets[e]) == leader_before(v)) continue;
        least = weight(v, e);
        partner = leader_before(g_.targets[e]);
      }
      CHECK(elements(all[v], "edgessrcwt", Op::load) == weights);
      CHECK(elements(all[v], "edgessrcdst", Op::load) == targets);
      std::vector<std::uint64_t> searched{v};
      for (auto const t : targets) searched.push_back(g_.targets[t - 1]);
      CHECK(elements(all[v], "ele2comp", Op::store) == searched);
      for (auto const* b : {"eleminwts", "partners"})
        CHECK(elements(all[v], b, Op::store) == std::vector<std::uint64_t>{v});
      auto const minimum = elements(all[v], "minwtcomponent", Op::store);
      CHECK(minimum.size() == (partner != n_));
      for (auto const b : minimum) {
        CHECK(b == leader_before(v));
        lightest_of_[b] = std::min(lightest_of_[b], least);
      }
      lightest_[v] = least;
      partner_[v] = partner;
    }
  }

  void claim(std::size_t k) {
    auto const all = threads(k);
    for (std::uint32_t v = 0; v < n_; ++v) {
      auto const own = leader_before(v);
      std::vector<std::uint64_t> claims, targets;
      if (lightest_[v] == lightest_of_[own] && partner_[v] != n_)
        for (auto e = g_.offsets[v]; e < g_.offsets[v + 1]; ++e) {
          if (weight(v, e) != lightest_[v]) continue;
          targets.push_back(e + 1);
          if (leader_before(g_.targets[e]) == partner_[v]) claims.push_back(own);
        }
      CHECK(elements(all[v], "edgessrcdst", Op::load) == targets);
      CHECK(elements(all[v], "goaheadnodeofcomponent", Op::store) == claims);
      if (!claims.empty() && chosen_[own] == n_) chosen_[own] = v;
    }
  }

  void verify(std::size_t k) {
    std::vector<std::uint64_t> marked(n_);
    for (auto const& list : threads(k, false))
      for (auto const v : elements(list, "processinnextiteration", Op::store)) {
        CHECK(chosen_[list.front().thread] == v);
        ++marked[v];
        adds_[v] = true;
      }
    std::vector<std::uint64_t> expected(n_);
    for (auto const v : chosen_)
      if (v != n_) ++expected[v];
    CHECK(marked == expected);
  }

  void find_leaders(std::size_t k) {
    auto const all = threads(k);
    first_.assign(n_, n_);
    second_ = first_;
    for (std::uint32_t v = 0; v < n_; ++v) {
      auto const searched = elements(all[v], "ele2comp", Op::store);
      CHECK(searched ==
            (adds_[v] ? std::vector<std::uint64_t>{v, partner_[v]} : std::vector<std::uint64_t>{}));
      if (!adds_[v]) continue;
      first_[v] = leader_before(v);
      second_[v] = leader_before(partner_[v]);
    }
  }

  void join(std::size_t k) {
    auto const all = threads(k, false);
    for (std::uint32_t v = 0; v < n_; ++v) {
      auto const a = first_[v], b = second_[v];
      auto const asked = elements(all[v], "ele2comp", Op::load);
      if (!adds_[v] || a == b) {
        CHECK(asked.empty());
        continue;
      }
      bool const one = parent_[a] == a, two = parent_[b] == b;
      std::vector<std::uint64_t> expected{a};
      if (one) expected.push_back(b);
      if (one && two) expected.push_back(std::min(a, b));
      CHECK(asked == expected);
      CHECK(elements(all[v], "repeat", Op::store).size() == !(one && two));
      CHECK(elements(all[v], "mstwt", Op::store).size() == (one && two));
      if (!one || !two) continue;
      parent_[std::min(a, b)] = std::max(a, b);
      CHECK(elements(all[v], "complen", Op::load) == std::vector<std::uint64_t>{std::min(a, b)});
      CHECK(elements(all[v], "complen", Op::store) == std::vector<std::uint64_t>{std::max(a, b)});
      CHECK(elements(all[v], "processinnextiteration", Op::store) == std::vector<std::uint64_t>{v});
      adds_[v] = false;
      ++sum_.edges;
      sum_.weight += lightest_[v];
    }
  }

  Workload const& w_;
  CsrGraph const& g_;
  std::uint32_t most_, width_, n_;
  Trees parent_, before_, lightest_, lightest_of_, partner_, chosen_, first_, second_;
  std::vector<bool> adds_;
  Weighted sum_;
};

// Builds mst on the skewed graphs of these tests.
Workload build_mst(TestGraph const& g, std::uint32_t most, std::uint32_t width) {
  auto const weight = std::to_string(most);
  return build_on(
      "mst", g, {{"max_weight", weight}, {"rmat.a", "0.57"}, {"rmat.b", "0.19"}, {"rmat.c", "0.19"}}, width);
}

}  // namespace

TEST_CASE("mst: the edges added by the kernels have the number and weight of Kruskal's forest") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const& g : test_graphs({"chesapeake.mtx", "power.graph"}, 8))
      for (std::uint32_t const most : {1U, 3U, 1000U}) {
        CAPTURE(g.name);
        CAPTURE(most);
        auto const w = build_mst(g, most, width);
        Machine machine(w, g.graph, most, width);
        CHECK(machine.run() == kruskal(g.graph, most));
        // The components equal the graph's.
        for (std::uint32_t v = 0; v < g.graph.vertices; ++v)
          for (auto e = g.graph.offsets[v]; e < g.graph.offsets[v + 1]; ++e)
            CHECK(machine.boss(v) == machine.boss(g.graph.targets[e]));
        if (g.name == "R-MAT") CHECK(inside_buffers(w, width));
      }
}

TEST_CASE("mst: the first round reads four arrays per edge, and its components are single vertices") {
  auto const g = rmat_graph(8, 4);
  auto const w = build_mst(g, 1000, 32);
  REQUIRE(w.kernel(2).shape().name == "dfindelemin_round0");
  auto const m = g.graph.targets.size();
  std::uint64_t tries = 0;
  for (std::uint64_t v = 0; v < 256; ++v) {
    auto least = kNoWeight;
    for (auto e = g.graph.offsets[v]; e < g.graph.offsets[v + 1]; ++e) {
      auto const weight = edge_weight(v, g.graph.targets[e], 1000, 1);
      if (weight >= least) continue;
      ++tries;
      if (g.graph.targets[e] != v) least = weight;
    }
  }
  CHECK(count(w, "edgessrcwt", Op::load, 2, 3) == m);
  CHECK(count(w, "edgessrcdst", Op::load, 2, 3) == tries);
  CHECK(count(w, "noutgoing", Op::load, 2, 3) == 256 + m + tries);
  for (auto const* buffer : {"srcsrc", "psrc"}) CHECK(count(w, buffer, Op::load, 2, 3) == m + tries);
  // An atomic and a store per search.
  CHECK(count(w, "ele2comp", Op::load, 2, 3) == 256 + tries);
  CHECK(count(w, "ele2comp", Op::store, 2, 3) == 256 + tries);
}

TEST_CASE("mst: rounds whose record exceeds the memory limit are rejected") {
  auto const g = rmat_graph(10, 4);
  CHECK(error_of([&] { boruvka(g.graph, 10, 1, 40'000); }) ==
        "mst: the rounds on 1024 vertices need more than 0 MiB of host memory, the maximum; use a smaller "
        "graph");
  CHECK(boruvka(g.graph, 10, 1).rounds.size() > 2);
}

TEST_CASE("mst: a directed graph is rejected") {
  CHECK(
      error_of([] {
        build("mst", {{"undirected", "false"}, {"rmat.scale", "5"}});
      }) ==
      "undirected = false must be true, because the graph is directed and the algorithm needs an undirected "
      "graph");
}

}  // namespace farfault::workloads::mst_test
