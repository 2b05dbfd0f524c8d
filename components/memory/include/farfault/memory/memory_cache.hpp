// SPDX-License-Identifier: Apache-2.0
// Cache in front of each DRAM channel, behind the L2 cache: AMD's Infinity Cache. Its slices are L2Slices.
//
// It receives the misses and write-backs of the L2 cache, of all partitions, other devices and page walks. It
// holds only the lines of its channel, so it needs no coherence.
#pragma once

#include "farfault/memory/l2_slice.hpp"

namespace farfault {

struct MemoryCacheParams {
  ByteSize size{0};
  std::uint32_t ways = 16;
  std::uint32_t latency = 100;
  std::uint32_t cycles_per_line = 1;
  std::uint32_t mshrs = 64;
  std::uint32_t queue = 128;
  PolicyChoice<Replacement> replacement{"lru"};
  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{0}, ByteSize{std::uint64_t{1} << 34}},
            "Capacity of the caches in front of all DRAM channels. 0: no caches",
            "assumed: none; AMD CDNA 3 white paper, MI300X: 256 MB, 2 MB for each of 128 channels");
    auto const if_present = t.only_when(sibling("size").is_above(0));
    t.count("ways", ways, {1, 1024}, "Ways of each cache", "AMD CDNA 3 white paper: 16");
    replacement.describe(t, "replacement", "Replacement policy", "assumed");
    t.count("latency", latency, {1, 10000}, "Cycles from look-up to response", "assumed");
    t.count("cycles_per_line", cycles_per_line, {1, 1024},
            "Cycles per line in each cache (inverse throughput)",
            "assumed; AMD CDNA 3 white paper: 64 bytes per cycle, two cycles for a line of 128");
    t.count("mshrs", mshrs, {1, 4096}, "Maximum lines with an outstanding miss, per channel", "assumed");
    t.count("queue", queue, {1, 65536}, "Maximum outstanding requests from the L2 cache to each cache",
            "assumed");
  }
  bool present() const { return size.bytes != 0; }
  // Parameters of one of `channels` slices.
  L2CacheParams slice_params(std::uint32_t channels) const;
};

}  // namespace farfault
