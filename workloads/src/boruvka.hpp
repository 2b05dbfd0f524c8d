// SPDX-License-Identifier: Apache-2.0
// Minimum spanning forests by Boruvka's algorithm on the host, kernel by kernel as LonestarGPU's mst goes.
//
// Components are trees of vertices, each of which names its parent; a root, its component's boss, names
// itself. Kernels see what the kernels before them wrote. Where threads race, the first in the order of
// vertices wins: for the edge of a component among equally light ones, and for a pair of components that
// several join.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "farfault/workloads/graph.hpp"
#include "graph_algorithms.hpp"

namespace farfault::workloads {

inline constexpr std::uint32_t kNoWeight = std::numeric_limits<std::uint32_t>::max();

// The parent of each vertex.
using Trees = std::vector<std::uint32_t>;

// Steps from a vertex to its boss.
inline std::uint32_t depth(Trees const& trees, std::uint32_t v) {
  std::uint32_t steps = 0;
  for (; trees[v] != v; v = trees[v]) ++steps;
  return steps;
}

// An attempt to join the components of two bosses.
enum class Join : std::uint8_t {
  none,
  first_joined,   // the thread's own boss is none any more
  second_joined,  // the other is none any more
  done,
};

// Of a vertex that has an edge to add, with the two bosses.
struct Attempt {
  std::uint32_t vertex, first, second;
  Join result;
};

// One kernel that joins components.
struct JoinPass {
  Trees before;                   // where bosses are looked for
  std::vector<Attempt> attempts;  // in the order of vertices
};

struct BoruvkaRound {
  Trees trees;  // as the round finds them; each vertex then names its boss
  Trees bosses;
  Bits tries;                           // of edges: lighter than those across components before it in its row
  std::vector<std::uint32_t> lightest;  // of each vertex's edges across components; kNoWeight: none
  std::vector<std::uint32_t> partner;   // the boss behind that edge, or as many as there are vertices
  std::vector<std::uint32_t> lightest_of;  // of each boss's component
  std::vector<std::uint32_t>
      chosen;  // of each boss: the vertex with its edge, or as many as there are vertices
  std::vector<std::uint32_t> looked_at;  // of each boss: edges of that vertex up to the chosen one
  std::vector<JoinPass> passes;
};

struct Forest {
  std::vector<std::uint32_t> weights;  // of each edge
  std::vector<BoruvkaRound> rounds;    // the last joins nothing
  std::uint64_t weight = 0;
  std::uint64_t edges = 0;
};

// Of an undirected graph; weights are 1 to most_weight, from the seed. Throws UserError if the record of the
// rounds takes more than `most_bytes`.
Forest boruvka(CsrGraph const& graph, std::uint32_t most_weight, std::uint64_t seed,
               std::uint64_t most_bytes = 1ULL << 30);

}  // namespace farfault::workloads
