// SPDX-License-Identifier: Apache-2.0
// The graph algorithms of GraphBIG's GPU workloads on the host, round by round as the kernels go: what a
// kernel's accesses depend on, in a few bytes for each vertex or edge. Rounds are synchronous: a kernel sees
// what the kernels before it wrote, and of several threads that write the same, the first in the order of
// edges does it, which is one of the outcomes of the race on hardware, and the same every time.
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

// `source`, or the first vertex from there on that has an edge. Throws UserError if there is no such vertex.
std::uint64_t start_vertex(std::string_view workload, CsrGraph const& graph, std::uint64_t source);

struct BreadthFirst {
  std::vector<std::uint32_t> level;  // of each vertex, kNever of those that are not reached
  std::uint32_t depth = 0;           // the highest
  Bits finds;                        // of edges: the one that finds its target
};
BreadthFirst breadth_first(CsrGraph const& graph, std::uint64_t source);

// A breadth-first search whose frontiers are lists, filled by warps of 32 threads that take `chunk` entries
// each and push what they found at their end, in the order of threads.
struct Frontiers {
  std::vector<std::uint32_t> vertices;      // list by list, each reached vertex once
  std::vector<std::uint64_t> first;         // of each list, and the end of the last
  std::vector<std::uint32_t> pushed;        // for each thread of each list: how many are pushed before it
  std::vector<std::uint64_t> first_thread;  // of each list
};
Frontiers frontiers(CsrGraph const& graph, BreadthFirst const& search, std::uint64_t source,
                    std::uint32_t chunk);

// The weight of an edge: 1 to most, from the seed; the same both ways.
std::uint32_t edge_weight(std::uint64_t from, std::uint64_t to, std::uint32_t most, std::uint64_t seed);

// Bellman-Ford: in each round the edges of the vertices that the round before improved.
struct ShortestPaths {
  std::vector<std::uint64_t> distance;  // of each vertex; all ones of those that are not reached
  std::uint32_t rounds = 0;             // the last improves none
  // Of each vertex the rounds in which it is read, because the one before improved it; the source in round 0.
  std::vector<std::uint32_t> reads;
  std::vector<std::uint64_t> first_read;

  bool is_read(std::uint64_t v, std::uint32_t round) const {
    for (auto i = first_read[v]; i < first_read[v + 1]; ++i)
      if (reads[i] >= round) return reads[i] == round;
    return false;
  }
};
ShortestPaths shortest_paths(CsrGraph const& graph, std::uint64_t source, std::uint32_t most_weight,
                             std::uint64_t seed);

struct Core {
  std::vector<std::uint32_t> removed;  // the round that removes a vertex, kNever of those in the core
  std::uint32_t rounds = 0;            // the last removes none
};
Core core(CsrGraph const& graph, std::uint32_t k);

// Vertices take a colour when no neighbour without one has a larger number of its own, drawn from the seed;
// a colour is a round. Of a vertex in a round that it is not coloured in, the last edge that is looked at is
// the first with such a neighbour.
struct Colouring {
  std::vector<std::uint32_t> colour;
  std::uint32_t colours = 0;
  // Of each vertex the edges that can be the last one looked at, by rising colour of their targets.
  struct Stop {
    std::uint32_t edge;
    std::uint32_t colour;
  };
  std::vector<Stop> stops;
  std::vector<std::uint64_t> first_stop;

  // How many edges of v the round looks at.
  std::uint64_t looked_at(CsrGraph const& graph, std::uint64_t v, std::uint32_t round) const;
};
Colouring colouring(CsrGraph const& graph, std::uint64_t seed);

struct Ranks {
  std::vector<double> rank;
  std::uint32_t rounds = 0;
};
// Up to `most_rounds`, or until the Euclidean distance of two rounds' ranks is below `error`.
Ranks page_ranks(CsrGraph const& graph, double damping, double error, std::uint32_t most_rounds);

}  // namespace farfault::workloads
