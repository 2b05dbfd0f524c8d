// SPDX-License-Identifier: Apache-2.0
#include "graph_algorithms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "farfault/workloads/registry.hpp"
#include "random.hpp"

namespace farfault::workloads {

std::uint64_t start_vertex(CsrGraph const& graph, std::uint64_t source) {
  if (source >= graph.vertices)
    throw ParameterError("source", source,
                         "must be a vertex of the graph, 0 to " + std::to_string(graph.vertices - 1));
  for (std::uint64_t i = 0; i < graph.vertices; ++i) {
    auto const v = (source + i) % graph.vertices;
    if (graph.offsets[v] < graph.offsets[v + 1]) return v;
  }
  return source;
}

BreadthFirst breadth_first(CsrGraph const& graph, std::uint64_t source) {
  BreadthFirst search;
  auto& level = search.level;
  level.assign(graph.vertices, kNever);
  std::vector<std::uint32_t> queue{static_cast<std::uint32_t>(source)};
  level[source] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    auto const v = queue[head];
    search.depth = level[v];
    for (auto e = graph.offsets[v]; e < graph.offsets[v + std::size_t{1}]; ++e) {
      auto const w = graph.targets[e];
      if (level[w] != kNever) continue;
      level[w] = level[v] + 1;
      queue.push_back(w);
    }
  }
  search.finds = Bits(graph.targets.size());
  Bits found(graph.vertices);
  for (std::uint64_t v = 0; v < graph.vertices; ++v) {
    if (level[v] == kNever) continue;
    for (auto e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
      auto const w = graph.targets[e];
      if (level[w] != level[v] + 1 || found[w]) continue;
      found.set(w);
      search.finds.set(e);
    }
  }
  return search;
}

Frontiers frontiers(CsrGraph const& graph, BreadthFirst const& search, std::uint64_t source,
                    std::uint32_t chunk) {
  constexpr std::uint64_t kWarp = 32;
  Frontiers f;
  f.vertices.push_back(static_cast<std::uint32_t>(source));
  f.first = {0, 1};
  for (std::uint32_t l = 0; l <= search.depth; ++l) {
    auto const begin = f.first[l];
    auto const size = f.first[l + std::size_t{1}] - begin;
    auto const threads = (size + chunk - 1) / chunk * kWarp;
    f.first_thread.push_back(f.pushed.size());
    auto const each_find = [&](auto use) {
      for (std::uint64_t at = 0; at < size; ++at) {
        auto const v = f.vertices[begin + at];
        for (auto e = graph.offsets[v]; e < graph.offsets[v + std::size_t{1}]; ++e)
          if (search.finds[e]) use(at / chunk * kWarp + (e - graph.offsets[v]) % kWarp, graph.targets[e]);
      }
    };
    std::vector<std::uint64_t> next(threads + 1, 0);
    each_find([&](std::uint64_t thread, std::uint32_t) { ++next[thread + 1]; });
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (auto const n : next) f.pushed.push_back(static_cast<std::uint32_t>(n));
    f.vertices.resize(begin + size + next.back());
    each_find([&](std::uint64_t thread, std::uint32_t w) { f.vertices[begin + size + next[thread]++] = w; });
    f.first.push_back(f.vertices.size());
  }
  return f;
}

std::uint32_t edge_weight(std::uint64_t from, std::uint64_t to, std::uint32_t most, std::uint64_t seed) {
  auto const [low, high] = std::minmax(from, to);
  return 1 + static_cast<std::uint32_t>(Random(seed + (low << 32 | high)).below(most));
}

ShortestPaths shortest_paths(CsrGraph const& graph, std::uint64_t source, std::uint32_t max_weight,
                             std::uint64_t seed) {
  ShortestPaths paths;
  auto& distance = paths.distance;
  distance.assign(graph.vertices, ~std::uint64_t{0});
  distance[source] = 0;
  auto update = distance;
  std::vector<std::uint32_t> order{static_cast<std::uint32_t>(source)};  // vertices in reading order
  std::vector<std::size_t> first{0, 1};                                  // each round's first in that order
  for (; first[paths.rounds] < order.size(); ++paths.rounds) {
    for (auto i = first[paths.rounds]; i < first[paths.rounds + std::size_t{1}]; ++i) {
      auto const v = order[i];
      for (auto e = graph.offsets[v]; e < graph.offsets[v + std::size_t{1}]; ++e) {
        auto const w = graph.targets[e];
        auto const d = distance[v] + edge_weight(v, w, max_weight, seed);
        if (d >= update[w]) continue;
        if (update[w] == distance[w]) order.push_back(w);
        update[w] = d;
      }
    }
    for (auto i = first.back(); i < order.size(); ++i) distance[order[i]] = update[order[i]];
    first.push_back(order.size());
  }
  paths.first_read.assign(graph.vertices + 1, 0);
  for (auto const v : order) ++paths.first_read[v + std::size_t{1}];
  std::partial_sum(paths.first_read.begin(), paths.first_read.end(), paths.first_read.begin());
  paths.reads.resize(order.size());
  auto at = paths.first_read;
  for (std::uint32_t round = 0; round < paths.rounds; ++round)
    for (auto i = first[round]; i < first[round + std::size_t{1}]; ++i) paths.reads[at[order[i]]++] = round;
  return paths;
}

Core core(CsrGraph const& graph, std::uint32_t k) {
  Core result;
  result.removed.assign(graph.vertices, kNever);
  std::vector<std::uint64_t> degree(graph.vertices);
  std::vector<std::uint32_t> now;
  for (std::uint64_t v = 0; v < graph.vertices; ++v) {
    degree[v] = graph.offsets[v + 1] - graph.offsets[v];
    if (degree[v] < k) now.push_back(static_cast<std::uint32_t>(v));
  }
  for (; !now.empty(); ++result.rounds) {
    for (auto const v : now) result.removed[v] = result.rounds;
    std::vector<std::uint32_t> next;
    for (auto const v : now)
      for (auto e = graph.offsets[v]; e < graph.offsets[v + std::size_t{1}]; ++e) {
        auto const w = graph.targets[e];
        if (result.removed[w] == kNever && degree[w]-- == k) next.push_back(w);
      }
    now = std::move(next);
  }
  ++result.rounds;
  return result;
}

Colouring colouring(CsrGraph const& graph, std::uint64_t seed) {
  auto const n = graph.vertices;
  std::vector<std::uint32_t> number(n);
  Random random(seed);
  for (auto& x : number) x = static_cast<std::uint32_t>(random.next() >> 33);  // 31 bits, as from rand()
  auto const larger = [&](std::uint32_t a, std::uint32_t b) {
    return number[a] > number[b] || (number[a] == number[b] && a < b);
  };
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), larger);
  Colouring result;
  auto& colour = result.colour;
  colour.assign(n, 0);
  for (auto const v : order) {
    for (auto e = graph.offsets[v]; e < graph.offsets[v + std::size_t{1}]; ++e)
      if (auto const w = graph.targets[e]; larger(w, v)) colour[v] = std::max(colour[v], colour[w] + 1);
    result.colours = std::max(result.colours, colour[v] + 1);
  }
  // Earlier edges to the same or a later colour stop every round that this edge could stop.
  for (std::uint32_t v = 0; v < n; ++v) {
    result.first_stop.push_back(result.stops.size());
    std::uint32_t beyond = 0;
    for (auto e = graph.offsets[v]; e < graph.offsets[v + std::size_t{1}]; ++e) {
      auto const w = graph.targets[e];
      if (!larger(w, v) || colour[w] < beyond) continue;
      beyond = colour[w] + 1;
      result.stops.push_back({static_cast<std::uint32_t>(e), colour[w]});
    }
  }
  result.first_stop.push_back(result.stops.size());
  return result;
}

std::uint64_t Colouring::looked_at(CsrGraph const& graph, std::uint64_t v, std::uint32_t round) const {
  for (auto i = first_stop[v]; i < first_stop[v + 1]; ++i)
    if (stops[i].colour >= round) return stops[i].edge - graph.offsets[v] + 1;
  return graph.offsets[v + 1] - graph.offsets[v];
}

Ranks page_ranks(CsrGraph const& graph, double damping, double error, std::uint32_t max_rounds) {
  auto const n = static_cast<double>(graph.vertices);
  Ranks result;
  auto& rank = result.rank;
  rank.assign(graph.vertices, 1.0 / n);
  while (result.rounds < max_rounds) {
    ++result.rounds;
    auto const old = std::exchange(rank, std::vector<double>(graph.vertices, (1.0 - damping) / n));
    for (std::uint64_t v = 0; v < graph.vertices; ++v) {
      auto const push = damping * old[v] / static_cast<double>(graph.offsets[v + 1] - graph.offsets[v]);
      for (auto e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) rank[graph.targets[e]] += push;
    }
    double sum = 0;
    for (std::uint64_t v = 0; v < graph.vertices; ++v) sum += (rank[v] - old[v]) * (rank[v] - old[v]);
    if (std::sqrt(sum) < error) break;
  }
  return result;
}

}  // namespace farfault::workloads
