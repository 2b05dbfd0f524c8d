// SPDX-License-Identifier: Apache-2.0
// srad and backprop, executed on real values.
#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

#include "lane_accesses.hpp"

namespace farfault::workloads::srad_test {
using namespace test;
using namespace test::lanes;
namespace {

// A thread's loaded values in the order of its loads.
std::map<std::uint32_t, Values> loaded_by(std::vector<Access> const& accesses, Memory& memory) {
  std::map<std::uint32_t, Values> values;
  for (auto const& a : of_op(accesses, Op::load)) values[a.thread].push_back(memory.at(a));
  return values;
}

double coefficient(double pixel, double n, double s, double w, double e, double q0) {
  auto const gradient = (n * n + s * s + w * w + e * e) / (pixel * pixel);
  auto const laplacian = (n + s + w + e) / pixel;
  auto const q = (0.5 * gradient - laplacian * laplacian / 16) / std::pow(1 + 0.25 * laplacian, 2);
  return std::clamp(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0.0, 1.0);
}

double speckle(double sum, double squares, double count) {
  auto const mean = sum / count;
  return (squares / count - mean * mean) / (mean * mean);
}

}  // namespace

TEST_CASE(
    "srad: the kernels' loads, diffused thread by thread, give the diffused image at the stored addresses") {
  // Four blocks, a power of two: the second reduction has no remainder.
  constexpr std::uint64_t rows = 50, cols = 40, count = rows * cols;
  constexpr double lambda = 0.5;
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("srad", {{"rows", "50"}, {"cols", "40"}, {"iterations", "2"}}, of_width(width));
    Memory memory(w);
    Random random(11);
    for (auto& p : memory["image"]) p = static_cast<double>(random.below(256));
    for (std::uint64_t i = 0; i < rows; ++i) {
      memory["row_north"][i] = i == 0 ? 0 : static_cast<double>(i - 1);
      memory["row_south"][i] = static_cast<double>(std::min(i + 1, rows - 1));
    }
    for (std::uint64_t j = 0; j < cols; ++j) {
      memory["column_west"][j] = j == 0 ? 0 : static_cast<double>(j - 1);
      memory["column_east"][j] = static_cast<double>(std::min(j + 1, cols - 1));
    }

    auto expected = memory["image"];
    for (auto& p : expected) p = std::exp(p / 255);
    for (int i = 0; i < 2; ++i) {
      double sum = 0, squares = 0;
      for (auto const p : expected) {
        sum += p;
        squares += p * p;
      }
      auto const q0 = speckle(sum, squares, count);
      Values c(count), d[4];
      for (auto& v : d) v.resize(count);
      auto const at = [](std::uint64_t r, std::uint64_t k) { return k * rows + r; };
      for (std::uint64_t k = 0; k < cols; ++k)
        for (std::uint64_t r = 0; r < rows; ++r) {
          auto const p = expected[at(r, k)];
          d[0][at(r, k)] = expected[at(r == 0 ? 0 : r - 1, k)] - p;
          d[1][at(r, k)] = expected[at(std::min(r + 1, rows - 1), k)] - p;
          d[2][at(r, k)] = expected[at(r, k == 0 ? 0 : k - 1)] - p;
          d[3][at(r, k)] = expected[at(r, std::min(k + 1, cols - 1))] - p;
          c[at(r, k)] = coefficient(p, d[0][at(r, k)], d[1][at(r, k)], d[2][at(r, k)], d[3][at(r, k)], q0);
        }
      for (std::uint64_t k = 0; k < cols; ++k)
        for (std::uint64_t r = 0; r < rows; ++r) {
          auto const here = at(r, k);
          expected[here] += 0.25 * lambda *
                            (c[here] * d[0][here] + c[at(std::min(r + 1, rows - 1), k)] * d[1][here] +
                             c[here] * d[2][here] + c[at(r, std::min(k + 1, cols - 1))] * d[3][here]);
        }
    }
    for (auto& p : expected) p = std::log(p) * 255;

    double q0 = 0;
    for (std::size_t k = 0; k < w.kernel_count(); ++k) {
      auto const name = w.kernel(k).shape().name;
      CAPTURE(name);
      CHECK(barriers_agree(w, k, width));
      auto before = memory;
      each_block(w, k, width, [&](auto, std::vector<Access> const& accesses) {
        auto const values = loaded_by(accesses, before);
        auto const stores = of_op(accesses, Op::store);
        if (name == "reduce") {
          // The threads of the tree, the first power of two; the last of them loads the remainder.
          std::uint64_t tree = 1;
          while (2 * tree <= values.size()) tree *= 2;
          double sum = 0, squares = 0;
          for (auto const& [thread, v] : values)
            for (std::size_t i = 0; i < v.size(); i += 2)
              if (thread < tree) {
                sum += v[i];
                squares += v[i + 1];
              }
          REQUIRE(stores.size() == 2);
          memory.at(stores[0]) = sum;
          memory.at(stores[1]) = squares;
          CHECK(stores[0].buffer == "sums");
          CHECK(stores[1].buffer == "sums_of_squares");
          CHECK(stores[0].thread == tree - 1);
          return;
        }
        std::map<std::uint32_t, std::size_t> number;
        for (auto const& s : stores) {
          auto const i = number[s.thread]++;
          auto const& v = values.at(s.thread);
          auto& to = memory.at(s);
          if (name == "extract") to = std::exp(v.at(0) / 255);
          if (name == "compress") to = std::log(v.at(0)) * 255;
          if (name == "prepare") to = i == 0 ? v.at(0) : v.at(1) * v.at(1);
          if (name == "srad") {
            double const d[] = {v.at(5) - v[0], v.at(6) - v[0], v.at(7) - v[0], v.at(8) - v[0]};
            to = i < 4 ? d[i] : coefficient(v[0], d[0], d[1], d[2], d[3], q0);
          }
          if (name == "srad2")
            to = v.at(9) + 0.25 * lambda * (v[2] * v[5] + v[3] * v[6] + v[2] * v[7] + v[4] * v[8]);
        }
      });
      q0 = speckle(memory["sums"][0], memory["sums_of_squares"][0], count);
    }
    CHECK(near(memory["image"], expected));
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("srad: a neighbour's pixel is at the row or column that was loaded for it") {
  auto const w = build("srad", {{"rows", "7"}, {"cols", "5"}, {"iterations", "1"}});
  std::vector<std::string> names;
  for (std::size_t k = 0; k < w.kernel_count(); ++k) names.push_back(w.kernel(k).shape().name);
  REQUIRE(names == std::vector<std::string>{"extract", "prepare", "reduce", "srad", "srad2", "compress"});
  std::map<std::uint32_t, std::vector<Access>> srad, srad2;
  for (auto* const list : {&srad, &srad2})
    each_block(w, list == &srad ? 3 : 4, 32, [&](auto, std::vector<Access> const& accesses) {
      for (auto const& a : accesses) (*list)[a.thread].push_back(a);
    });
  REQUIRE(srad.size() == 35);
  for (std::uint32_t t = 0; t < 35; ++t) {
    std::uint64_t const row = t % 7, column = t / 7;
    auto const north = row == 0 ? 0 : row - 1, south = std::min<std::uint64_t>(row + 1, 6);
    auto const west = column == 0 ? 0 : column - 1, east = std::min<std::uint64_t>(column + 1, 4);
    using enum Op;
    CHECK(srad[t] == std::vector<Access>{{load, "image", t, t},
                                         {load, "row_north", row, t},
                                         {load, "row_south", row, t},
                                         {load, "column_west", column, t},
                                         {load, "column_east", column, t},
                                         {load, "image", north + 7 * column, t},
                                         {load, "image", south + 7 * column, t},
                                         {load, "image", row + 7 * west, t},
                                         {load, "image", row + 7 * east, t},
                                         {store, "derivative_north", t, t},
                                         {store, "derivative_south", t, t},
                                         {store, "derivative_west", t, t},
                                         {store, "derivative_east", t, t},
                                         {store, "coefficients", t, t}});
    CHECK(srad2[t] == std::vector<Access>{{load, "row_south", row, t},
                                          {load, "column_east", column, t},
                                          {load, "coefficients", t, t},
                                          {load, "coefficients", south + 7 * column, t},
                                          {load, "coefficients", row + 7 * east, t},
                                          {load, "derivative_north", t, t},
                                          {load, "derivative_south", t, t},
                                          {load, "derivative_west", t, t},
                                          {load, "derivative_east", t, t},
                                          {load, "image", t, t},
                                          {store, "image", t, t}});
  }
}

TEST_CASE(
    "srad: reductions continue until one sum is left; the rest of a block is read without the distance") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint32_t const blocks : {3U, 6U}) {
      auto const* const rows = blocks == 3 ? "512" : "1000";
      auto const w = build("srad", {{"rows", rows}, {"cols", "3"}, {"iterations", "1"}}, of_width(width));
      REQUIRE(w.kernel_count() == 7);
      auto const n = w.kernel(0).shape().blocks == 3 ? 1536U : 3000U;
      auto const rest_of_pixels = n % 512 == 0 ? 0U : 3000U % 512 - 256;
      CHECK(w.kernel(2).shape().blocks == blocks);
      CHECK(w.kernel(3).shape().blocks == 1);
      // 3 = 2 + 1 sums, or 6 = 4 + 2.
      auto const rest = blocks == 3 ? 1U : 2U;
      auto const warps = 512 / width;
      CHECK(lanes_of(w, 0, width) == Lanes{n, n, 0});
      CHECK(lanes_of(w, 1, width) == Lanes{2 * n, 2 * n, 0});
      // Nine halvings, eight in a last block of 440 elements.
      CHECK(lanes_of(w, 2, width) ==
            Lanes{2 * (n + rest_of_pixels), 2 * blocks, (9 * blocks - (rest_of_pixels != 0)) * warps});
      CHECK(lanes_of(w, 3, width) == Lanes{2 * (blocks + rest), 2, (blocks == 3 ? 1 : 2) * warps});
      CHECK(lanes_of(w, 4, width) == Lanes{9 * n, 5 * n, 0});
      CHECK(lanes_of(w, 5, width) == Lanes{10 * n, n, 0});
      each_block(w, 3, width, [&](auto, std::vector<Access> const& accesses) {
        auto const loads = of_op(accesses, Op::load);
        for (std::uint32_t i = 0; i < blocks; ++i) CHECK(loads[i].element == 512 * i);
        for (std::uint32_t i = 0; i < rest; ++i)
          CHECK(loads[2 * blocks + 2 * i] == Access{Op::load, "sums", blocks - rest + i, blocks - rest - 1});
      });
    }
}

TEST_CASE("srad: a sum is stored at its block's first pixel, where the next reduction reads it") {
  // 600 blocks, then 2, then 1.
  auto const w = build("srad", {{"rows", "512"}, {"cols", "600"}, {"iterations", "1"}});
  std::vector<std::uint64_t> stored, loaded;
  for (std::size_t const k : {3U, 4U})
    each_block(w, k, 32, [&](auto, std::vector<Access> const& accesses) {
      for (auto const& a : accesses)
        if (a.buffer == "sums" && (a.op == Op::store) == (k == 3))
          (k == 3 ? stored : loaded).push_back(a.element);
    });
  CHECK(stored == std::vector<std::uint64_t>{0, 512 * 512});
  CHECK(loaded == stored);
}

TEST_CASE("srad: warps without an adding thread do not access shared memory in a reduction") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("srad", {{"rows", "512"}, {"cols", "3"}, {"iterations", "1"}}, of_width(width));
    // With 16 warps, all add in five levels, then 8, 4, 2, 1; with 8 warps, all add in six.
    auto const adding = width == 32 ? 5 * 16 + 8 + 4 + 2 + 1 : 6 * 8 + 4 + 2 + 1U;
    CHECK(shared_of(w, 2, width) == 3 * (2 * 512 / width + 6 * adding + 2));
    // Three sums: two threads of the first warp, one level; the second thread adds the third sum.
    CHECK(shared_of(w, 3, width) == 2 + 6 + 4 + 2);
  }
}

TEST_CASE("srad: more pixels than the kernels can number are rejected") {
  CHECK(error_of([] {
          build("srad", {{"rows", "65536"}, {"cols", "65536"}});
        }) ==
        "srad: 65536 x 65536 pixels exceed 2147483136, the maximum that the kernels can index; lower rows or "
        "cols");
}

TEST_CASE("backprop: the kernels' loads give the hidden layer's sums and the updated weights") {
  constexpr std::uint64_t n = 64, hidden = 16, pitch = hidden + 1;
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("backprop", {{"inputs", "64"}}, of_width(width));
    REQUIRE(w.kernel_count() == 2);
    Memory memory(w);
    Random random(13);
    for (auto& [name, values] : memory.buffers)
      for (auto& v : values) v = static_cast<double>(random.below(64));
    memory["inputs"][0] = 1;
    auto const weights = memory["weights"], inputs = memory["inputs"], changes = memory["changes"],
               deltas = memory["deltas"];

    CHECK(barriers_agree(w, 0, width));
    each_block(w, 0, width, [&](std::uint64_t block, std::vector<Access> const& accesses) {
      // By rows of threads, the input that the row's first thread loads; the weight that each thread loads.
      std::map<std::uint32_t, double> input, weight;
      for (auto const& a : of_op(accesses, Op::load)) {
        if (a.buffer == "inputs") CHECK(a.thread % 16 == 0);
        (a.buffer == "inputs" ? input[a.thread / 16] : weight[a.thread]) = memory.at(a);
      }
      for (auto const& a : of_op(accesses, Op::store)) {
        if (a.buffer == "weights") {
          CHECK(a.element == (block * 16 + a.thread / 16 + 1) * pitch + a.thread % 16 + 1);
          continue;
        }
        CHECK(a.buffer == "partial_sums");
        double sum = 0;
        for (std::uint32_t y = 0; y < 16; ++y) sum += weight.at(y * 16 + a.thread / 16) * input.at(y);
        memory.at(a) = sum;
      }
    });
    for (std::uint64_t h = 0; h < hidden; ++h) {
      double expected = 0, sum = 0;
      for (std::uint64_t i = 1; i <= n; ++i) expected += weights[i * pitch + h + 1] * inputs[i];
      for (std::uint64_t b = 0; b < n / 16; ++b) sum += memory["partial_sums"][b * hidden + h];
      CHECK(sum == expected);
    }
    CHECK(all_equal(touches(w, buffer(w, "partial_sums"), Op::store, width, 4), 1));

    CHECK(barriers_agree(w, 1, width));
    auto before = memory;
    each_block(w, 1, width, [&](auto, std::vector<Access> const& accesses) {
      std::map<std::uint32_t, std::map<std::string_view, Access>> last;  // loads per thread, by buffer
      for (auto const& a : accesses) {
        if (a.op == Op::load) {
          last[a.thread][a.buffer] = a;
          continue;
        }
        auto& l = last.at(a.thread);
        CHECK(l.at(a.buffer).element == a.element);
        auto const row = a.element / pitch;
        auto const input = row == 0 ? 1.0 : before.at(l.at("inputs"));
        auto const change = 0.3 * before.at(l.at("deltas")) * input + 0.3 * before.at(l.at("changes"));
        memory.at(a) = change + (a.buffer == "weights" ? before.at(l.at("weights")) : 0);
      }
    });
    auto expected_weights = weights, expected_changes = changes;
    for (std::uint64_t i = 0; i <= n; ++i)
      for (std::uint64_t h = 1; h <= hidden; ++h) {
        auto const change = 0.3 * deltas[h] * inputs[i] + 0.3 * changes[i * pitch + h];
        expected_changes[i * pitch + h] = change;
        expected_weights[i * pitch + h] += change;
      }
    CHECK(near(memory["weights"], expected_weights));
    CHECK(near(memory["changes"], expected_changes));
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("backprop: 16 inputs per block; a thread reads a weight once forward and once for its update") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const blocks : {1U, 6U}) {
      auto const w = build("backprop", {{"inputs", std::to_string(16 * blocks)}}, of_width(width));
      CHECK(w.footprint() == 4 * (2 * (16 * blocks + 1) * 17 + 16 * blocks + 1 + 16 * blocks + 17));
      for (std::size_t k = 0; k < 2; ++k) {
        CHECK(w.kernel(k).shape().blocks == blocks);
        CHECK(w.kernel(k).shape().threads_per_block == 256);
      }
      auto const warps = blocks * 256 / width;
      CHECK(lanes_of(w, 0, width) == Lanes{(16 + 256) * blocks, (256 + 16) * blocks, 8 * warps});
      CHECK(lanes_of(w, 1, width) == Lanes{7 * 256 * blocks + 5 * 16, 2 * 256 * blocks + 2 * 16, warps});
    }
}

TEST_CASE("backprop: warps without an adding row do not access shared memory when sums are halved") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("backprop", {{"inputs", "16"}}, of_width(width));
    // With two rows per warp, 8, 4, 2 and 1 warps hold a multiple of 2, 4, 8 and 16; with four rows 4, 4, 2
    // and 1.
    auto const adding = width == 32 ? 8 + 4 + 2 + 1 : 4 + 4 + 2 + 1U;
    CHECK(shared_of(w, 0, width) == 7 * 256 / width + 3 * adding);
  }
}

TEST_CASE("backprop: inputs that are not a multiple of the block are rejected") {
  CHECK(error_of([] { build("backprop", {{"inputs", "100"}}); }) == "inputs = 100 must be a multiple of 16");
}

}  // namespace farfault::workloads::srad_test
