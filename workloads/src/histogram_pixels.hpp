// SPDX-License-Identifier: Apache-2.0
// The image of `histogram`, and the data-dependent behaviour of its kernels.
//
// The bins of most pixels are distributed around the middle of the histogram as the sum of four uniform
// numbers, which is approximately normal; a share of the pixels is spread uniformly over all bins. All
// numbers are integers from the seed, the same on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "farfault/workloads/kernel_support.hpp"
#include "random.hpp"

namespace farfault::workloads {

// Constants of Parboil's histo (src/cuda/util.h).
inline constexpr std::uint32_t kRangeBins = 24 * 1024;  // bins of a block in shared memory, a byte each
inline constexpr std::uint32_t kImageParts = 14;        // blocks that share the image, per range
inline constexpr std::uint32_t kPartThreads = 768;
inline constexpr std::uint32_t kScanBlocks = 64;
inline constexpr std::uint32_t kScanThreads = 512;

struct HistogramInput {
  std::uint64_t rows = 0, cols = 0, bins = 0, spread = 0;
  std::uint64_t scattered = 0;  // pixels per 2^32
  std::uint64_t seed = 1;

  std::uint64_t pixels() const { return rows * cols; }

  std::uint32_t bin_of(std::uint64_t pixel) const {
    auto random = Random::at(seed, 5 * pixel);
    if (random.below(std::uint64_t{1} << 32) < scattered)
      return static_cast<std::uint32_t>(random.below(bins));
    // A uniform number below w has the standard deviation w / sqrt(12); the sum of four has w / sqrt(3).
    auto const w = spread * 1732 / 1000 + 1;
    std::uint64_t sum = bins / 2;
    for (int i = 0; i < 4; ++i) sum += random.below(w);
    return static_cast<std::uint32_t>(std::clamp(sum, 2 * w, bins - 1 + 2 * w) - 2 * w);
  }
  // The position in the image of the n-th remapped pixel: a row's even columns precede its odd ones.
  std::uint64_t remapped(std::uint64_t n) const {
    auto const place = n % cols;
    return n - place + 2 * (place % (cols / 2)) + place / (cols / 2);
  }
};

// The first and last range of kRangeBins bins in which the prescan expects pixels. It reads an eighth of each
// 64th of the image: each thread computes a mean and a deviation, and each block's interval is its average
// mean plus or minus ten times its average deviation; the range covers the intervals of all blocks. A thread
// without a pixel would make both NaN, whose conversion gives 0.
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

// The main kernel's operations per pixel, in remapped order.
struct HistogramPixels {
  static constexpr std::uint8_t kOverflows = 0xf;  // bit i: an atomic on the overflow counter of bin + i
  static constexpr std::uint8_t kOutside = 0x10;   // outside all ranges: counted in global memory,
  static constexpr std::uint8_t kAdds = 0x20;      // unless the bin is already at 255

  HistogramRanges ranges;
  std::vector<std::uint32_t> bin;
  std::vector<std::uint8_t> does;
  std::uint8_t any = 0;  // operations of any pixel
};

// Four 8-bit counters share a word of shared memory, so that a counter that wraps carries into the next one;
// atomics on 32-bit counters in global memory correct this. Pixels that are counted at the same time are
// processed in order. `p` has ranges and bins.
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
      // As published: the carry into counter byte + 3 depends only on counter byte + 2.
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
