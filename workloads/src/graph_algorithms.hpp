// SPDX-License-Identifier: Apache-2.0
// Host versions of the graph algorithms of GraphBIG's GPU workloads, round by round as in the kernels. They
// record the data that a kernel's accesses depend on, in a few bytes per vertex or edge.
//
// Rounds are synchronous: a kernel sees the writes of earlier kernels only. If several threads write the same
// element, the first in edge order does, which is one possible outcome of the race on hardware, and
// deterministic.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "farfault/workloads/graph.hpp"

namespace farfault::workloads {

inline constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

class Bits {
 public:
  Bits() = default;
  explicit Bits(std::uint64_t count) : words_((count + 63) / 64) {}
  void set(std::uint64_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  bool operator[](std::uint64_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }

 private:
  std::vector<std::uint64_t> words_;
};

// Returns `source`, or the next vertex after it (cyclically) that has an edge. Throws ParameterError if
// `source` is not a vertex.
std::uint64_t start_vertex(CsrGraph const& graph, std::uint64_t source);

struct BreadthFirst {
  std::vector<std::uint32_t> level;  // per vertex; kNever: not reached
  std::uint32_t depth = 0;           // highest level
  Bits finds;                        // per edge: it finds its target
};
BreadthFirst breadth_first(CsrGraph const& graph, std::uint64_t source);

// A breadth-first search with frontiers as lists. Warps of 32 threads process `chunk` entries each and push
// the vertices that they found at their end, in thread order.
struct Frontiers {
  std::vector<std::uint32_t> vertices;      // list by list, each reached vertex once
  std::vector<std::uint64_t> first;         // start of each list, and the end of the last
  std::vector<std::uint32_t> pushed;        // per thread of each list: number of vertices pushed before it
  std::vector<std::uint64_t> first_thread;  // first thread of each list
};
Frontiers frontiers(CsrGraph const& graph, BreadthFirst const& search, std::uint64_t source,
                    std::uint32_t chunk);

// The weight of an edge: 1 to `most`, from the seed; the same in both directions.
std::uint32_t edge_weight(std::uint64_t from, std::uint64_t to, std::uint32_t most, std::uint64_t seed);

// Bellman-Ford: each round relaxes the edges of the vertices that the previous round improved.
struct ShortestPaths {
  std::vector<std::uint64_t> distance;  // per vertex; all ones: not reached
  std::uint32_t rounds = 0;             // the last improves no vertex
  // Per vertex: the rounds in which it is read, because the previous round improved it; round 0 for the
  // source.
  std::vector<std::uint32_t> reads;
  std::vector<std::uint64_t> first_read;

  bool is_read(std::uint64_t v, std::uint32_t round) const {
    for (auto i = first_read[v]; i < first_read[v + 1]; ++i)
      if (reads[i] >= round) return reads[i] == round;
    return false;
  }
};
ShortestPaths shortest_paths(CsrGraph const& graph, std::uint64_t source, std::uint32_t max_weight,
                             std::uint64_t seed);

struct Core {
  std::vector<std::uint32_t> removed;  // round that removes a vertex; kNever: in the core
  std::uint32_t rounds = 0;            // the last removes no vertex
};
Core core(CsrGraph const& graph, std::uint32_t k);

// Greedy colouring by random numbers drawn from the seed. A vertex takes the round as its colour if none of
// its uncoloured neighbours has a larger number. Otherwise the first edge to one with a larger number is the
// last edge that the round examines.
struct Colouring {
  std::vector<std::uint32_t> colour;
  std::uint32_t colours = 0;
  // Per vertex: the edges that can be the last one examined, by ascending colour of their targets.
  struct Stop {
    std::uint32_t edge;
    std::uint32_t colour;
  };
  std::vector<Stop> stops;
  std::vector<std::uint64_t> first_stop;

  // The number of edges of v that the round examines.
  std::uint64_t looked_at(CsrGraph const& graph, std::uint64_t v, std::uint32_t round) const;
};
Colouring colouring(CsrGraph const& graph, std::uint64_t seed);

struct Ranks {
  std::vector<double> rank;
  std::uint32_t rounds = 0;
};
// Iterates up to `max_rounds`, or until the Euclidean distance of two rounds' ranks is below `error`.
Ranks page_ranks(CsrGraph const& graph, double damping, double error, std::uint32_t max_rounds);

}  // namespace farfault::workloads
