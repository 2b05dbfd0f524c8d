// SPDX-License-Identifier: Apache-2.0
// Minimum spanning forests by Boruvka's algorithm on the host, kernel by kernel as in LonestarGPU's mst.
//
// - Components are trees of vertices; each vertex names its parent. A root, its component's boss, names
//   itself.
// - Kernels see the writes of earlier kernels only. In a race between threads the first in vertex order wins:
//   for the edge of a component among equally light edges, and for a pair of components that several threads
//   join.
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

// Number of steps from a vertex to its boss.
inline std::uint32_t depth(Trees const& trees, std::uint32_t v) {
  std::uint32_t steps = 0;
  for (; trees[v] != v; v = trees[v]) ++steps;
  return steps;
}

// An attempt to join the components of two bosses.
enum class Join : std::uint8_t {
  none,
  first_joined,   // the thread's own boss has been joined by another thread
  second_joined,  // the other boss has been joined by another thread
  done,
};

// A vertex with an edge to add, and the two bosses.
struct Attempt {
  std::uint32_t vertex, first, second;
  Join result;
};

// One kernel that joins components.
struct JoinPass {
  Trees before;                   // the trees in which bosses are searched
  std::vector<Attempt> attempts;  // in vertex order
};

struct BoruvkaRound {
  Trees trees;  // at the start of the round; each vertex then names its boss
  Trees bosses;
  Bits tries;                           // per edge: lighter than all earlier cross-component edges of its row
  std::vector<std::uint32_t> lightest;  // each vertex's lightest cross-component edge; kNoWeight: none
  std::vector<std::uint32_t> partner;   // boss at the other end of that edge; number of vertices: none
  std::vector<std::uint32_t> lightest_of;  // per boss: lightest edge of its component
  std::vector<std::uint32_t> chosen;       // per boss: vertex of the lightest edge; number of vertices: none
  std::vector<std::uint32_t> looked_at;    // per boss: edges of that vertex up to the chosen one
  std::vector<JoinPass> passes;
};

struct Forest {
  std::vector<std::uint32_t> weights;  // per edge
  std::vector<BoruvkaRound> rounds;    // the last joins no components
  std::uint64_t weight = 0;
  std::uint64_t edges = 0;
};

// Spanning forest of an undirected graph; weights are 1 to max_weight, from the seed. Throws UserError if
// the record of the rounds takes more than `max_bytes`.
Forest boruvka(CsrGraph const& graph, std::uint32_t max_weight, std::uint64_t seed,
               std::uint64_t max_bytes = 1ULL << 30);

}  // namespace farfault::workloads
