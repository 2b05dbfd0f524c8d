// SPDX-License-Identifier: Apache-2.0
#include "farfault/topologies/partitioning.hpp"

#include <algorithm>
#include <cstdio>  // scotch.h needs FILE
#include <map>
#include <memory>
#include <optional>

#include "farfault/engine/error.hpp"

extern "C" {
#include <scotch.h>
}

namespace farfault::topologies {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr SCOTCH_Num kSeed = 1;
constexpr Wide kLargestSum = 1U << 30U;  // Scotch sums weights in 32 bits
constexpr std::size_t kLargestGraph = 1U << 28U;

Wide sum(std::span<std::uint64_t const> weights) {
  Wide total = 0;
  for (auto w : weights) total += w;
  return total;
}

// Weights whose sum Scotch can hold; a partition without load weighs 1, so that it still counts.
std::vector<SCOTCH_Num> scaled(std::span<std::uint64_t const> weights) {
  auto const total = std::max<Wide>(sum(weights), 1);
  auto const room = kLargestSum - weights.size();
  std::vector<SCOTCH_Num> result;
  for (auto w : weights) {
    auto const value = total <= room ? static_cast<Wide>(w) : static_cast<Wide>(w) * room / total;
    result.push_back(static_cast<SCOTCH_Num>(std::max<Wide>(value, 1)));
  }
  return result;
}

std::vector<std::uint32_t> contiguous(std::span<std::uint64_t const> weights, std::uint32_t ranks) {
  std::vector<std::uint32_t> result(weights.size());
  auto const total = sum(weights);
  Wide before = 0;
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    auto const left = weights.size() - i;
    // Advances to the next rank if this partition's middle is beyond the rank's share, or if every remaining
    // rank needs one of the remaining partitions; never before the rank itself has one.
    auto const beyond = (2 * before + weights[i]) * ranks > 2 * total * (rank + 1);
    auto const owns_one = i > 0 && result[i - 1] == rank;
    if (owns_one && rank + 1 < ranks && (beyond || left <= ranks - 1 - rank)) ++rank;
    result[i] = rank;
    before += weights[i];
  }
  return result;
}

struct GraphDeleter {
  void operator()(SCOTCH_Graph* graph) const {
    SCOTCH_graphExit(graph);
    SCOTCH_memFree(graph);
  }
};
struct ContextDeleter {
  void operator()(SCOTCH_Context* context) const {
    SCOTCH_contextExit(context);
    SCOTCH_memFree(context);
  }
};
using ScotchGraph = std::unique_ptr<SCOTCH_Graph, GraphDeleter>;
using Context = std::unique_ptr<SCOTCH_Context, ContextDeleter>;

ScotchGraph new_graph() {
  auto* graph = SCOTCH_graphAlloc();
  FF_CHECK(graph != nullptr && SCOTCH_graphInit(graph) == 0, "Scotch has no memory for a graph");
  return ScotchGraph(graph);
}

// Empty if Scotch fails or leaves a rank empty.
std::optional<std::vector<std::uint32_t>> by_scotch(std::span<std::uint64_t const> weights,
                                                    std::span<PartitionEdge const> edges,
                                                    std::uint32_t ranks) {
  auto const n = weights.size();
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> merged;
  for (auto const& e : edges) {
    if (e.a == e.b) continue;
    auto& weight = merged[{std::min(e.a, e.b), std::max(e.a, e.b)}];
    weight = weight > UINT64_MAX - e.weight ? UINT64_MAX : weight + e.weight;
  }
  if (n > kLargestGraph || merged.size() > kLargestGraph) return std::nullopt;
  std::vector<std::uint64_t> edge_weights;
  for (auto const& [pair, weight] : merged) edge_weights.push_back(weight);
  auto const edge_loads = scaled(edge_weights);

  // Both directions of every edge, grouped by vertex: the compact form that Scotch reads.
  std::vector<SCOTCH_Num> first(n + 1, 0);
  for (auto const& [pair, weight] : merged) {
    ++first[pair.first + 1];
    ++first[pair.second + 1];
  }
  for (std::size_t i = 0; i < n; ++i) first[i + 1] += first[i];
  auto next = first;
  std::vector<SCOTCH_Num> ends(2 * merged.size());
  std::vector<SCOTCH_Num> loads(2 * merged.size());
  std::size_t index = 0;
  for (auto const& [pair, weight] : merged) {
    for (auto [from, to] : {std::pair(pair.first, pair.second), std::pair(pair.second, pair.first)}) {
      auto const at = static_cast<std::size_t>(next[from]++);
      ends[at] = static_cast<SCOTCH_Num>(to);
      loads[at] = edge_loads[index];
    }
    ++index;
  }
  auto const vertex_loads = scaled(weights);

  auto* raw_context = SCOTCH_contextAlloc();
  FF_CHECK(raw_context != nullptr && SCOTCH_contextInit(raw_context) == 0,
           "Scotch has no memory for a context");
  Context const context(raw_context);
  SCOTCH_contextRandomSeed(context.get(), kSeed);
  SCOTCH_contextRandomReset(context.get());
  SCOTCH_contextOptionSetNum(context.get(), SCOTCH_OPTIONNUMDETERMINISTIC, 1);
  SCOTCH_contextOptionSetNum(context.get(), SCOTCH_OPTIONNUMRANDOMFIXEDSEED, 1);
  if (SCOTCH_contextThreadSpawn(context.get(), 1, nullptr) != 0) return std::nullopt;

  auto const graph = new_graph();
  if (SCOTCH_graphBuild(graph.get(), 0, static_cast<SCOTCH_Num>(n), first.data(), nullptr,
                        vertex_loads.data(), nullptr, static_cast<SCOTCH_Num>(ends.size()), ends.data(),
                        loads.data()) != 0) {
    return std::nullopt;
  }
  auto const bound = new_graph();
  if (SCOTCH_contextBindGraph(context.get(), graph.get(), bound.get()) != 0) return std::nullopt;
  SCOTCH_Strat strategy;
  if (SCOTCH_stratInit(&strategy) != 0) return std::nullopt;
  std::vector<SCOTCH_Num> parts(n);
  auto const failed = SCOTCH_graphPart(bound.get(), static_cast<SCOTCH_Num>(ranks), &strategy, parts.data());
  SCOTCH_stratExit(&strategy);
  if (failed != 0) return std::nullopt;

  std::vector<std::uint32_t> label(ranks, UINT32_MAX);
  std::vector<std::uint32_t> result;
  std::uint32_t used = 0;
  for (auto part : parts) {
    if (part < 0 || static_cast<std::uint32_t>(part) >= ranks) return std::nullopt;
    auto& rank = label[static_cast<std::size_t>(part)];
    if (rank == UINT32_MAX) rank = used++;
    result.push_back(rank);
  }
  return used == ranks ? std::optional(result) : std::nullopt;
}

}  // namespace

std::vector<std::uint32_t> assign_ranks(std::span<std::uint64_t const> weights,
                                        std::span<PartitionEdge const> edges, std::uint32_t ranks) {
  FF_CHECK(ranks > 0, "partitions cannot be assigned to zero ranks");
  for (auto const& e : edges)
    FF_CHECK(e.a < weights.size() && e.b < weights.size(),
             "an edge leads to a partition that does not exist");
  if (ranks > 1 && weights.size() >= 2 * static_cast<std::size_t>(ranks)) {
    if (auto result = by_scotch(weights, edges, ranks)) return *result;
  }
  return contiguous(weights, ranks);
}

double imbalance(std::span<std::uint64_t const> weights, std::span<std::uint32_t const> rank_of,
                 std::uint32_t ranks) {
  std::vector<double> load(ranks, 0);
  double total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    load[rank_of[i]] += static_cast<double>(weights[i]);
    total += static_cast<double>(weights[i]);
  }
  return total > 0 ? std::ranges::max(load) * ranks / total : 1.0;
}

std::uint64_t cut_weight(std::span<PartitionEdge const> edges, std::span<std::uint32_t const> rank_of) {
  std::uint64_t cut = 0;
  for (auto const& e : edges)
    if (rank_of[e.a] != rank_of[e.b]) cut += e.weight;
  return cut;
}

}  // namespace farfault::topologies
