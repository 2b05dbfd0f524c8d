// SPDX-License-Identifier: Apache-2.0
// The image that `histogram` counts, and what its kernels do that depends on it.
//
// Most pixels' bins lie around the middle of the histogram, by the sum of four uniform numbers, which is
// about normal; a share of them is scattered over all bins. Integers from the seed, the same on every
// machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "farfault/workloads/kernel_support.hpp"
#include "random.hpp"

namespace farfault::workloads {

// Of Parboil's histo (src/cuda/util.h).
inline constexpr std::uint32_t kRangeBins = 24 * 1024;  // bins that a block has in shared memory, a byte each
inline constexpr std::uint32_t kImageParts = 14;        // blocks that share the image, for each range
inline constexpr std::uint32_t kPartThreads = 768;
inline constexpr std::uint32_t kScanBlocks = 64;
inline constexpr std::uint32_t kScanThreads = 512;

struct HistogramInput {
  std::uint64_t rows = 0, cols = 0, bins = 0, spread = 0;
  std::uint64_t scattered = 0;  // of 2^32 pixels
  std::uint64_t seed = 1;

  std::uint64_t pixels() const { return rows * cols; }

  std::uint32_t bin_of(std::uint64_t pixel) const {
    auto random = Random::at(seed, 5 * pixel);
    if (random.below(std::uint64_t{1} << 32) < scattered)
      return static_cast<std::uint32_t>(random.below(bins));
    // A uniform number below w has the standard deviation w / sqrt(12), four of them w / sqrt(3).
    auto const w = spread * 1732 / 1000 + 1;
    std::uint64_t sum = bins / 2;
    for (int i = 0; i < 4; ++i) sum += random.below(w);
    return static_cast<std::uint32_t>(std::clamp(sum, 2 * w, bins - 1 + 2 * w) - 2 * w);
  }
  // The place in the image of the n-th pixel as it is remapped: a row's even columns before its odd ones.
  std::uint64_t remapped(std::uint64_t n) const {
    auto const place = n % cols;
    return n - place + 2 * (place % (cols / 2)) + place / (cols / 2);
  }
};

// The first and last range of kRangeBins bins in which the prescan expects pixels: from an eighth of each
// 64th of the image, of which each thread takes the mean and the deviation, ten of their means' deviations
// around the mean, over all blocks. A thread without a pixel makes both no numbers, whose conversion gives 0.
struct HistogramRanges {
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
};

inline HistogramRanges prescan(HistogramInput const& input) {
  auto const stride = input.pixels() / kScanBlocks;
  if (stride / 8 < kScanThreads) return {0, 0};
  HistogramRanges ranges;
  for (std::uint64_t block = 0; block < kScanBlocks; ++block) {
    double mean = 0, deviation = 0;
    for (std::uint64_t thread = 0; thread < kScanThreads; ++thread) {
      std::uint64_t count = 0, sum = 0, squares = 0;
      for (auto i = thread; i < stride / 8; i += kScanThreads) {
        std::uint64_t const bin = input.bin_of(block * stride + i);
        ++count;
        sum += bin;
        squares += bin * bin;
      }
      auto const n = static_cast<double>(count);
      mean += static_cast<double>(sum) / n;
      deviation += std::sqrt(static_cast<double>(count * squares - sum * sum)) / n;
    }
    mean /= kScanThreads;
    deviation /= kScanThreads;
    ranges.first =
        std::min(ranges.first, static_cast<std::uint64_t>(std::max(0.0, mean - 10 * deviation)) / kRangeBins);
    ranges.last = std::max(ranges.last, static_cast<std::uint64_t>(mean + 10 * deviation) / kRangeBins);
  }
  return ranges;
}

// What the main kernel does with each pixel, in the order in which they are remapped.
struct HistogramPixels {
  static constexpr std::uint8_t kOverflows = 0xf;  // bit i: an atomic on the overflow of the bin i further on
  static constexpr std::uint8_t kOutside = 0x10;   // of all ranges: counted in global memory,
  static constexpr std::uint8_t kAdds = 0x20;      // unless the bin has 255 already

  HistogramRanges ranges;
  std::vector<std::uint32_t> bin;
  std::vector<std::uint8_t> does;
  std::uint8_t any = 0;  // what some pixel does
};

// Four counters of 8 bits share a word of shared memory, so that one that wraps carries into the next;
// atomics on 32-bit counters in global memory put that right. Of pixels counted at a time, the first in order
// is first. `p` has ranges and bins.
inline void count_pixels(HistogramPixels& p, std::uint64_t bins) {
  p.does.resize(p.bin.size());
  auto const first_bin = p.ranges.first * kRangeBins;
  auto const end_bin = (p.ranges.last + 1) * kRangeBins;
  auto const words = (std::min(end_bin, bins) - first_bin) / 4;
  std::vector<std::uint32_t> counters(kImageParts * words);
  std::vector<std::uint8_t> outside(bins);
  for (std::uint64_t n = 0; n < p.bin.size(); ++n) {
    auto const bin = p.bin[n];
    auto& does = p.does[n];
    if (bin < first_bin || bin >= end_bin) {
      does = HistogramPixels::kOutside;
      if (outside[bin] < 255) {
        ++outside[bin];
        does |= HistogramPixels::kAdds;
      }
    } else {
      auto const part = n / kPartThreads % kImageParts;
      auto& word = counters[part * words + (bin - first_bin) / 4];
      auto const byte = bin % 4;
      auto const full = [&](std::uint32_t i) { return (word >> 8 * (byte + i) & 0xff) == 0xff; };
      // As published: whether the third one after takes part depends on the second alone.
      if (full(0))
        does = static_cast<std::uint8_t>(1 | (byte < 3 ? 2 : 0) | (byte < 2 && full(1) ? 4 : 0) |
                                         (byte < 1 && full(2) ? 8 : 0));
      word += std::uint32_t{1} << 8 * byte;
    }
    p.any |= does;
  }
}

inline HistogramPixels histogram_pixels(HistogramInput const& input) {
  HistogramPixels p;
  p.ranges = prescan(input);
  p.bin.resize(input.pixels());
  for (std::uint64_t n = 0; n < input.pixels(); ++n) p.bin[n] = input.bin_of(input.remapped(n));
  count_pixels(p, input.bins);
  return p;
}

}  // namespace farfault::workloads
