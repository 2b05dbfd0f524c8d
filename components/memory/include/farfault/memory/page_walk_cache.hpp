// SPDX-License-Identifier: Apache-2.0
// Page-walk cache: caches lines of page tables between a GPU's page walkers and its L2 cache, shared by all
// SMs. Source: Power et al., "Supporting x86-64 Address Translation for 100s of GPU Lanes", HPCA 2014.
//
// Every entry that a walk reads, of any level, is looked up by physical address and fetched from the L2 cache
// on a miss. The cache is one L2Slice, one cycle from the GMMU. Entries that the GMMU writes pass through it,
// so it is never stale. The walk cache, with which walks start below the root without a read, is
// translation/walk_cache.hpp.
#pragma once

#include "farfault/memory/l2_slice.hpp"

namespace farfault {

struct PageWalkCacheParams {
  ByteSize size{0};
  std::uint32_t ways = 16;
  std::uint32_t latency = 10;
  std::uint32_t mshrs = 64;
  PolicyChoice<Replacement> replacement{"lru"};
  void describe(ParamTable& t) {
    t.bytes("size", size, {ByteSize{0}, ByteSize{1 << 24}},
            "Capacity of the page-walk cache, between a GPU's page walkers and its L2 cache. 0: no cache",
            "assumed: none; MASK (ASPLOS 2018), Table 1, baseline PWCache: 8 KiB");
    auto const if_present = t.only_when(sibling("size").is_above(0));
    t.count("ways", ways, {1, 1024}, "Ways of the page-walk cache", "MASK (ASPLOS 2018), Table 1: 16");
    t.count("latency", latency, {1, 10000}, "Cycles from look-up to response",
            "MASK (ASPLOS 2018), Table 1: 10");
    t.count("mshrs", mshrs, {1, 4096}, "Maximum lines with an outstanding miss",
            "assumed: one for each of 64 walkers");
    replacement.describe(t, "replacement", "Replacement policy", "assumed");
  }
  bool present() const { return size.bytes != 0; }
  L2CacheParams slice_params(std::uint32_t requests) const {
    L2CacheParams p;
    p.slices = 1;
    p.size = size;
    p.ways = ways;
    p.latency = latency;
    p.mshrs = mshrs;
    p.waiters = requests;
    p.replacement = replacement;
    return p;
  }
};

}  // namespace farfault
