// SPDX-License-Identifier: Apache-2.0
// Counts of values by size, in bins whose width grows with the value.
//
// - kBinsPerOctave bins of equal width between each power of two, from 2^First to 2^Last: a bin is at most an
//   eighth as wide as its smallest value.
// - Below 2^First: kBinsPerOctave bins of equal width; one integer each if First is 3.
// - From 2^Last on: one bin.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "farfault/engine/time.hpp"

namespace farfault {

inline constexpr std::uint32_t kBinsPerOctave = 8;
inline constexpr std::uint32_t kBinsPerOctaveLog2 = 3;

// The smallest value of each of `bins` bins; bins of 2^first and more are in octaves.
inline std::vector<std::uint64_t> bin_edges(std::uint32_t bins, std::uint32_t first) {
  std::vector<std::uint64_t> edges(bins);
  for (std::uint32_t b = 0; b < bins; ++b) {
    auto const octave = b / kBinsPerOctave;  // 0: below 2^first
    auto const step = b % kBinsPerOctave;
    edges[b] = octave == 0
                   ? std::uint64_t{step} << (first - kBinsPerOctaveLog2)
                   : std::uint64_t{kBinsPerOctave + step} << (first - kBinsPerOctaveLog2 + octave - 1);
  }
  return edges;
}

template <std::uint32_t First, std::uint32_t Last>
struct Histogram {
  static_assert(First >= kBinsPerOctaveLog2 && First < Last && Last < 64);
  static constexpr std::uint32_t kFirst = First;
  static constexpr std::uint32_t kBins = (1 + Last - First) * kBinsPerOctave + 1;

  std::array<std::uint64_t, kBins> bins{};

  static constexpr std::uint32_t bin_of(std::uint64_t value) {
    if (value >> Last != 0) return kBins - 1;
    auto const width = static_cast<std::uint32_t>(std::bit_width(value >> First));
    auto const shift = First - kBinsPerOctaveLog2 + (width == 0 ? 0 : width - 1);
    return width * kBinsPerOctave + (static_cast<std::uint32_t>(value >> shift) & (kBinsPerOctave - 1));
  }
  void add(std::uint64_t value, std::uint64_t times = 1) { bins[bin_of(value)] += times; }
};

// Whole nanoseconds of a duration.
inline std::uint64_t nanoseconds_of(Duration d) {
  return static_cast<std::uint64_t>(picoseconds(d) / 1000);
}

using LatencyHistogram = Histogram<3, 22>;  // in nanoseconds: the last bin begins at 4.2 ms
using DepthHistogram = Histogram<3, 10>;    // of queues: the last bin begins at 1,024

}  // namespace farfault
