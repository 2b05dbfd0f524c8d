// SPDX-License-Identifier: Apache-2.0
// Cost of a workload: its memory, and the instructions and accesses of its warps.
//
// - Method: walks the instructions of warps, without a machine. Beyond the sample, the counts are
// extrapolated
//   from evenly spaced kernels and warps.
// - Guarantees: a pure function of the workload and the arguments; exact if the sample has all warps.
#pragma once

#include <cstdint>

#include "farfault/protocols/workload.hpp"

namespace farfault::workloads {

struct WorkloadCost {
  std::uint64_t footprint = 0;  // bytes of all buffers
  std::uint64_t kernels = 0;
  std::uint64_t warps = 0;         // of all kernels
  std::uint64_t instructions = 0;  // of all warps
  std::uint64_t accesses = 0;      // to cache lines, after coalescing; without scalar loads
};

// Limits of the walk.
struct CostSample {
  std::uint64_t kernels = 64;
  std::uint64_t warps = 64;         // of each kernel
  std::uint64_t steps = 4'000'000;  // after these, no further kernel is walked
};
inline constexpr CostSample kEveryWarp{~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}};

WorkloadCost cost_of(Workload const& workload, std::uint32_t warp_width, std::uint32_t line_bytes,
                     CostSample const& sample = {});

}  // namespace farfault::workloads
