// SPDX-License-Identifier: Apache-2.0
// The suffix tree of a sequence of bases, as MUMmerGPU stores it, and the walks of queries through it.
//
// - The sequence has a character before it and an end mark after it, so its bases have the positions 1 to n.
// - Construction takes linear time (Ukkonen, Algorithmica'95). Nodes are numbered breadth-first from the
//   root, which is 1, in the order of bases; 0 means no node.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace farfault::workloads {

inline constexpr std::uint8_t kBases = 4;
inline constexpr std::uint8_t kEndMark = 4;

struct SuffixTree {
  static constexpr std::uint32_t kRoot = 1;
  struct Node {
    std::uint32_t start = 0;  // start of the edge to the node
    std::uint32_t end = 0;    // inclusive
    std::uint32_t suffix = 0;
    std::array<std::uint32_t, kBases + 1> children{};
  };
  std::vector<Node> nodes;  // including node 0
};

// `bases`: values from 0 to 3.
SuffixTree build_suffix_tree(std::vector<std::uint8_t> const& bases);

std::vector<std::uint8_t> random_bases(std::uint64_t count, std::uint64_t seed);

// Queries of `length` bases each, one after the other. The share `foreign` of them is random, the others are
// parts of the sequence.
std::vector<std::uint8_t> make_queries(std::vector<std::uint8_t> const& sequence, std::uint64_t count,
                                       std::uint32_t length, double foreign, std::uint64_t seed);

// The accesses of threads, in the order of a warp that reconverges at the end of each loop.
enum class Fetch : std::uint8_t { base, children, node, reference, result, suffix };

struct TreeStep {
  std::uint64_t lanes = 0;
  std::uint64_t first = 0;  // index in `values`, in lane order
  Fetch fetch = Fetch::base;
};

struct TreeWalk {
  std::vector<std::uint64_t> first_step;  // per warp, and the end of the last
  std::vector<TreeStep> steps;
  // base: position in the query (first base: 1, end: length + 1); children, node, suffix: a node; reference:
  // a position; result: the start in the query.
  std::vector<std::uint32_t> values;
};

// One thread per query finds the longest match from each start that leaves at least `shortest` bases. A match
// of at least that length is a result.
TreeWalk walk_tree(SuffixTree const& tree, std::vector<std::uint8_t> const& sequence,
                   std::vector<std::uint8_t> const& queries, std::uint32_t length, std::uint32_t shortest,
                   std::uint32_t warp_width);

}  // namespace farfault::workloads
