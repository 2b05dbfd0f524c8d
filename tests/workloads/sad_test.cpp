// SPDX-License-Identifier: Apache-2.0
// sad: sums of absolute differences of two frames, compared with plain loops.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "block_runs.hpp"

namespace farfault::workloads::sad_test {
using namespace test;
using namespace test::grids;

namespace {

struct Frame {
  std::int64_t width, height;
  std::uint64_t salt;

  int pixel(std::uint64_t i) const { return static_cast<int>((i * 37 + salt * i * i) % 251); }
  int cut(std::int64_t x, std::int64_t y) const {
    auto const column = std::clamp<std::int64_t>(x, 0, width - 1),
               row = std::clamp<std::int64_t>(y, 0, height - 1);
    return pixel(static_cast<std::uint64_t>(row * width + column));
  }
};

// The sum of a block of the current frame at (x, y), against the reference shifted by (dx, dy).
int plain_sad(Frame const& current, Frame const& reference, std::int64_t x, std::int64_t y, std::int64_t wide,
              std::int64_t tall, std::int64_t dx, std::int64_t dy) {
  int sum = 0;
  for (auto j = y; j < y + tall; ++j)
    for (auto i = x; i < x + wide; ++i) sum += std::abs(reference.cut(i + dx, j + dy) - current.cut(i, j));
  return sum;
}

}  // namespace

TEST_CASE("sad: the three kernels compute the sums of all blocks of pixels at all positions") {
  for (std::uint32_t const width : {32U, 64U}) {
    Frame const current{32, 16, 3}, reference{32, 16, 5};
    auto const w = build("sad", {{"width", "32"}, {"height", "16"}}, of_width(width));
    auto const &now = buffer(w, "current"), &then = buffer(w, "reference"), &sums = buffer(w, "sums");
    REQUIRE(sums.bytes == 2 * 41 * 2 * 1096);
    std::vector<int> sum(sums.bytes / 2, -1);
    std::array<int, 16> pixels{};
    std::vector<int> local;                 // sums in shared memory
    std::vector<std::array<int, 24>> seen;  // per thread, in one turn
    std::vector<std::size_t> reads;         // per thread
    run_blocks(w.kernel(0), width, [&](auto, auto warp, auto phase, WarpInstruction const& in) {
      if (phase == 0 && in.op == Op::scalar_load && warp == 0) {
        local.assign(1096, 0);
        seen.assign(61, {});
        reads.assign(61, 0);
      }
      if (in.op != Op::load && in.op != Op::store) return;
      each_lane(in, [&](auto lane, VirtAddr at) {
        auto const thread = warp * width + lane;
        if (in.op == Op::load && within(now, at)) pixels[thread] = current.pixel((at - now.base) / 2);
        if (in.op == Op::load && within(then, at)) {
          auto const read = reads[thread]++;
          seen[thread][read % 24] = reference.pixel((at - then.base) / 2);
          if (read % 24 == 23)
            for (std::size_t p = 0; p < 3; ++p)
              for (std::size_t i = 0; i < 16; ++i)
                local[thread * 18 + read / 24 * 3 + p] +=
                    std::abs(seen[thread][i / 4 * 6 + i % 4 + p] - pixels[i]);
        }
        if (in.op == Op::store)
          for (std::size_t i = 0; i < 4; ++i) {
            auto const to = (at - sums.base) / 2 + i;
            REQUIRE(sum[to] == -1);
            sum[to] = local[to % 1096];
          }
      });
    });
    for (std::size_t kernel = 1; kernel < 3; ++kernel) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<int>> words;  // per thread: pairs of sums
      run_blocks(w.kernel(kernel), width, [&](auto, auto warp, auto, WarpInstruction const& in) {
        if (in.op != Op::load && in.op != Op::store) return;
        each_lane(in, [&](auto lane, VirtAddr at) {
          auto& v = words[{warp, lane}];
          auto const e = (at - sums.base) / 2;
          if (in.op == Op::load) {
            if (v.size() == 13) v.clear();
            for (auto const i : {e, e + 1}) v.push_back(sum[i]);
            return;
          }
          // Four pairs have been read; a counter of the stores follows them.
          constexpr int adds[5][4] = {{1, 0, 1, 0}, {0, 1, 0, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}, {1, 1, 1, 1}};
          auto const store = v.size() - 8;
          for (std::size_t half = 0; half < 2; ++half) {
            REQUIRE(sum[e + half] == -1);
            sum[e + half] = 0;
            for (std::size_t i = 0; i < 4; ++i) sum[e + half] += adds[store][i] * v[2 * i + half];
          }
          v.push_back(0);
        });
      });
    }
    // Sizes of blocks of pixels, largest first: width, height, start of their sums and number per macroblock.
    struct Size {
      std::int64_t wide, tall, before, count;
    };
    constexpr Size sizes[] = {{16, 16, 0, 1}, {16, 8, 1, 2}, {8, 16, 3, 2}, {8, 8, 5, 4},
                              {8, 4, 9, 8},   {4, 8, 17, 8}, {4, 4, 25, 16}};
    for (auto const& s : sizes)
      for (std::int64_t mb = 0; mb < 2; ++mb)
        for (std::int64_t b = 0; b < s.count; ++b) {
          auto const x = 16 * mb + b % (16 / s.wide) * s.wide, y = b / (16 / s.wide) * s.tall;
          bool equal = true;
          for (std::int64_t p = 0; p < 1089; p += s.wide == 4 ? 1 : 7)
            equal =
                equal && sum[static_cast<std::size_t>((2 * s.before + mb * s.count + b) * 1096 + p)] ==
                             plain_sad(current, reference, x, y, s.wide, s.tall, p % 33 - 16, p / 33 - 16);
          CHECK_MESSAGE(equal, s.wide << " x " << s.tall << ", block " << b << " of macroblock " << mb);
        }
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("sad: blocks and accesses follow from the frame's size") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const macroblocks : {1U, 6U}) {
      auto const w = macroblocks == 1 ? build("sad", {{"width", "16"}, {"height", "16"}}, of_width(width))
                                      : build("sad", {{"width", "48"}, {"height", "32"}}, of_width(width));
      REQUIRE(w.kernel_count() == 3);
      CHECK(w.footprint() == macroblocks * (2 * 2 * 256 + 41 * 2 * 1096));
      auto const warps = 64 / width;
      auto const small = counts_of(w.kernel(0), width);
      CHECK(w.kernel(0).shape().blocks == 16 * macroblocks);
      CHECK(small.loads == 16 * macroblocks * (1 + warps * 6 * 24));
      CHECK(small.loaded == 16 * macroblocks * (16 + 1089 / 3 * 24));
      CHECK(small.stores == 16 * macroblocks * 9);
      CHECK(small.stored == 16 * macroblocks * 274);
      CHECK(small.barriers == 16 * macroblocks * warps * 2);
      for (std::size_t k : {1U, 2U}) {
        auto const large = counts_of(w.kernel(k), width);
        auto const groups = k == 1 ? 4U : 1U;
        CHECK(w.kernel(k).shape().blocks == macroblocks);
        CHECK(large.loads == macroblocks * 18 * 4 * (k == 1 ? 128 / width : 1));
        CHECK(large.loaded == macroblocks * groups * 545 * 4);
        CHECK(large.stored == macroblocks * groups * 545 * 5);
      }
    }
}

TEST_CASE("sad: a frame with a fractional number of macroblocks is rejected") {
  CHECK(error_of([] {
          build("sad", {{"width", "100"}});
        }) == "width = 100 must be a multiple of 16, the side of a macroblock");
}

}  // namespace farfault::workloads::sad_test
