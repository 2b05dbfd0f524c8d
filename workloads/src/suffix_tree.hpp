// SPDX-License-Identifier: Apache-2.0
// The suffix tree of a sequence of bases, as MUMmerGPU keeps it in memory, and how queries walk it.
//
// The sequence has a character before it and an end mark behind it, so that its bases have the positions 1 to
// n. Built in linear time (Ukkonen, Algorithmica'95); nodes are numbered breadth-first from the root, which
// is 1, in the order of bases; 0 is no node.
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
    std::uint32_t start = 0;  // of the edge to it
    std::uint32_t end = 0;    // inclusive
    std::uint32_t suffix = 0;
    std::array<std::uint32_t, kBases + 1> children{};
  };
  std::vector<Node> nodes;  // with node 0
};

// `bases`: from 0 to 3 each.
SuffixTree build_suffix_tree(std::vector<std::uint8_t> const& bases);

std::vector<std::uint8_t> random_bases(std::uint64_t count, std::uint64_t seed);

// Queries of `length` bases each, one after the other. A share of them are random, the others parts of the
// sequence.
std::vector<std::uint8_t> make_queries(std::vector<std::uint8_t> const& sequence, std::uint64_t count,
                                       std::uint32_t length, double foreign, std::uint64_t seed);

// What threads access, in the order of a warp whose threads wait for each other at the end of each loop.
enum class Fetch : std::uint8_t { base, children, node, reference, result, suffix };

struct TreeStep {
  std::uint64_t lanes = 0;
  std::uint64_t first = 0;  // in `values`, in the order of lanes
  Fetch fetch = Fetch::base;
};

struct TreeWalk {
  std::vector<std::uint64_t> first_step;  // of each warp, and the end of the last
  std::vector<TreeStep> steps;
  // base: position in the query, whose first base has 1 and whose end length + 1; children, node, suffix: a
  // node; reference: a position; result: the start in the query.
  std::vector<std::uint32_t> values;
};

// One thread for each query finds the longest match from each start on that leaves `shortest` bases; a match
// of that length at least is a result.
TreeWalk walk_tree(SuffixTree const& tree, std::vector<std::uint8_t> const& sequence,
                   std::vector<std::uint8_t> const& queries, std::uint32_t length, std::uint32_t shortest,
                   std::uint32_t warp_width);

}  // namespace farfault::workloads
