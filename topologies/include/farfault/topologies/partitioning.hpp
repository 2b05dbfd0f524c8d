// SPDX-License-Identifier: Apache-2.0
// Assignment of partitions to ranks.
//
// - The result is a function of the arguments alone (fixed seed, one thread).
// - With at least as many partitions as ranks, every rank has work; ranks are numbered in the order of their
//   first partition.
// - With at least two partitions per rank, Scotch balances the weights and keeps heavily weighted edges
//   inside a rank. With fewer, ranks get contiguous ranges of partitions of nearly equal weight.
// - Errors: an edge to a partition that does not exist, or zero ranks, is a programming error (panic).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace farfault::topologies {

struct PartitionEdge {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint64_t weight = 1;  // cost of cutting it: messages, or 1 / latency
};

// `weights`: the load of each partition. Weights and edges may be any size; they are scaled.
std::vector<std::uint32_t> assign_ranks(std::span<std::uint64_t const> weights,
                                        std::span<PartitionEdge const> edges, std::uint32_t ranks);

// The heaviest rank's load over the mean load: 1 is perfect balance. 1 if all weights are zero.
double imbalance(std::span<std::uint64_t const> weights, std::span<std::uint32_t const> rank_of,
                 std::uint32_t ranks);

// The sum of the weights of edges between ranks.
std::uint64_t cut_weight(std::span<PartitionEdge const> edges, std::span<std::uint32_t const> rank_of);

}  // namespace farfault::topologies
