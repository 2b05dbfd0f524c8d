// A cache in front of each DRAM channel, behind the L2 cache: AMD's Infinity Cache.
//
// It sees what the L2 misses and writes back, of all partitions, other devices and page walks alike, and is
// coherent without more: it holds the lines of its channel alone. Its slices are L2Slices.
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
  void describe(ParamTable& t);
  bool present() const { return size.bytes != 0; }
  // Of one of `channels` slices.
  L2CacheParams slice_params(std::uint32_t channels) const;
};

}  // namespace farfault
