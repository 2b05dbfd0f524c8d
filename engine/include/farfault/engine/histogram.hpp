// SPDX-License-Identifier: Apache-2.0
// Counts of values by size: bin 0 counts zeros, bin b values in [2^(b-1), 2^b), the last bin also all larger
// ones.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "farfault/engine/time.hpp"

namespace farfault {

template <std::uint32_t Bins>
struct Histogram {
  std::array<std::uint64_t, Bins> bins{};

  void add(std::uint64_t value, std::uint64_t times = 1) {
    bins[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(value)), Bins - 1)] += times;
  }
};

// Whole nanoseconds of a duration.
inline std::uint64_t nanoseconds_of(Duration d) {
  return static_cast<std::uint64_t>(picoseconds(d) / 1000);
}

using LatencyHistogram = Histogram<24>;  // in nanoseconds: the last bin begins at 4.2 ms
using DepthHistogram = Histogram<12>;    // of queues: the last bin begins at 1,024

}  // namespace farfault
