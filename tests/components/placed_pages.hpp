// SPDX-License-Identifier: Apache-2.0
// Pages placed at time zero, for the driver: a number of pages per GPU, and on the CPU.
#pragma once

#include <deque>
#include <vector>

#include "farfault/paging/initial_memory.hpp"

namespace farfault::mock {

// Lives as long as the test program.
inline std::vector<PlacedPage> const* in_use(std::vector<std::uint64_t> const& gpus, std::uint64_t cpu) {
  static std::deque<std::vector<PlacedPage>> all;
  auto& pages = all.emplace_back();
  auto const add = [&](std::uint64_t n, DeviceId device) {
    for (std::uint64_t i = 0; i < n; ++i) pages.push_back({std::uint64_t{1} << 40 | pages.size(), device});
  };
  for (std::size_t g = 0; g < gpus.size(); ++g) add(gpus[g], static_cast<DeviceId>(g));
  add(cpu, kFirstCpu);
  return &pages;
}

}  // namespace farfault::mock
