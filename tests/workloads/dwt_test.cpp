// SPDX-License-Identifier: Apache-2.0
// dwt, executed on real values.
#include "block_runs.hpp"
#include "thread_play.hpp"

namespace farfault::workloads::dwt_test {
using namespace test;
using namespace test::lanes;
namespace {

std::uint64_t mirrored(std::int64_t i, std::uint64_t count) {
  auto const n = static_cast<std::int64_t>(count);
  return static_cast<std::uint64_t>(i < 0 ? -i : i >= n ? 2 * n - 2 - i : i);
}

double halved(double sum, double by) {
  return std::trunc(sum / by);
}

// A coefficient of a line with the elements at(i): high coefficients are the error of a linear prediction,
// low ones are corrected by them.
template <class At>
double coefficient(At at, std::int64_t i) {
  if (i % 2 != 0) return at(i) - halved(at(i - 1) + at(i + 1), 2);
  return at(i) + halved(coefficient(at, i - 1) + coefficient(at, i + 1) + 2, 4);
}

struct Band {
  std::uint64_t first, width;
};

// Position of the coefficients: by low and high columns, low and high rows.
Band band_of(bool high_x, bool high_y, std::uint64_t w, std::uint64_t h) {
  auto const low_w = (w + 1) / 2, low_h = (h + 1) / 2;
  std::uint64_t const sizes[] = {low_w * low_h, (w - low_w) * low_h, low_w * (h - low_h)};
  std::uint64_t first = 0;
  for (int i = 0; i < 2 * high_y + high_x; ++i) first += sizes[i];
  return {first, high_x ? w - low_w : low_w};
}

std::uint64_t place_of(std::uint64_t x, std::uint64_t y, std::uint64_t w, std::uint64_t h) {
  auto const band = band_of(x % 2 != 0, y % 2 != 0, w, h);
  return band.first + y / 2 * band.width + x / 2;
}

// Columns first, as in the kernel.
template <class Pixel>
double coefficient(Pixel pixel, std::int64_t x, std::int64_t y, std::uint64_t w, std::uint64_t h) {
  auto const down = [&](std::int64_t column) {
    return coefficient([&](std::int64_t row) { return pixel(mirrored(column, w), mirrored(row, h)); }, y);
  };
  return coefficient(down, x);
}

}  // namespace

TEST_CASE("dwt: the blocks' loads suffice for the coefficients that they store, which are the image's") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const& size : {std::tuple{500ULL, 131ULL, 3U}, {97ULL, 200ULL, 2U}, {971ULL, 66ULL, 2U}}) {
      auto const cols = std::get<0>(size), rows = std::get<1>(size);
      auto const levels = std::get<2>(size);
      CAPTURE(cols);
      auto const w = build("dwt",
                           {{"image_width", std::to_string(cols)},
                            {"image_height", std::to_string(rows)},
                            {"levels", std::to_string(levels)}},
                           of_width(width));
      REQUIRE(w.kernel_count() == 1 + 3 * (2 * levels));
      Memory memory(w);
      auto const source = buffer(w, "source").base;
      Random random(5);
      std::vector<double> bytes(3 * cols * rows);
      for (auto& b : bytes) b = static_cast<double>(random.below(256));
      CHECK(source != 0);
      // A block's threads read the words that contain its pixels' bytes.
      each_block(w, 0, width, [&](std::uint64_t block, std::vector<Access> const& accesses) {
        std::set<std::uint64_t> words;
        for (auto const& a : of_op(accesses, Op::load)) words.insert(a.element);
        CHECK(words.size() == 192);
        CHECK(*words.begin() == block * 192);
        CHECK(*words.rbegin() == block * 192 + 191);
        for (auto const& a : of_op(accesses, Op::store)) {
          CHECK(a.element == block * 256 + a.thread);
          auto const component = a.buffer == "red" ? 0U : a.buffer == "green" ? 1U : 2U;
          memory.at(a) = bytes[3 * a.element + component] - 128;
        }
      });
      std::size_t k = 1;
      for (std::string const name : {"red", "green", "blue"}) {
        auto const original = memory[name];
        auto ww = cols, hh = rows;
        for (std::uint32_t level = 0; level < levels; ++level) {
          CHECK(w.kernel(k).shape().name == "copy");
          play(w, k++, width, memory, [](auto, auto const& a, Values& loaded) {
            CHECK(a.thread < 256);
            return loaded.at(0);
          });
          if (level == 0) CHECK(memory["backup"] == original);
          if (level > 0) {
            ww = (ww + 1) / 2;
            hh = (hh + 1) / 2;
            CHECK(lanes_of(w, k - 1, width) == Lanes{ww * hh, ww * hh, 0});
          }
          auto const image = memory[name];
          if (level > 0) {
            auto const low = memory[name + "_out"];
            CHECK(std::equal(low.begin(), low.begin() + static_cast<std::ptrdiff_t>(ww * hh), image.begin()));
          }
          std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> coordinates;
          for (std::uint64_t y = 0; y < hh; ++y)
            for (std::uint64_t x = 0; x < ww; ++x) coordinates[place_of(x, y, ww, hh)] = {x, y};
          CHECK(coordinates.size() == ww * hh);
          CHECK(coordinates.rbegin()->first == ww * hh - 1);
          std::vector<std::uint32_t> stored(ww * hh);
          CHECK(barriers_agree(w, k, width));
          each_block(w, k++, width, [&](auto, std::vector<Access> const& accesses) {
            std::map<std::uint64_t, double> loaded;
            for (auto const& a : of_op(accesses, Op::load)) loaded[a.element] = memory.at(a);
            auto const pixel = [&](std::uint64_t x, std::uint64_t y) { return loaded.at(y * ww + x); };
            for (auto const& a : of_op(accesses, Op::store)) {
              auto const& [x, y] = coordinates.at(a.element);
              memory.at(a) = coefficient(pixel, x, y, ww, hh);
              ++stored[a.element];
            }
          });
          CHECK(all_equal(stored, 1));
          auto const& out = memory[name + "_out"];
          auto const of_image = [&](std::uint64_t x, std::uint64_t y) { return image[y * ww + x]; };
          bool same = true;
          for (auto const& [place, xy] : coordinates)
            same = same && out[place] == coefficient(of_image, xy.first, xy.second, ww, hh);
          CHECK(same);
        }
      }
      CHECK(inside_buffers(w, width));
    }
}

TEST_CASE(
    "dwt: each window reads its rows, the neighbouring columns, and three additional rows at its start") {
  auto const w = build("dwt", {{"image_width", "960"}, {"image_height", "480"}, {"levels", "1"}});
  // Four windows of 8 rows, 15 blocks down and 5 across, of 192 columns.
  auto const& kernel = w.kernel(2);
  CHECK(kernel.shape().blocks == 75);
  CHECK(kernel.shape().threads_per_block == 192);
  auto const c = grids::counts_of(kernel, 32);
  CHECK(c.loaded == 75 * (4 * 8 + 3) * (192 + 3));
  CHECK(c.loads == 75 * (4 * 8 + 3) * (6 + 1));
  CHECK(c.stored == 960 * 480);
  CHECK(c.stores == 960 * 480 / 32);
  CHECK(c.barriers == 75 * 6 * 4 * 4);
  // The first warp's first store: even columns, adjacent.
  each_block(w, 2, 32, [](std::uint64_t block, std::vector<Access> const& accesses) {
    auto const stores = of_op(accesses, Op::store);
    for (std::uint32_t i = 0; i < 32 && block == 1; ++i)
      CHECK(stores[i] == Access{Op::store, "red_out", 96 + i, i});
  });
}

TEST_CASE("dwt: levels for which the image is too small are rejected") {
  CHECK(
      error_of([] {
        build("dwt", {{"image_width", "256"}, {"image_height", "128"}, {"levels", "3"}});
      }) ==
      "levels = 3: the last level of an image of 256 x 128 pixels must have at least 33 pixels per side, for "
      "mirroring");
}

}  // namespace farfault::workloads::dwt_test
