// SPDX-License-Identifier: Apache-2.0
#include "boruvka.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "farfault/engine/error.hpp"

namespace farfault::workloads {
namespace {

std::uint32_t boss(Trees const& trees, std::uint32_t v) {
  while (trees[v] != v) v = trees[v];
  return v;
}

// The kernels' results before components are joined.
BoruvkaRound search(CsrGraph const& g, std::vector<std::uint32_t> const& weights, Trees const& trees) {
  auto const n = static_cast<std::uint32_t>(g.vertices);
  BoruvkaRound r;
  r.trees = trees;
  r.bosses.resize(n);
  for (std::uint32_t v = 0; v < n; ++v) r.bosses[v] = boss(trees, v);
  r.tries = Bits(g.targets.size());
  r.lightest.assign(n, kNoWeight);
  r.partner.assign(n, n);
  r.lightest_of.assign(n, kNoWeight);
  for (std::uint32_t v = 0; v < n; ++v) {
    for (auto e = g.offsets[v]; e < g.offsets[v + 1]; ++e) {
      if (weights[e] >= r.lightest[v]) continue;
      r.tries.set(e);
      auto const other = r.bosses[g.targets[e]];
      if (other == r.bosses[v]) continue;
      r.lightest[v] = weights[e];
      r.partner[v] = other;
    }
    auto& least = r.lightest_of[r.bosses[v]];
    least = std::min(least, r.lightest[v]);
  }
  r.chosen.assign(n, n);
  for (std::uint32_t v = 0; v < n; ++v) {
    auto const b = r.bosses[v];
    if (r.partner[v] != n && r.lightest[v] == r.lightest_of[b] && r.chosen[b] == n) r.chosen[b] = v;
  }
  r.looked_at.assign(n, 0);
  for (std::uint32_t b = 0; b < n; ++b) {
    auto const v = r.chosen[b];
    if (v == n) continue;
    auto e = g.offsets[v];
    while (weights[e] != r.lightest[v] || r.bosses[g.targets[e]] != r.partner[v]) ++e;
    r.looked_at[b] = static_cast<std::uint32_t>(e + 1 - g.offsets[v]);
  }
  return r;
}

}  // namespace

Forest boruvka(CsrGraph const& g, std::uint32_t max_weight, std::uint64_t seed, std::uint64_t max_bytes) {
  auto const n = static_cast<std::uint32_t>(g.vertices);
  Forest f;
  f.weights.reserve(g.targets.size());
  for (std::uint64_t v = 0; v < n; ++v)
    for (auto e = g.offsets[v]; e < g.offsets[v + 1]; ++e)
      f.weights.push_back(edge_weight(v, g.targets[e], max_weight, seed));
  Trees trees(n);
  std::iota(trees.begin(), trees.end(), 0U);
  std::uint64_t bytes = 0;
  bool joined = true;
  while (joined) {
    auto round = search(g, f.weights, trees);
    trees = round.bosses;
    std::vector<bool> adds(n);
    for (auto const v : round.chosen)
      if (v != n) adds[v] = true;
    joined = false;
    for (bool again = true; again;) {
      again = false;
      JoinPass pass{trees, {}};
      for (std::uint32_t v = 0; v < n; ++v)
        if (adds[v]) pass.attempts.push_back({v, boss(trees, v), boss(trees, round.partner[v]), Join::none});
      for (auto const& a : pass.attempts) {  // both searches compress the paths of their vertices
        trees[a.vertex] = a.first;
        trees[round.partner[a.vertex]] = a.second;
      }
      for (auto& [v, one, two, result] : pass.attempts) {
        if (one == two) continue;
        result = trees[one] != one   ? Join::first_joined
                 : trees[two] != two ? Join::second_joined
                                     : Join::done;
        if (result != Join::done) {
          again = true;
          continue;
        }
        trees[std::min(one, two)] = std::max(one, two);
        adds[v] = false;
        f.weight += round.lightest[v];
        ++f.edges;
        joined = true;
      }
      round.passes.push_back(std::move(pass));
    }
    f.rounds.push_back(std::move(round));
    // Seven numbers per vertex and a bit per edge; the trees before each pass.
    bytes +=
        std::uint64_t{28} * n + g.targets.size() / 8 + f.rounds.back().passes.size() * std::uint64_t{4} * n;
    if (bytes > max_bytes)
      throw UserError("mst: the rounds on " + std::to_string(n) + " vertices need more than " +
                      std::to_string(max_bytes >> 20) +
                      " MiB of host memory, the maximum; use a smaller graph");
  }
  return f;
}

}  // namespace farfault::workloads
