// SPDX-License-Identifier: Apache-2.0
#include "farfault/memory/memory_cache.hpp"

namespace farfault {

L2CacheParams MemoryCacheParams::slice_params(std::uint32_t channels) const {
  L2CacheParams p;
  p.slices = channels;
  p.size = size;
  p.ways = ways;
  p.latency = latency;
  p.mshrs = mshrs;
  p.waiters = queue;
  p.replacement = replacement;
  return p;
}

}  // namespace farfault
