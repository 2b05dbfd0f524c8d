// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/partitioning.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <set>

namespace partitioning_test {

using namespace farfault::topologies;

namespace {

using Ranks = std::vector<std::uint32_t>;

// `groups` cliques of `size`, with edges of weight 100 inside and one edge of weight 1 to the next group.
std::vector<PartitionEdge> cliques(std::uint32_t groups, std::uint32_t size) {
  std::vector<PartitionEdge> edges;
  for (std::uint32_t g = 0; g < groups; ++g) {
    for (std::uint32_t i = 0; i < size; ++i)
      for (std::uint32_t j = i + 1; j < size; ++j) edges.push_back({g * size + i, g * size + j, 100});
    if (g + 1 < groups) edges.push_back({g * size, (g + 1) * size, 1});
  }
  return edges;
}

}  // namespace

TEST_CASE("four cliques on four ranks are cut only between them") {
  auto const edges = cliques(4, 4);
  std::vector<std::uint64_t> const weights(16, 10);
  auto const ranks = assign_ranks(weights, edges, 4);
  CHECK(ranks == Ranks{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3});
  CHECK(cut_weight(edges, ranks) == 3);
  CHECK(imbalance(weights, ranks, 4) == doctest::Approx(1.0));
}

TEST_CASE("equal arguments always give equal ranks") {
  std::vector<std::uint64_t> weights;
  std::vector<PartitionEdge> edges;
  for (std::uint32_t i = 0; i < 200; ++i) {
    weights.push_back(1 + (i * 7919) % 31);
    edges.push_back({i, (i + 1) % 200, 1 + i % 5});
    edges.push_back({i, (i * 17 + 3) % 200, 2});
  }
  auto const first = assign_ranks(weights, edges, 7);
  for (int repeat = 0; repeat < 5; ++repeat) {
    assign_ranks(weights, cliques(10, 20), 3);  // independent of earlier calls of Scotch
    REQUIRE(assign_ranks(weights, edges, 7) == first);
  }
  CHECK(std::set<std::uint32_t>(first.begin(), first.end()).size() == 7);
  CHECK(imbalance(weights, first, 7) < 1.15);
  CHECK(cut_weight(edges, first) < 600);
}

TEST_CASE("enormous weights are scaled without overflow") {
  std::vector<std::uint64_t> const weights(8, UINT64_MAX);
  std::vector<PartitionEdge> edges;
  for (std::uint32_t i = 0; i < 7; ++i) edges.push_back({i, i + 1, i == 3 ? 1 : UINT64_MAX});
  CHECK(assign_ranks(weights, edges, 2) == Ranks{0, 0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("fewer than two partitions per rank are split into ranges, none of them empty") {
  CHECK(assign_ranks(std::vector<std::uint64_t>{1, 1, 1, 1, 1}, {}, 3) == Ranks{0, 0, 1, 2, 2});
  CHECK(assign_ranks(std::vector<std::uint64_t>{100, 1, 1}, {}, 3) == Ranks{0, 1, 2});
  CHECK(assign_ranks(std::vector<std::uint64_t>{1, 1, 100}, {}, 3) == Ranks{0, 1, 2});
  CHECK(assign_ranks(std::vector<std::uint64_t>{1, 1, 100}, {}, 2) == Ranks{0, 0, 1});
  CHECK(assign_ranks(std::vector<std::uint64_t>{5, 5}, {}, 4) == Ranks{0, 1});
  CHECK(assign_ranks(std::vector<std::uint64_t>{0, 0, 0}, {}, 2).size() == 3);
}

TEST_CASE("one rank gets everything, and zero partitions need none") {
  CHECK(assign_ranks(std::vector<std::uint64_t>{3, 4, 5}, {}, 1) == Ranks{0, 0, 0});
  CHECK(assign_ranks({}, {}, 3).empty());
}

TEST_CASE("partitions without edges are still balanced over the ranks") {
  std::vector<std::uint64_t> const weights(12, 1);
  auto const ranks = assign_ranks(weights, {}, 3);
  CHECK(imbalance(weights, ranks, 3) < 1.3);
  CHECK(std::set<std::uint32_t>(ranks.begin(), ranks.end()).size() == 3);
}

}  // namespace partitioning_test
