// SPDX-License-Identifier: Apache-2.0
// histogram: every pixel is counted, up to the maximum count.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <queue>

#include "../../workloads/src/histogram_pixels.hpp"
#include "lane_accesses.hpp"

namespace farfault::workloads::histogram_test {
using namespace test;
using namespace test::lanes;
namespace {

struct HistogramCase {
  std::string cols, rows, bins, spread, scattered;

  Workload build(std::uint32_t width) const {
    return test::build(
        "histogram",
        {{"cols", cols}, {"rows", rows}, {"bins", bins}, {"spread", spread}, {"scattered", scattered}},
        of_width(width));
  }
  HistogramInput input() const {
    return {.rows = std::stoull(rows),
            .cols = std::stoull(cols),
            .bins = std::stoull(bins),
            .spread = std::stoull(spread),
            .scattered = static_cast<std::uint64_t>(std::stod(scattered) * 4294967296.0),
            .seed = 1};
  }
};

// Many pixels per bin, so that bytes overflow; one pixel per sampling thread, two ranges and pixels outside
// them; an image too small for the prescan, which leaves the first range only.
std::vector<HistogramCase> const kHistograms{{"64", "72", "24576", "1", "0.1"},
                                             {"512", "512", "98304", "3000", "0.02"},
                                             {"128", "20", "65536", "3000", "0.5"}};

// Number of blocks of `main` per range, from the stores of their counters.
std::map<std::uint64_t, int> ranges_of(Workload const& w, std::uint64_t bins) {
  std::map<std::uint64_t, int> ranges;
  auto const& kernel = w.kernel(2);
  auto const& counters = buffer(w, "counters");
  WarpInstruction in;
  for (std::uint64_t block = 0; block < kernel.shape().blocks; ++block) {
    std::uint64_t step = 0;
    VirtAddr first = 0;
    for (in.op = Op::compute; in.op != Op::end; kernel.instruction(block, 0, step++, in))
      if (in.op == Op::store && in.address[0] >= counters.base &&
          in.address[0] < counters.base + counters.bytes && first == 0)
        first = in.address[0] - counters.base;
    ++ranges[(first - block % 14 * bins) / 24576];
  }
  return ranges;
}

}  // namespace

TEST_CASE("histogram: the kernels' loads and stores count every pixel, up to 255 per bin") {
  for (auto const& c : kHistograms)
    for (std::uint32_t const width : {32U, 64U}) {
      if (c.cols == "512" && width == 32) continue;  // the largest case takes half of the time
      CAPTURE(c.cols);
      auto const w = c.build(width);
      REQUIRE(w.kernel_count() == 4);
      auto const input = c.input();
      auto const bins = input.bins;
      auto const ranges = ranges_of(w, bins);
      auto const first_bin = ranges.begin()->first * 24576, end_bin = (ranges.rbegin()->first + 1) * 24576;

      // A pixel's bin after rewriting: each thread stores the two pixels that it loaded, one after the other.
      std::uint64_t twice = 0;
      std::vector<std::uint64_t> mapped(input.pixels(), ~std::uint64_t{0});
      each_block(w, 1, width, [&](auto, std::vector<Access> const& accesses) {
        std::map<std::uint32_t, std::uint64_t> pair;
        std::map<std::uint32_t, int> stored;
        for (auto const& a : accesses) {
          if (a.op == Op::load) {
            pair[a.thread] = a.element;
            stored[a.thread] = 0;
            continue;
          }
          auto const pixel = 2 * pair.at(a.thread) + static_cast<std::uint64_t>(stored.at(a.thread)++);
          if (pixel >= input.pixels()) continue;  // rows of the last block below the image
          twice += mapped.at(a.element) != ~std::uint64_t{0};
          mapped.at(a.element) = input.bin_of(pixel);
        }
      });

      CHECK(twice == 0);

      // Counters in shared memory, word by word, and counters in global memory, updated by the threads'
      // accesses in order.
      std::vector<std::uint64_t> global(bins);
      std::vector<std::uint32_t> overflow(std::max(bins, end_bin)), counters(buffer(w, "counters").bytes / 4);
      std::uint64_t otherwise = 0, wrong_above = 0, wraps = 0, outside = 0;
      each_block(w, 2, width, [&](std::uint64_t block, std::vector<Access> const& accesses) {
        auto const range = first_bin / 24576 + block / 14;
        std::map<std::uint64_t, std::vector<Access>> turns;  // by pixel
        std::map<std::uint32_t, std::uint64_t> now;
        for (auto const& a : accesses) {
          if (a.buffer == "mappings") turns[now[a.thread] = a.element];
          if (a.buffer != "mappings" && a.buffer != "counters") turns[now.at(a.thread)].push_back(a);
        }
        std::vector<std::uint32_t> shared(6144);
        for (auto const& [pixel, made] : turns) {
          auto const bin = mapped.at(pixel);
          otherwise += pixel / 768 % 14 != block % 14;
          auto const thread = static_cast<std::uint32_t>(pixel % 768);
          std::vector<Access> expected;
          if (bin / 24576 == range) {
            auto& word = shared[bin % 24576 / 4];
            auto const byte = [&](std::uint64_t i) { return i < 4 ? word >> 8 * i & 0xff : 0; };
            auto const b = bin % 4;
            if (byte(b) == 255) {
              ++wraps;
              expected.push_back({Op::store, "overflow", bin, thread});
              overflow[bin] += 256;
              if (b < 3) {
                expected.push_back({Op::store, "overflow", bin + 1, thread});
                overflow[bin + 1] += byte(b + 1) < 255 ? ~0U : 255U;
              }
              if (b < 2 && byte(b + 1) == 255) {
                expected.push_back({Op::store, "overflow", bin + 2, thread});
                overflow[bin + 2] += byte(b + 2) < 255 ? ~0U : 255U;
              }
              if (b < 1 && byte(b + 2) == 255) {
                expected.push_back({Op::store, "overflow", bin + 3, thread});
                overflow[bin + 3] += byte(b + 3) < 255 ? ~0U : 255U;
                wrong_above += byte(b + 1) != 255;
              }
            }
            word += 1U << 8 * b;
          } else if (block < 14 && (bin < first_bin || bin >= end_bin)) {
            ++outside;
            expected.push_back({Op::load, "global_counters", bin / 2, thread});
            if (global[bin] < 255) {
              expected.push_back({Op::store, "global_counters", bin / 2, thread});
              ++global[bin];
            }
          }
          otherwise += made != expected;
        }
        for (auto const& a : accesses)
          if (a.buffer == "counters")
            counters.at(a.element) = shared.at((a.element - block % 14 * bins / 4) % 6144);
      });
      CHECK(otherwise == 0);
      CHECK(wrong_above == 0);
      CHECK((wraps != 0) == (c.spread == "1"));
      CHECK((outside != 0) == (c.bins != "24576"));

      // Four bins at a time: the sums of a thread's loads since its last store.
      std::vector<std::uint64_t> histogram(buffer(w, "histogram").bytes);
      each_block(w, 3, width, [&](auto, std::vector<Access> const& accesses) {
        std::map<std::uint32_t, std::array<std::uint64_t, 4>> sums;
        for (auto const& a : accesses) {
          auto& sum = sums[a.thread];
          if (a.buffer == "histogram") {
            for (std::uint64_t i = 0; i < 4; ++i)
              histogram[4 * a.element + i] = std::min<std::uint64_t>(sum[i], 255);
            sum = {};
          } else if (a.op == Op::load) {
            for (std::uint64_t i = 0; i < 4; ++i)
              sum[i] += a.buffer == "counters"          ? counters.at(a.element) >> 8 * i & 0xff
                        : a.buffer == "global_counters" ? global.at(4 * a.element + i)
                                                        : overflow.at(4 * a.element + i);
            // Overflow counters may be negative, in 32 bits.
            for (auto& s : sum) s = static_cast<std::uint32_t>(s);
          }
        }
      });
      std::vector<std::uint64_t> expected(histogram.size());
      for (std::uint64_t i = 0; i < input.pixels(); ++i) ++expected[input.bin_of(i)];
      for (auto& e : expected) e = std::min<std::uint64_t>(e, 255);
      CHECK(histogram == expected);
      for (std::size_t k = 0; k < 4; ++k) CHECK(barriers_agree(w, k, width));
    }
}

TEST_CASE("histogram: the ranges are ten deviations around the mean, or the first range for a small image") {
  auto const small = kHistograms[2].build(32);
  CHECK(ranges_of(small, 65'536) == std::map<std::uint64_t, int>{{0, 14}});
  // Three pixels per sampling thread.
  HistogramCase const c{"1024", "768", "1048576", "20000", "0.001"};
  auto const input = c.input();
  double lowest = 1e9, highest = 0;
  for (std::uint64_t block = 0; block < 64; ++block) {
    double mean = 0, deviation = 0;
    for (std::uint64_t t = 0; t < 512; ++t) {
      double bin[3], m = 0, d = 0;
      for (std::uint64_t i = 0; i < 3; ++i)
        m += bin[i] = input.bin_of(block * (1024 * 768 / 64) + t + 512 * i);
      for (auto const b : bin) d += (b - m / 3) * (b - m / 3);
      mean += m / 3 / 512;
      deviation += std::sqrt(d / 3) / 512;
    }
    lowest = std::min(lowest, mean - 10 * deviation);
    highest = std::max(highest, mean + 10 * deviation);
  }
  auto const ranges = prescan(input);
  CHECK(ranges.first == static_cast<std::uint64_t>(lowest) / 24576);
  CHECK(ranges.last == static_cast<std::uint64_t>(highest) / 24576);
  CHECK(ranges.last - ranges.first > 8);
}

TEST_CASE("histogram: a byte that wraps carries into the next ones, and an atomic corrects each of them") {
  // Counts one part's pixels of the given bins and numbers; returns the operations of the last pixel.
  auto const last = [](std::vector<std::pair<std::uint32_t, int>> const& counted) {
    HistogramPixels p;
    p.ranges = {0, 0};
    std::uint64_t n = 0, end = 0;
    for (auto const& [bin, times] : counted)
      for (int i = 0; i < times; ++i, n += (n % 768 == 767 ? 13 * 768 + 1 : 1)) {
        p.bin.resize(n + 1, 100);
        p.bin[end = n] = bin;
      }
    count_pixels(p, 49'152);
    return p.does[end];
  };
  CHECK(last({{0, 255}}) == 0);
  CHECK(last({{0, 256}}) == 0b0011);
  CHECK(last({{0, 512}}) == 0b0011);
  CHECK(last({{1, 255}, {0, 256}}) == 0b0111);
  CHECK(last({{1, 255}, {2, 255}, {0, 256}}) == 0b1111);
  // The published code's mistake: bin 1 takes the carry, and bin 3 is corrected nevertheless.
  CHECK(last({{1, 254}, {2, 255}, {0, 256}}) == 0b1011);
  CHECK(last({{2, 255}, {1, 256}}) == 0b0111);
  CHECK(last({{3, 255}, {2, 256}}) == 0b0011);
  CHECK(last({{3, 256}}) == 0b0001);
  // Outside all ranges: counted in global memory, up to 255.
  CHECK(last({{30'000, 255}}) == (HistogramPixels::kOutside | HistogramPixels::kAdds));
  CHECK(last({{30'000, 256}}) == HistogramPixels::kOutside);
}

TEST_CASE("histogram: pixels have the configured deviation around the middle bin") {
  HistogramInput input{.rows = 100, .cols = 100, .bins = 65'536, .spread = 2000, .scattered = 0, .seed = 1};
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    auto const away = static_cast<double>(input.bin_of(i)) - 32'768;
    sum += away / 10'000;
    squares += away * away / 10'000;
  }
  CHECK(std::abs(sum) < 100);
  CHECK(std::abs(std::sqrt(squares - sum * sum) - 2000) < 100);
}

TEST_CASE("histogram: a range takes every pixel once; the prescan takes an eighth twice; the rest its own") {
  for (auto const& c : {kHistograms[0], kHistograms[1]})
    for (std::uint32_t const width : {32U, 64U}) {
      auto const w = c.build(width);
      auto const input = c.input();
      auto const n = input.pixels();
      auto const rows = (input.rows + 15) / 16 * 16;
      auto const ranges = ranges_of(w, input.bins);
      auto const padded = std::max((input.bins + 24'575) / 24'576, ranges.rbegin()->first + 1) * 24'576;
      CHECK(w.footprint() ==
            8 * rows * input.cols + 8 + 13 * input.bins + padded + 2 * input.bins + 5 * padded);
      for (auto const& [range, blocks] : ranges) CHECK(blocks == 14);
      CHECK(w.kernel(2).shape().blocks == 14 * ranges.size());
      CHECK(lanes_of(w, 0, width) == Lanes{64 * 2 * (n / 64 / 8), 2 * 64, 4 * 64 * 512 / width});
      CHECK(w.kernel(1).shape().blocks == rows / 16);
      CHECK(lanes_of(w, 1, width) == Lanes{rows * input.cols / 2, rows * input.cols, 0});
      CHECK(all_equal(touches(w, buffer(w, "mappings"), Op::load, width, 4, 2, 3),
                      static_cast<std::uint32_t>(ranges.size())) == (rows == input.rows));
      CHECK(lanes_of(w, 2, width).barriers == 2 * 14 * ranges.size() * 768 / width);
      auto const inside = ranges.size() * 24'576, outside = input.bins - std::min(input.bins, inside);
      CHECK(lanes_of(w, 3, width) == Lanes{15 * inside / 4 + outside / 4, 2 * (inside + outside) / 4, 0});
      CHECK(w.kernel(3).shape().blocks == 42);
      CHECK(inside_buffers(w, width));
    }
}

TEST_CASE("histogram: an odd number of columns, or bins that are not a multiple of 4, are rejected") {
  CHECK(error_of([] { build("histogram", {{"cols", "1921"}}); }) == "cols = 1921 must be even");
  CHECK(error_of([] { build("histogram", {{"bins", "30001"}}); }) == "bins = 30001 must be a multiple of 4");
}

}  // namespace farfault::workloads::histogram_test
