// SPDX-License-Identifier: Apache-2.0
// Accesses of a kernel to a buffer, and barriers of its warps.
#pragma once

#include <map>
#include <vector>

#include "warp_walk.hpp"

namespace farfault::workloads::test::meshes {

inline bool holds(Buffer const& b, VirtAddr a) {
  return a >= b.base && a < b.base + b.bytes;
}

// Accesses of lanes to a buffer in one kernel.
inline std::uint64_t accesses(Workload const& w, std::size_t kernel, std::string_view name, Op op,
                              std::uint32_t width) {
  auto const& b = buffer(w, name);
  std::uint64_t count = 0;
  walk(w.kernel(kernel), width, [&](auto, auto, auto, WarpInstruction const& in) {
    if (in.op == op) each_lane(in, [&](auto, VirtAddr a) { count += holds(b, a); });
  });
  return count;
}

// Barriers per warp of a kernel, equal for all warps.
inline std::uint64_t barriers(Kernel const& kernel, std::uint32_t width) {
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> met;
  walk(kernel, width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
    met[{block, warp}] += in.op == Op::barrier;
  });
  CHECK(met.size() == kernel.shape().blocks * warps_of(kernel, width));
  for (auto const& [warp, count] : met) CHECK(count == met.begin()->second);
  return met.begin()->second;
}

// Replaces the arithmetic of kernels by whole numbers.
using Value = std::uint64_t;
inline Value mix(std::vector<Value> const& values) {
  Value h = 1;
  for (auto const v : values) h = (h ^ v) * 0x9e3779b97f4a7c15ULL + (h >> 29);
  return h;
}

// The initial value of an array's element.
inline Value value_of(std::string const& name, std::uint64_t i) {
  return mix({name.size(), Value(name.front()), i});
}

}  // namespace farfault::workloads::test::meshes
