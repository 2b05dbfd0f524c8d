// SPDX-License-Identifier: Apache-2.0
// Rodinia on matrices and grids: lud, nw, hotspot, executed on real values.
#include <algorithm>
#include <map>
#include <queue>

#include "lane_accesses.hpp"

namespace farfault::workloads::rodinia_test {
using namespace test;
using namespace test::lanes;

TEST_CASE(
    "lud: the kernels' loads, factorised tile by tile, give the LU decomposition at the stored addresses") {
  constexpr std::uint64_t n = 64;
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("lud", {{"side", "64"}}, of_width(width));
    Random random(3);
    Values matrix(n * n);
    for (std::uint64_t i = 0; i < n * n; ++i)
      matrix[i] = static_cast<double>(random.below(100)) + (i % (n + 1) == 0 ? 10'000.0 : 0.0);
    auto expected = matrix;
    for (std::uint64_t k = 0; k < n; ++k)
      for (std::uint64_t i = k + 1; i < n; ++i) {
        expected[i * n + k] /= expected[k * n + k];
        for (std::uint64_t j = k + 1; j < n; ++j)
          expected[i * n + j] -= expected[i * n + k] * expected[k * n + j];
      }
    for (std::size_t k = 0; k < w.kernel_count(); ++k) {
      auto const before = matrix;
      auto const o = k / 3 * 16;
      each_block(w, k, width, [&](std::uint64_t block, std::vector<Access> const& accesses) {
        Cells t;
        for (auto const& a : of_op(accesses, Op::load)) t[{a.element / n, a.element % n}] = before[a.element];
        auto const at = [&](std::uint64_t i, std::uint64_t j) -> double& { return t.at({o + i, o + j}); };
        auto const away = (block + 1) * 16;
        if (k % 3 == 0)
          for (std::uint64_t p = 0; p < 16; ++p)
            for (std::uint64_t i = p + 1; i < 16; ++i) {
              at(i, p) /= at(p, p);
              for (std::uint64_t j = p + 1; j < 16; ++j) at(i, j) -= at(i, p) * at(p, j);
            }
        if (k % 3 == 1)
          for (std::uint64_t i = 0; i < 16; ++i)
            for (std::uint64_t c = 0; c < 16; ++c) {
              for (std::uint64_t j = 0; j < i; ++j) {
                at(i, away + c) -= at(i, j) * at(j, away + c);
                at(away + c, i) -= at(away + c, j) * at(j, i);
              }
              at(away + c, i) /= at(i, i);
            }
        for (auto const& a : of_op(accesses, Op::store)) {
          auto const row = a.element / n, column = a.element % n;
          auto value = t.at({row, column});
          if (k % 3 == 2)
            for (std::uint64_t i = 0; i < 16; ++i) value -= t.at({row, o + i}) * t.at({o + i, column});
          matrix[a.element] = value;
        }
      });
      CHECK(barriers_agree(w, k, width));
    }
    CHECK(near(matrix, expected));
  }
}

TEST_CASE("lud: a matrix of t tiles a side takes 3 t - 2 kernels, each tile to the right and below once") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const tiles : {2U, 5U}) {
      auto const w = build("lud", {{"side", std::to_string(16 * tiles)}}, of_width(width));
      CHECK(w.footprint() == 4 * 256 * tiles * tiles);
      REQUIRE(w.kernel_count() == 3 * tiles - 2);
      for (std::size_t k = 0; k < w.kernel_count(); ++k) {
        auto const rest = tiles - 1 - k / 3;
        auto const warps = w.kernel(k).shape().threads_per_block == 256 ? 256 / width : 1;
        auto const& shape = w.kernel(k).shape();
        if (k % 3 == 0) {
          CHECK(shape.blocks == 1);
          CHECK(lanes_of(w, k, width) == Lanes{256, 240, 31});
        } else if (k % 3 == 1) {
          CHECK(shape.blocks == rest);
          CHECK(lanes_of(w, k, width) == Lanes{768 * rest, 496 * rest, 2 * rest});
        } else {
          CHECK(shape.blocks == rest * rest);
          CHECK(lanes_of(w, k, width) == Lanes{768 * rest * rest, 256 * rest * rest, warps * rest * rest});
        }
      }
    }
}

TEST_CASE("lud: shared memory is accessed twice per product, and once per element loaded or stored") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("lud", {{"side", "32"}}, of_width(width));
    // 16 elements of a column are loaded and 15 stored; 15 times a column, with 0 products and more, and a
    // row, with 1 product and more.
    CHECK(shared_of(w, 0, width) == 16 + 15 + 15 * 14 / 2 * 4 + 15 * (3 + 4));
    // 120 products per tile, and 16 pivots for the lower tile.
    CHECK(shared_of(w, 1, width) == 2 * 24 + 2 * (2 * 120 + 2) + 16 + 15 + 16);
    CHECK(shared_of(w, 2, width) == (2 + 32) * 256 / width);
  }
}

TEST_CASE("lud: a side that is not a multiple of the tile is rejected") {
  CHECK(error_of([] { build("lud", {{"side", "40"}}); }) == "side = 40 must be a multiple of 16");
}

TEST_CASE(
    "nw: the blocks' loads, aligned tile by tile, give the matrix of alignments at the stored addresses") {
  constexpr std::uint64_t n = 48, side = n + 1;
  constexpr double penalty = 10;
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("nw", {{"length", "48"}}, of_width(width));
    Random random(5);
    Values score(side * side), cells(side * side, -1e9);
    for (auto& s : score) s = static_cast<double>(random.below(16)) - 4;
    for (std::uint64_t i = 0; i < side; ++i) cells[i] = cells[i * side] = -penalty * static_cast<double>(i);
    auto expected = cells;
    for (std::uint64_t i = 1; i < side; ++i)
      for (std::uint64_t j = 1; j < side; ++j)
        expected[i * side + j] =
            std::max({expected[(i - 1) * side + j - 1] + score[i * side + j],
                      expected[i * side + j - 1] - penalty, expected[(i - 1) * side + j] - penalty});
    for (std::size_t k = 0; k < w.kernel_count(); ++k) {
      auto const before = cells;
      each_block(w, k, width, [&](auto, std::vector<Access> const& accesses) {
        Cells reference, tile;
        for (auto const& a : of_op(accesses, Op::load)) {
          bool const is_score = a.buffer == "reference";
          (is_score ? reference : tile)[{a.element / side, a.element % side}] =
              (is_score ? score : before)[a.element];
        }
        for (auto const& a : of_op(accesses, Op::store)) {
          CHECK(a.buffer == "cells");
          auto const i = a.element / side, j = a.element % side;
          tile[{i, j}] = cells[a.element] =
              std::max({tile.at({i - 1, j - 1}) + reference.at({i, j}), tile.at({i, j - 1}) - penalty,
                        tile.at({i - 1, j}) - penalty});
        }
      });
    }
    CHECK(cells == expected);
    // The scores of the first row and column do not belong to a cell.
    auto const reads = touches(w, buffer(w, "reference"), Op::load, width, 4);
    auto const writes = touches(w, buffer(w, "cells"), Op::store, width, 4);
    for (std::uint64_t i = 0; i < side * side; ++i) {
      CHECK(reads[i] == (i / side != 0 && i % side != 0));
      CHECK(writes[i] == reads[i]);
    }
  }
}

TEST_CASE("nw: t tiles a side take 2 t - 1 kernels of 1 to t and back to 1 blocks, one warp each") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const tiles : {1U, 4U}) {
      auto const w = build("nw", {{"length", std::to_string(16 * tiles)}}, of_width(width));
      CHECK(w.footprint() == 2 * 4 * (16 * tiles + 1) * (16 * tiles + 1));
      REQUIRE(w.kernel_count() == 2 * tiles - 1);
      for (std::size_t k = 0; k < w.kernel_count(); ++k) {
        auto const blocks = k < tiles ? k + 1 : 2 * tiles - 1 - k;
        CHECK(w.kernel(k).shape().blocks == blocks);
        CHECK(w.kernel(k).shape().name == (k < tiles ? "needle_cuda_shared_1" : "needle_cuda_shared_2"));
        CHECK(lanes_of(w, k, width) == Lanes{(256 + 33) * blocks, 256 * blocks, (3 + 31) * blocks});
      }
    }
}

TEST_CASE(
    "nw: both kernels access shared memory 190 times: loads and stores, and five for each of 31 steps") {
  auto const w = build("nw", {{"length", "48"}});
  CHECK(shared_of(w, 0, 32) == 17 + 1 + 1 + 31 * 5 + 16);
  CHECK(shared_of(w, 4, 64) == 16 + 2 + 1 + 31 * 5 + 16);
}

TEST_CASE("nw: a length that is not a multiple of the tile is rejected") {
  CHECK(error_of([] { build("nw", {{"length", "100"}}); }) == "length = 100 must be a multiple of 16");
}

TEST_CASE("hotspot: tiles that iterate on their loads give the temperatures of the whole chip") {
  constexpr std::int64_t rows = 20, cols = 37;
  auto const step = [](double t, double p, double n, double s, double e, double w) {
    return t + 0.1 * (p + (s + n - 2 * t) * 0.3 + (e + w - 2 * t) * 0.2 + (80 - t) * 0.05);
  };
  for (std::uint32_t const width : {32U, 64U})
    for (int const height : {1, 2, 4}) {
      constexpr int iterations = 5;
      auto const w = build(
          "hotspot",
          {{"rows", "20"}, {"cols", "37"}, {"iterations", "5"}, {"pyramid_height", std::to_string(height)}},
          of_width(width));
      Random random(9);
      Values temperature(rows * cols), power(rows * cols);
      for (auto& t : temperature) t = static_cast<double>(random.below(100));
      for (auto& p : power) p = static_cast<double>(random.below(10));
      auto const neighbour = [&](std::int64_t i, int dy, int dx) {
        return std::clamp<std::int64_t>(i / cols + dy, 0, rows - 1) * cols +
               std::clamp<std::int64_t>(i % cols + dx, 0, cols - 1);
      };
      auto const at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
      auto expected = temperature;
      for (int i = 0; i < iterations; ++i) {
        auto const old = expected;
        for (std::int64_t c = 0; c < rows * cols; ++c)
          expected[at(c)] =
              step(old[at(c)], power[at(c)], old[at(neighbour(c, -1, 0))], old[at(neighbour(c, 1, 0))],
                   old[at(neighbour(c, 0, 1))], old[at(neighbour(c, 0, -1))]);
      }
      REQUIRE(w.kernel_count() == static_cast<std::size_t>((iterations + height - 1) / height));
      for (std::size_t k = 0; k < w.kernel_count(); ++k) {
        auto const from = "temperature" + std::to_string(k % 2),
                   to = "temperature" + std::to_string(1 - k % 2);
        auto const before = temperature;
        // A barrier after the loads, two per iteration, except one in the last.
        CHECK(barriers_agree(w, k, width));
        auto const made =
            lanes_of(w, k, width).barriers / w.kernel(k).shape().blocks / warps_of(w.kernel(k), width) / 2;
        CHECK(made ==
              static_cast<std::uint64_t>(std::min(height, iterations - static_cast<int>(k) * height)));
        each_block(w, k, width, [&](auto, std::vector<Access> const& accesses) {
          std::map<std::int64_t, double> now, heat;
          for (auto const& a : of_op(accesses, Op::load)) {
            CHECK((a.buffer == from || a.buffer == "power"));
            (a.buffer == from ? now : heat)[static_cast<std::int64_t>(a.element)] =
                (a.buffer == from ? before : power)[a.element];
          }
          for (std::uint64_t i = 0; i < made; ++i) {
            std::map<std::int64_t, double> next;
            for (auto const& [c, t] : now) {
              auto const n = now.find(neighbour(c, -1, 0)), s = now.find(neighbour(c, 1, 0));
              auto const e = now.find(neighbour(c, 0, 1)), v = now.find(neighbour(c, 0, -1));
              if (n == now.end() || s == now.end() || e == now.end() || v == now.end()) continue;
              next[c] = step(t, heat.at(c), n->second, s->second, e->second, v->second);
            }
            now = std::move(next);
          }
          for (auto const& a : of_op(accesses, Op::store)) {
            CHECK(a.buffer == to);
            temperature[a.element] = now.at(static_cast<std::int64_t>(a.element));
          }
        });
        CHECK(all_equal(touches(w, buffer(w, to), Op::store, width, 4, k, k + 1), 1));
      }
      CHECK(temperature == expected);
      CHECK(inside_buffers(w, width));
    }
}

TEST_CASE("hotspot: the grid is that of the first kernel; each tile reads its cells of both arrays") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const side : {24U, 72U}) {
      auto const text = std::to_string(side);
      auto const w = build("hotspot", {{"rows", text}, {"cols", text}, {"iterations", "3"}}, of_width(width));
      CHECK(w.footprint() == 3 * 4 * side * side);
      REQUIRE(w.kernel_count() == 2);
      auto const tiles = side / 12;
      for (std::size_t k = 0; k < 2; ++k) CHECK(w.kernel(k).shape().blocks == tiles * tiles);
      // Tiles have 16 cells per side, tiles at an edge two fewer there; they overlap by four cells.
      auto const read = side + 4 * (tiles - 1);
      CHECK(lanes_of(w, 0, width) == Lanes{2 * read * read, side * side, 4 * tiles * tiles * 256 / width});
      // The second kernel has one iteration: tiles of 14 cells without overlap, starting two cells outside
      // the chip.
      auto const last_read = side == 24 ? 14 + 12U : 14 + 4 * 16 + 4U;
      CHECK(lanes_of(w, 1, width) ==
            Lanes{2 * last_read * last_read, side * side, 2 * tiles * tiles * 256 / width});
    }
}

TEST_CASE(
    "hotspot: a tile of the last kernel begins by the pyramid's height, not by the remaining iterations") {
  auto const w = build("hotspot", {{"rows", "40"}, {"cols", "40"}, {"iterations", "3"}});
  each_block(w, 1, 32, [](std::uint64_t block, std::vector<Access> const& accesses) {
    std::uint64_t left = 40, right = 0;
    for (auto const& a : of_op(accesses, Op::load)) {
      left = std::min(left, a.element % 40);
      right = std::max(right, a.element % 40);
    }
    if (block == 0) CHECK(std::pair(left, right) == std::pair<std::uint64_t, std::uint64_t>{0, 13});
    if (block == 1) CHECK(std::pair(left, right) == std::pair<std::uint64_t, std::uint64_t>{12, 27});
    if (block == 3) CHECK(accesses.empty());
  });
}

TEST_CASE("hotspot: a pyramid that leaves nothing of a tile is rejected") {
  CHECK(error_of([] { build("hotspot", {{"pyramid_height", "8"}}); }) == "'8' is outside 1 to 7");
}

}  // namespace farfault::workloads::rodinia_test
