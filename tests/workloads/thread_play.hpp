// SPDX-License-Identifier: Apache-2.0
// Kernels with independent threads, replayed on values in memory.
#pragma once

#include "lane_accesses.hpp"

namespace farfault::workloads::test::lanes {

// Each store of a kernel, in order, writes compute(block, access, loaded): `loaded` are the values that its
// thread has loaded so far, which the function may change.
template <class Compute>
void play(Workload const& w, std::size_t kernel, std::uint32_t width, Memory& memory, Compute compute) {
  each_block(w, kernel, width, [&](std::uint64_t block, std::vector<Access> const& accesses) {
    std::map<std::uint32_t, Values> loaded;
    for (auto const& a : accesses)
      if (a.op == Op::load)
        loaded[a.thread].push_back(memory.at(a));
      else
        memory.at(a) = compute(block, a, loaded[a.thread]);
  });
}

// Small whole numbers in a buffer, different in each buffer.
inline Values const& fill(Memory& memory, std::string const& buffer, std::uint64_t seed) {
  Random random(seed);
  for (auto& v : memory[buffer]) v = static_cast<double>(random.below(17)) - 8;
  return memory[buffer];
}

}  // namespace farfault::workloads::test::lanes
