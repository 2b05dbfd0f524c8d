// SPDX-License-Identifier: Apache-2.0
// heartwall, executed on real values: correlations, and the positions at which points are found.
#include <algorithm>
#include <cmath>

#include "block_runs.hpp"
#include "thread_play.hpp"

namespace farfault::workloads::heartwall_test {
using namespace test;
using namespace test::lanes;
namespace {

constexpr std::uint64_t kSide = 5, kArea = 9, kOffsets = 13, kPadded = 19;  // for halves 2 and 4
constexpr std::uint64_t kRows = 100, kCols = 90;

// A block's arrays, shared memory and threads.
struct Block {
  std::map<std::string, Values> own;
  std::map<std::uint64_t, double> rotated;  // the pattern in shared memory
  double pattern_sum = 0, squares_sum = 0, deviation = 0;
  double greatest = 0;
  std::uint64_t greatest_at = 0;
};

struct Thread {
  Values loaded;  // since its last store
  std::vector<std::uint64_t> from;
  std::string of;
  double sum = 0;
  std::uint64_t line = ~0ULL;
};

// The value that the phase between barriers `phase` and `phase` + 1 stores at an element.
double stored(int phase, std::string const& to, std::uint64_t e, Block& b, Thread& t) {
  auto const& v = t.loaded;
  auto const running = [&](std::uint64_t line) {
    if (line != t.line) t.sum = 0;
    t.line = line;
    return t.sum += v.at(0);
  };
  if (to == "row_found" || to == "column_found") return v.at(0);
  switch (phase) {
    case 2: {  // products: the positions in both windows, from 1, add up to the offset's position plus 1
      double sum = 0;
      for (std::size_t i = 0; i < v.size(); ++i) {
        auto const row = e % kOffsets + 2 - (t.from[i] % kArea + 1);
        auto const column = e / kOffsets + 2 - (t.from[i] / kArea + 1);
        REQUIRE((row >= 1 && row <= kSide && column >= 1 && column <= kSide));
        sum += v[i] * b.rotated.at((column - 1) * kSide + row - 1);
      }
      return sum;
    }
    case 3:
    case 13:
      return v.empty() ? 0 : v.at(0);
    case 4:
    case 14:
      return running(e / kPadded);
    case 8:
    case 18:
      return running(e % kOffsets);
    case 7:
    case 11:
    case 17:
    case 21:
      return v.at(0) - v.at(1);
    case 12:
    case 23:
      return v.at(0) * v.at(0);
    case 22:
      return std::sqrt(std::max(0.0, v.at(1) - v.at(0) * v.at(0) / (kSide * kSide)));
    case 28:
      return v.at(0) * b.deviation;
    case 29:
      return v.at(0) - v.at(1) * b.pattern_sum / (kSide * kSide);
    case 30:
      return v.at(0) / v.at(1);
    case 31:  // the middle, moved by the point's movement in the previous frame
      return e == (kOffsets / 2) * kOffsets + kOffsets / 2 ? 1 : 0;
    case 32: {
      double sum = 0;
      for (std::size_t i = 0; i + 1 < v.size(); ++i) sum += v[i];
      return v.back() * sum;
    }
    default:
      return v.at(0);  // a part of an array
  }
}

}  // namespace

TEST_CASE("heartwall: the blocks' loads give the correlation at each offset, with its maximum at the point") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("heartwall",
                         {{"frame_rows", "100"},
                          {"frame_cols", "90"},
                          {"points", "7"},
                          {"pattern_half", "2"},
                          {"search_half", "4"},
                          {"frames", "11"}},
                         of_width(width));
    REQUIRE(w.kernel_count() == 11);
    Memory memory(w);
    auto const frame = fill(memory, "frame", 1);
    REQUIRE(frame.size() == kRows * kCols);
    // The first frame's loads surround the points.
    std::vector<std::pair<double, double>> places;
    each_block(w, 0, width, [&](auto, std::vector<Access> const& accesses) {
      std::uint64_t first = ~0ULL;
      for (auto const& a : accesses)
        if (a.buffer == "frame") first = std::min(first, a.element);
      places.emplace_back(first % kRows + 3, first / kRows + 3);
    });
    for (std::size_t i = 0; i < 7; ++i) {
      memory["row"][i] = places[i].first;
      memory["column"][i] = places[i].second;
    }
    play(w, 0, width, memory, [](auto, auto const& a, Values const& loaded) {
      return loaded.at(a.buffer == "column_found" ? 1 : loaded.size() - 1);
    });
    auto const pattern = memory["pattern"];
    for (std::size_t i = 0; i < 7; ++i)
      for (std::uint64_t e = 0; e < kSide * kSide; ++e)
        CHECK(pattern[i * kSide * kSide + e] ==
              frame[(e / kSide + static_cast<std::uint64_t>(places[i].second) - 3) * kRows + e % kSide +
                    static_cast<std::uint64_t>(places[i].first) - 3]);

    std::vector<Block> blocks(7);
    std::vector<std::vector<Thread>> threads(7, std::vector<Thread>(256));
    std::map<std::uint64_t, std::map<std::uint32_t, double>> lines;
    CHECK(barriers_agree(w, 1, width));
    grids::run_blocks(w.kernel(1), width, [&](auto block, auto warp, auto phase, WarpInstruction const& in) {
      if (in.op != Op::load && in.op != Op::store) return;
      each_lane(in, [&](auto lane, VirtAddr address) {
        auto const thread = warp * width + lane;
        auto& t = threads[block][thread];
        auto& b = blocks[block];
        for (auto const& buffer : w.buffers()) {
          if (address < buffer.base || address >= buffer.base + buffer.bytes) continue;
          auto const pitch = buffer.bytes / 7;
          bool const shared = buffer.name == "frame";
          auto const at = address - buffer.base;
          if (!shared) CHECK(at / pitch == block);
          auto const e = shared ? at / 4 : (at - block * pitch) / 4;
          auto& value = memory[buffer.name][at / 4];
          bool const place = buffer.name == "row" || buffer.name == "column";
          if (in.op == Op::store) {
            value = stored(static_cast<int>(phase), buffer.name, e, b, t);
            t.loaded.clear();
            t.from.clear();
            continue;
          }
          if (buffer.name.starts_with("row") || buffer.name.starts_with("column")) {
            if (phase == 34 && place) t.loaded = {value};
            continue;
          }
          if (phase == 1) b.rotated[thread] = value;  // 25 elements: a thread has at most one
          if (phase == 24) b.pattern_sum += value;
          if (phase == 25) b.squares_sum += value;
          if (phase == 33 && std::abs(value) > b.greatest) {
            b.greatest = std::abs(value);
            b.greatest_at = e;
          }
          if (phase == 1 || phase == 24 || phase == 25 || phase == 33) continue;
          t.loaded.push_back(value);
          t.from.push_back(e);
        }
        if (phase == 25) {
          auto const mean = b.pattern_sum / (kSide * kSide);
          b.deviation =
              std::sqrt(kSide * kSide - 1.0) * std::sqrt(b.squares_sum / (kSide * kSide) - mean * mean);
        }
      });
    });
    for (std::size_t i = 0; i < 7; ++i) {
      auto const& b = blocks[i];
      auto const correlations = memory["local_squared"];
      auto const pitch = correlations.size() / 7;
      auto const row = static_cast<std::int64_t>(places[i].first),
                 column = static_cast<std::int64_t>(places[i].second);
      auto const area = [&](std::int64_t r, std::int64_t c) {
        if (r < 0 || c < 0 || r >= std::int64_t{kArea} || c >= std::int64_t{kArea}) return 0.0;
        return frame[static_cast<std::uint64_t>((c + column - 5) * std::int64_t{kRows} + r + row - 5)];
      };
      for (std::int64_t c = 0; c < std::int64_t{kOffsets}; ++c)
        for (std::int64_t r = 0; r < std::int64_t{kOffsets}; ++r) {
          double product = 0, sum = 0, squares = 0;
          for (std::int64_t x = 0; x < std::int64_t{kSide}; ++x)
            for (std::int64_t y = 0; y < std::int64_t{kSide}; ++y) {
              auto const p = pattern[i * 25 + static_cast<std::uint64_t>(x * 5 + y)];
              auto const a = area(r - 4 + y, c - 4 + x);
              product += p * a;
              sum += a;
              squares += a * a;
            }
          auto const expected = (product - sum * b.pattern_sum / 25) /
                                (std::sqrt(std::max(0.0, squares - sum * sum / 25)) * b.deviation);
          auto const found = correlations[i * pitch + static_cast<std::uint64_t>(c * 13 + r)];
          if (std::isfinite(expected)) CHECK(found == doctest::Approx(expected).epsilon(1e-9));
        }
      CHECK(b.greatest_at == 6 * kOffsets + 6);
      CHECK(memory["row_found"][i * 11 + 1] == places[i].first);
      CHECK(memory["column_found"][i * 11 + 1] == places[i].second);
    }
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE(
    "heartwall: products read each element of the area once per element of the pattern, at any offset") {
  auto const w = build("heartwall", {{"points", "2"}, {"pattern_half", "3"}, {"search_half", "6"}});
  REQUIRE(w.kernel_count() == 2);
  std::uint64_t const side = 7, area = 13, n = 19, padded = 27;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> lanes;  // loads and stores
  each_block(w, 1, 32, [&](auto, std::vector<Access> const& accesses) {
    for (auto const& a : accesses)
      ++(a.op == Op::load ? lanes[std::string(a.buffer)].first : lanes[std::string(a.buffer)].second);
  });
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  // Each element of the pattern is paired with each of the area once; then padding, and squares.
  CHECK(lanes["area"] == Pair{2 * (side * side * area * area + 2 * area * area), 2 * area * area});
  CHECK(lanes["area_squared"] == Pair{2 * area * area, 2 * area * area});
  CHECK(lanes["frame"] == Pair{2 * area * area, 0});
  CHECK(lanes["pattern"] == Pair{2 * 3 * side * side, 0});
  CHECK(lanes["pattern_squared"] == Pair{2 * side * side, 2 * side * side});
  CHECK(lanes["product"] == Pair{2 * 2 * n * n, 2 * 2 * n * n});
  // Twice: filled, summed, read for two parts.
  CHECK(lanes["padded"] == Pair{2 * 2 * (padded * padded + 2 * n * padded), 2 * 2 * 2 * padded * padded});
  CHECK(lanes["sums"] == Pair{2 * 2 * (2 * n * padded + 2 * n * n), 2 * 2 * 3 * n * padded});
  CHECK(lanes["local"] == Pair{2 * 3 * n * n, 2 * 2 * n * n});
  CHECK(lanes["local_squared"] == Pair{2 * 5 * n * n, 2 * 5 * n * n});
  CHECK(lanes["masked"] == Pair{2 * n * n, 2 * n * n});
  // Ten elements of the mask along a line of n offsets, fewer at its ends.
  std::uint64_t line = 0;
  for (std::uint64_t i = 1; i <= n; ++i) line += std::min(n, i + 5) - (i + 6 > 10 ? i + 6 - 10 : 1) + 1;
  CHECK(lanes["mask"] == Pair{2 * line * line, 2 * n * n});
}

TEST_CASE("heartwall: every tenth frame updates the patterns and moves the points") {
  auto const w =
      build("heartwall", {{"points", "3"}, {"pattern_half", "1"}, {"search_half", "2"}, {"frames", "21"}});
  for (std::size_t k = 0; k < 21; ++k) {
    std::uint64_t patterns = 0, rows = 0;
    each_block(w, k, 32, [&](auto, std::vector<Access> const& accesses) {
      for (auto const& a : accesses) {
        patterns += a.op == Op::store && a.buffer == "pattern";
        rows += a.op == Op::store && a.buffer == "row";
      }
    });
    CHECK(patterns == (k % 10 == 0 ? 3 * 9 : 0));
    CHECK(rows == (k > 0 && k % 10 == 0 ? 3 * 8 : 0));  // one lane per warp
  }
}

TEST_CASE("heartwall: points too close to the frame's border are rejected") {
  CHECK(
      error_of([] {
        build("heartwall",
              {{"frame_rows", "64"}, {"frame_cols", "64"}, {"points", "1"}, {"search_half", "40"}});
      }) ==
      "heartwall: the area of a point at row 43 and column 32 exceeds the frame of 64 x 64 pixels; increase "
      "frame_rows and frame_cols, or lower pattern_half and search_half");
}

}  // namespace farfault::workloads::heartwall_test
