// The workloads of Rodinia, and those of the same papers that count and update: what they compute, found by
// playing their loads and stores on real values, and how many accesses, blocks and kernels they have.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <queue>

#include "../../workloads/src/gups_sequence.hpp"
#include "../../workloads/src/histogram_pixels.hpp"
#include "../../workloads/src/random.hpp"
#include "farfault/workloads/graph.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads {
using namespace test;
namespace {

// One lane's part of an access.
struct Access {
  Op op = Op::end;
  std::string_view buffer;  // of the workload, or a literal
  std::uint64_t element = 0;
  std::uint32_t thread = 0;  // in its block
  bool operator==(Access const&) const = default;
};

std::ostream& operator<<(std::ostream& out, Access const& a) {
  return out << (a.op == Op::load ? "load " : "store ") << a.buffer << '[' << a.element << "] by "
             << a.thread;
}

BuildContext of_width(std::uint32_t width, std::uint64_t seed = 1) {
  BuildContext context;
  context.warp_width = width;
  context.seed = seed;
  return context;
}

// Calls use(block, accesses) for each block of a kernel, warp by warp; elements are of the access's size.
template <class Use>
void each_block(Workload const& w, std::size_t kernel, std::uint32_t width, Use use) {
  auto const& k = w.kernel(kernel);
  std::vector<std::vector<Access>> blocks(k.shape().blocks);
  bool aligned = true;
  walk(k, width, [&](std::uint64_t block, std::uint32_t warp, auto, WarpInstruction const& in) {
    if (in.op != Op::load && in.op != Op::store) return;
    each_lane(in, [&](std::uint32_t lane, VirtAddr a) {
      for (auto const& b : w.buffers())
        if (a >= b.base && a + in.bytes_per_lane <= b.base + b.bytes) {
          aligned = aligned && (a - b.base) % in.bytes_per_lane == 0;
          blocks[block].push_back({in.op, b.name, (a - b.base) / in.bytes_per_lane, warp * width + lane});
          return;
        }
      FAIL("an address outside all buffers");
    });
  });
  CHECK(aligned);
  for (std::uint64_t block = 0; block < blocks.size(); ++block) use(block, blocks[block]);
}

using Values = std::vector<double>;

// What lies behind the buffers.
struct Memory {
  std::map<std::string, Values> buffers;

  explicit Memory(Workload const& w) {
    for (auto const& b : w.buffers()) buffers[b.name].assign(b.bytes / 4, -1e9);
  }
  double& at(Access const& a) { return buffers.at(std::string(a.buffer)).at(a.element); }
  Values& operator[](std::string const& name) { return buffers.at(name); }
};

struct Lanes {
  std::uint64_t loads = 0, stores = 0, barriers = 0;
  bool operator==(Lanes const&) const = default;
};

std::ostream& operator<<(std::ostream& out, Lanes const& l) {
  return out << l.loads << " loads, " << l.stores << " stores, " << l.barriers << " barriers";
}

// Of all lanes of a kernel; barriers once for each warp.
Lanes lanes_of(Workload const& w, std::size_t kernel, std::uint32_t width) {
  Lanes sum;
  walk(w.kernel(kernel), width, [&](auto, auto, auto, WarpInstruction const& in) {
    if (in.op == Op::barrier) ++sum.barriers;
    if (in.op == Op::load) sum.loads += static_cast<std::uint64_t>(std::popcount(in.lanes));
    if (in.op == Op::store) sum.stores += static_cast<std::uint64_t>(std::popcount(in.lanes));
  });
  return sum;
}

// Accesses to shared memory of all warps of a kernel.
std::uint64_t shared_of(Workload const& w, std::size_t kernel, std::uint32_t width) {
  std::uint64_t sum = 0;
  walk(w.kernel(kernel), width, [&](auto, auto, auto, WarpInstruction const& in) {
    if (in.op == Op::compute) sum += in.work.shared;
  });
  return sum;
}

std::vector<Access> of_op(std::vector<Access> const& all, Op op) {
  std::vector<Access> list;
  for (auto const& a : all)
    if (a.op == op) list.push_back(a);
  return list;
}

// Every warp of a block reaches as many barriers as the others.
bool barriers_agree(Workload const& w, std::size_t kernel, std::uint32_t width) {
  std::map<std::uint64_t, std::map<std::uint32_t, int>> reached;
  auto const& k = w.kernel(kernel);
  walk(k, width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
    reached[block][warp] += in.op == Op::barrier;
  });
  for (auto const& [block, warps] : reached) {
    if (warps.size() != warps_of(k, width)) return false;
    for (auto const& [warp, count] : warps)
      if (count != warps.begin()->second) return false;
  }
  return true;
}

using Cells = std::map<std::pair<std::uint64_t, std::uint64_t>, double>;  // by row and column

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b));
}

bool near(Values const& a, Values const& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return near(x, y); });
}

}  // namespace

TEST_CASE(
    "lud: what the kernels load, factorised tile by tile, is the LU decomposition where they store it") {
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

TEST_CASE("lud: shared memory is accessed twice for a product, and for each element that comes and goes") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("lud", {{"side", "32"}}, of_width(width));
    // 16 elements of a column come and 15 go; 15 times a column and a row, of 0 and 1 products upwards.
    CHECK(shared_of(w, 0, width) == 16 + 15 + 15 * 14 / 2 * 4 + 15 * (3 + 4));
    // 120 products for each tile, and 16 pivots for the lower one.
    CHECK(shared_of(w, 1, width) == 2 * 24 + 2 * (2 * 120 + 2) + 16 + 15 + 16);
    CHECK(shared_of(w, 2, width) == (2 + 32) * 256 / width);
  }
}

TEST_CASE("lud: a side that is no multiple of the tile is refused") {
  CHECK(error_of([] {
          build("lud", {{"side", "40"}});
        }) == "lud: side 40 is not a multiple of the tile's 16 elements");
}

TEST_CASE("nw: what blocks load, aligned tile by tile, is the matrix of alignments where they store it") {
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
    // The scores of the first row and column belong to no cell.
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
    "nw: both kernels access shared memory 190 times: what comes and goes, and five for each of 31 steps") {
  auto const w = build("nw", {{"length", "48"}});
  CHECK(shared_of(w, 0, 32) == 17 + 1 + 1 + 31 * 5 + 16);
  CHECK(shared_of(w, 4, 64) == 16 + 2 + 1 + 31 * 5 + 16);
}

TEST_CASE("nw: a length that is no multiple of the tile is refused") {
  CHECK(error_of([] {
          build("nw", {{"length", "100"}});
        }) == "nw: length 100 is not a multiple of the tile's 16 elements");
}

TEST_CASE("hotspot: tiles that iterate on what they loaded give the temperatures of the whole chip") {
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
        // A barrier behind the loads, two in each iteration but one in the last.
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
      // Of 16 cells a side, tiles at an edge have two fewer there; they overlap by four.
      auto const read = side + 4 * (tiles - 1);
      CHECK(lanes_of(w, 0, width) == Lanes{2 * read * read, side * side, 4 * tiles * tiles * 256 / width});
      // The second has one iteration: tiles of 14 cells of their own, from two outside of the chip on.
      auto const last_read = side == 24 ? 14 + 12U : 14 + 4 * 16 + 4U;
      CHECK(lanes_of(w, 1, width) ==
            Lanes{2 * last_read * last_read, side * side, 2 * tiles * tiles * 256 / width});
    }
}

TEST_CASE(
    "hotspot: a tile of the last kernel begins where the pyramid's height says, not the iterations left") {
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

TEST_CASE("hotspot: a pyramid that leaves nothing of a tile is refused") {
  CHECK(error_of([] { build("hotspot", {{"pyramid_height", "8"}}); }) == "'8' is outside 1 to 7");
}

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
    "srad: what the kernels load, diffused thread by thread, is the diffused image where they store it") {
  // Four blocks, a power of two: the second reduction has no rest.
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
          // The tree's threads, the first power of two; the last of them loads what is left.
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

TEST_CASE("srad: reductions go on until one sum is left; the rest of a block is read without the distance") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const& [rows, blocks] : {std::pair{"512", 3U}, {"1000", 6U}}) {
      auto const w = build("srad", {{"rows", rows}, {"cols", "3"}, {"iterations", "1"}}, of_width(width));
      REQUIRE(w.kernel_count() == 7);
      auto const n = w.kernel(0).shape().blocks == 3 ? 1536U : 3000U;
      auto const rest_of_pixels = n % 512 == 0 ? 0 : 3000 % 512 - 256;
      CHECK(w.kernel(2).shape().blocks == blocks);
      CHECK(w.kernel(3).shape().blocks == 1);
      // 3 = 2 + 1 sums, or 6 = 4 + 2.
      auto const rest = blocks == 3 ? 1U : 2U;
      auto const warps = 512 / width;
      CHECK(lanes_of(w, 0, width) == Lanes{n, n, 0});
      CHECK(lanes_of(w, 1, width) == Lanes{2 * n, 2 * n, 0});
      // Nine halvings, eight in a last block of 440.
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

TEST_CASE(
    "srad: a sum lies where its block's first pixel has its own, and the next reduction reads it there") {
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

TEST_CASE("srad: warps without a thread that adds do not access shared memory in a reduction") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("srad", {{"rows", "512"}, {"cols", "3"}, {"iterations", "1"}}, of_width(width));
    // Of 16 warps all add in five levels, then 8, 4, 2, 1; of 8 warps all in six.
    auto const adding = width == 32 ? 5 * 16 + 8 + 4 + 2 + 1 : 6 * 8 + 4 + 2 + 1U;
    CHECK(shared_of(w, 2, width) == 3 * (2 * 512 / width + 6 * adding + 2));
    // Three sums: two threads of the first warp, once; the second adds the third.
    CHECK(shared_of(w, 3, width) == 2 + 6 + 4 + 2);
  }
}

TEST_CASE("srad: more pixels than the kernels can number are refused") {
  CHECK(error_of([] {
          build("srad", {{"rows", "65536"}, {"cols", "65536"}});
        }) == "srad: 65536 x 65536 pixels are more than the 2147483136 that the kernels can number");
}

TEST_CASE("backprop: what the kernels load gives the hidden layer's sums and the moved weights") {
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
      // By rows of threads, the input that its first thread loads; the weight that each thread loads.
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
      std::map<std::uint32_t, std::map<std::string_view, Access>> last;  // loads of each thread, by buffer
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

TEST_CASE("backprop: 16 inputs a block; a thread reads a weight once forward and once when it moves") {
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

TEST_CASE("backprop: warps without a row that adds do not access shared memory when sums are halved") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("backprop", {{"inputs", "16"}}, of_width(width));
    // Of warps of two rows each 8, 4, 2 and 1 hold a multiple of 2, 4, 8 and 16; of four rows 4, 4, 2 and 1.
    auto const adding = width == 32 ? 8 + 4 + 2 + 1 : 4 + 4 + 2 + 1U;
    CHECK(shared_of(w, 0, width) == 7 * 256 / width + 3 * adding);
  }
}

TEST_CASE("backprop: inputs that are no multiple of the block are refused") {
  CHECK(error_of([] {
          build("backprop", {{"inputs", "100"}});
        }) == "backprop: inputs 100 are not a multiple of the block's 16");
}

TEST_CASE("gups: the updates of all threads are those of the sequential benchmark, each once") {
  constexpr std::uint64_t kElements = 512, kBlocks = 3, kBlock = 80, kUpdates = 70;
  std::vector<std::uint64_t> expected(kElements), numbers{1};
  for (std::uint64_t i = 0; i < kElements; ++i) expected[i] = i;
  for (std::uint64_t i = 0; i < kBlocks * kBlock * kUpdates; ++i) {
    auto const last = numbers.back();
    numbers.push_back(last << 1 ^ (static_cast<std::int64_t>(last) < 0 ? 7U : 0U));
    expected[numbers.back() % kElements] ^= numbers.back();
  }
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("gups", {{"table", "4 KiB"}, {"blocks", "3"}, {"block", "80"}, {"updates", "70"}},
                         of_width(width));
    std::vector<std::uint32_t> table(2 * kElements);  // halves, the lower first
    for (std::uint64_t i = 0; i < kElements; ++i) table[2 * i] = static_cast<std::uint32_t>(i);
    each_block(w, 0, width, [&](std::uint64_t block, std::vector<Access> const& accesses) {
      std::map<std::uint32_t, std::uint64_t> made;  // by thread, in halves
      for (auto const& a : accesses) {
        auto const thread = block * kBlock + a.thread;
        if (a.op == Op::load) {
          CHECK(a.buffer == "starts");
          CHECK(a.element == thread);
          continue;
        }
        CHECK(a.buffer == "table");
        auto const half = made[a.thread]++;
        auto const number = numbers.at(thread * kUpdates + half / 2 + 1);
        CHECK(a.element % 2 == half % 2);
        table.at(a.element) ^= static_cast<std::uint32_t>(a.element % 2 == 0 ? number : number >> 32);
      }
    });
    for (std::uint64_t i = 0; i < kElements; ++i)
      CHECK((table[2 * i] | std::uint64_t{table[2 * i + 1]} << 32) == expected[i]);
  }
}

TEST_CASE("gups: a number many steps on is that of as many single steps") {
  std::uint64_t number = 0x9234'5678'9abc'def0;
  auto const first = number;
  for (std::uint64_t steps = 0; steps <= 200; ++steps) {
    CHECK(gups_number(first, steps) == number);
    number = number << 1 ^ (number >> 63 != 0 ? 7U : 0U);
  }
}

TEST_CASE("gups: each thread reads its start once and writes two halves for each update") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const blocks : {1U, 5U}) {
      auto const w = build("gups", {{"blocks", std::to_string(blocks)}}, of_width(width));
      CHECK(w.footprint() == (4ULL << 20) + 8 * 128 * blocks);
      CHECK(w.kernel_count() == 1);
      CHECK(w.kernel(0).shape().blocks == blocks);
      CHECK(lanes_of(w, 0, width) == Lanes{128 * blocks, 2 * 32 * 128 * blocks, 0});
    }
}

TEST_CASE("gups: a table that is no power of two is refused") {
  CHECK(error_of([] { build("gups", {{"table", "3 MiB"}}); }) == "gups: table 3 MiB is not a power of two");
}

TEST_CASE(
    "bfs_rodinia: threads that follow the masks make these accesses, and find the levels of the graph") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("bfs_rodinia", {{"rmat.scale", "8"}, {"rmat.edge_factor", "2"}, {"block", "128"}},
                         of_width(width, 3));
    RmatOptions options;
    options.scale = 8;
    options.edge_factor = 2;
    options.a = options.b = options.c = 0.25;
    options.seed = 3;
    auto const graph = undirected(generate_rmat(options));
    std::uint64_t source = 0;
    while (graph.offsets[source] == graph.offsets[source + 1]) ++source;

    std::vector<int> level(graph.vertices, -1);
    std::queue<std::uint64_t> queue;
    level[source] = 0;
    for (queue.push(source); !queue.empty(); queue.pop()) {
      auto const v = queue.front();
      for (auto e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
        if (auto& l = level[graph.targets[e]]; l < 0) {
          l = level[v] + 1;
          queue.push(graph.targets[e]);
        }
    }

    std::vector<int> cost(graph.vertices, -1);
    std::vector<bool> mask(graph.vertices), updating = mask, visited = mask;
    cost[source] = 0;
    mask[source] = visited[source] = true;
    bool over = true;
    for (std::size_t k = 0; k < w.kernel_count(); ++k) {
      if (k % 2 == 0) {
        CHECK(over);  // the last level asked for this one
        over = false;
      }
      each_block(w, k, width, [&](std::uint64_t block, std::vector<Access> const& accesses) {
        std::map<std::uint32_t, std::vector<Access>> made;
        for (auto const& a : accesses) made[a.thread].push_back(a);
        for (std::uint32_t t = 0; t < 128; ++t) {
          auto const v = block * 128 + t;
          std::vector<Access> expected;
          auto const add = [&](Op op, std::string_view name, std::uint64_t element) {
            expected.push_back({op, name, element, t});
          };
          add(Op::load, k % 2 == 0 ? "mask" : "updating", v);
          if (k % 2 == 0 && mask[v]) {
            mask[v] = false;
            add(Op::store, "mask", v);
            add(Op::load, "nodes", 2 * v + 1);
            add(Op::load, "nodes", 2 * v);
            for (auto e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
              std::uint64_t const target = graph.targets[e];
              add(Op::load, "edges", e);
              add(Op::load, "visited", target);
              if (!visited[target]) {
                add(Op::load, "cost", v);
                add(Op::store, "cost", target);
                add(Op::store, "updating", target);
                cost[target] = cost[v] + 1;
                updating[target] = true;
                add(Op::load, "nodes", 2 * v + 1);
                add(Op::load, "nodes", 2 * v);
              }
            }
          }
          if (k % 2 == 1 && updating[v]) {
            add(Op::store, "mask", v);
            add(Op::store, "visited", v);
            add(Op::store, "over", 0);
            add(Op::store, "updating", v);
            mask[v] = visited[v] = over = true;
            updating[v] = false;
          }
          CHECK(made[t] == expected);
        }
      });
    }
    CHECK_FALSE(over);
    CHECK(cost == level);
    CHECK(*std::max_element(level.begin(), level.end()) > 3);
  }
}

TEST_CASE("bfs_rodinia: two kernels per level; a small graph is one block") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const* scale : {"8", "10"}) {
      auto const w = build("bfs_rodinia", {{"rmat.scale", scale}}, of_width(width));
      auto const n = buffer(w, "mask").bytes;
      auto const edges = buffer(w, "edges").bytes / 4;
      CHECK(w.footprint() == (8 + 1 + 1 + 1 + 4) * n + 4 * edges + 1);
      CHECK(w.kernel_count() % 2 == 0);
      CHECK(w.kernel(0).shape().blocks == (n == 256 ? 1 : 2));
      CHECK(w.kernel(0).shape().threads_per_block == (n == 256 ? 256 : 512));
      std::uint64_t visited = 0, found = 0;
      for (std::size_t k = 0; k < w.kernel_count(); ++k) {
        auto const lanes = lanes_of(w, k, width);
        if (k % 2 == 0) continue;
        CHECK(lanes.loads == n);
        CHECK(lanes.stores % 4 == 0);
        found += lanes.stores / 4;
      }
      visited = 1 + found;  // the source, too
      CHECK(visited > n * 9 / 10);
      CHECK(visited <= n);
    }
}

TEST_CASE("bfs_rodinia: a block that is no whole number of warps is refused") {
  CHECK(error_of([] {
          build("bfs_rodinia", {{"block", "100"}});
        }) == "bfs_rodinia: block 100 is not a multiple of the warp's 32 threads");
}

TEST_CASE("histogram256: each word is read once; partial histograms are written and merged once") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const words : {1000U, 20'000U}) {
      auto const w = build("histogram256", {{"words", std::to_string(words)}, {"partial_histograms", "20"}},
                           of_width(width));
      REQUIRE(w.kernel_count() == 2);
      CHECK(w.footprint() == 4 * words + 4 * 256 * 20 + 4 * 256);
      CHECK(w.kernel(0).shape().blocks == 20);
      CHECK(w.kernel(1).shape().blocks == 256);
      CHECK(all_equal(touches(w, buffer(w, "data"), Op::load, width, 4), 1));
      auto const& partial = buffer(w, "partial_histograms");
      CHECK(all_equal(touches(w, partial, Op::store, width, 4), 1));
      CHECK(all_equal(touches(w, partial, Op::load, width, 4), 1));
      CHECK(all_equal(touches(w, buffer(w, "histogram"), Op::store, width, 4), 1));
      CHECK(lanes_of(w, 0, width) == Lanes{words, 256 * 20, 2 * 20 * 192 / width});
      CHECK(lanes_of(w, 1, width) == Lanes{256 * 20, 256, 8 * 256 * 256 / width});
      CHECK(inside_buffers(w, width));
      for (std::size_t k = 0; k < 2; ++k) CHECK(barriers_agree(w, k, width));
    }
}

TEST_CASE("histogram256: partial histograms of what blocks read, merged as they are, count all bytes") {
  constexpr std::uint64_t kWords = 5000;
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("histogram256", {{"words", "5000"}, {"partial_histograms", "300"}}, of_width(width));
    std::vector<std::uint32_t> data(kWords);
    for (std::uint64_t i = 0; i < kWords; ++i) data[i] = static_cast<std::uint32_t>(Random::at(1, i).next());
    std::vector<std::uint64_t> expected(256), partial(256 * 300), merged(256);
    auto const count = [](std::vector<std::uint64_t>& bins, std::uint32_t word) {
      for (int shift = 0; shift < 32; shift += 8) ++bins[word >> shift & 0xff];
    };
    for (auto const word : data) count(expected, word);
    each_block(w, 0, width, [&](auto, std::vector<Access> const& accesses) {
      std::vector<std::uint64_t> bins(256);
      for (auto const& a : of_op(accesses, Op::load)) count(bins, data[a.element]);
      for (auto const& a : of_op(accesses, Op::store)) {
        CHECK(a.thread % 192 == a.element % 256 % 192);
        partial[a.element] = bins[a.element % 256];
      }
    });
    each_block(w, 1, width, [&](auto, std::vector<Access> const& accesses) {
      std::uint64_t sum = 0;
      for (auto const& a : of_op(accesses, Op::load)) sum += partial[a.element];
      for (auto const& a : of_op(accesses, Op::store)) {
        CHECK(a.thread == 0);
        merged[a.element] = sum;
      }
    });
    CHECK(merged == expected);
  }
}

TEST_CASE("histogram256: warps without a thread that adds do not access shared memory when sums are halved") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("histogram256", {{"words", "100"}, {"partial_histograms", "1"}}, of_width(width));
    // Eight halvings by 128 threads at first.
    auto const adding = width == 32 ? 4 + 2 + 1 + 5 : 2 + 1 + 6U;
    CHECK(shared_of(w, 1, width) == 256 * (256 / width + 3 * adding + 1));
  }
}

TEST_CASE("histogram256: threads that count the same byte try in turn") {
  auto const w = build("histogram256", {{"words", "32"}, {"partial_histograms", "1"}});
  std::uint32_t tries = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    std::map<std::uint64_t, std::uint32_t> bins;
    std::uint32_t most = 0;
    for (std::uint64_t i = 0; i < 32; ++i)
      most = std::max(most, ++bins[Random::at(1, i).next() >> shift & 0xff]);
    tries += most;
  }
  CHECK(tries > 4);
  WarpInstruction in;
  w.kernel(0).instruction(0, 0, 4, in);
  CHECK(in.op == Op::compute);
  CHECK(in.wait_loads);
  CHECK(in.work.shared == 3 * tries);
}

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
    return {std::stoull(rows),
            std::stoull(cols),
            std::stoull(bins),
            std::stoull(spread),
            static_cast<std::uint64_t>(std::stod(scattered) * 4294967296.0),
            1};
  }
};

// Many pixels for each bin, so that bytes overflow; one pixel per sampling thread, two ranges and pixels
// outside; an image too small for the prescan, so that the first range is the only one.
std::vector<HistogramCase> const kHistograms{{"64", "72", "24576", "1", "0.1"},
                                             {"512", "512", "98304", "3000", "0.02"},
                                             {"128", "20", "65536", "3000", "0.5"}};

// Blocks of `main` by range, from the stores of their counters.
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

TEST_CASE("histogram: what the kernels load and store counts every pixel, up to 255 of a bin") {
  for (auto const& c : kHistograms)
    for (std::uint32_t const width : {32U, 64U}) {
      if (c.cols == "512" && width == 32) continue;  // the largest, which takes half of the time
      CAPTURE(c.cols);
      auto const w = c.build(width);
      REQUIRE(w.kernel_count() == 4);
      auto const input = c.input();
      auto const bins = input.bins;
      auto const ranges = ranges_of(w, bins);
      auto const first_bin = ranges.begin()->first * 24576, end_bin = (ranges.rbegin()->first + 1) * 24576;

      // A pixel's bin as it is rewritten: each thread stores what it loaded, two pixels in turn.
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
          if (pixel >= input.pixels()) continue;  // the last block's rows below the image
          twice += mapped.at(a.element) != ~std::uint64_t{0};
          mapped.at(a.element) = input.bin_of(pixel);
        }
      });

      CHECK(twice == 0);

      // Counters in shared memory, word by word, and those in global memory, by what threads do in turn.
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

      // Four bins at a time: the sums of what a thread loads since it stored last.
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
            // Overflow may be below zero, in 32 bits.
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

TEST_CASE(
    "histogram: the ranges are those of ten deviations around the mean, or the first of a small image") {
  auto const small = kHistograms[2].build(32);
  CHECK(ranges_of(small, 65'536) == std::map<std::uint64_t, int>{{0, 14}});
  // Three pixels for each sampling thread.
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

TEST_CASE("histogram: a byte that wraps carries into those above it, and an atomic puts each of them right") {
  // Counts one part's pixels, of the bins and so often, and says what the last one does.
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
  // The published code's mistake: bin 1 takes the carry, and bin 3 is put right all the same.
  CHECK(last({{1, 254}, {2, 255}, {0, 256}}) == 0b1011);
  CHECK(last({{2, 255}, {1, 256}}) == 0b0111);
  CHECK(last({{3, 255}, {2, 256}}) == 0b0011);
  CHECK(last({{3, 256}}) == 0b0001);
  // Of no range: counted elsewhere, up to 255.
  CHECK(last({{30'000, 255}}) == (HistogramPixels::kOutside | HistogramPixels::kAdds));
  CHECK(last({{30'000, 256}}) == HistogramPixels::kOutside);
}

TEST_CASE("histogram: pixels have the deviation asked for around the middle bin") {
  HistogramInput input{100, 100, 65'536, 2000, 0, 1};
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

TEST_CASE("histogram: an odd number of columns, or bins that are no multiple of 4, are refused") {
  CHECK(error_of([] { build("histogram", {{"cols", "1921"}}); }) == "histogram: 1921 cols are an odd number");
  CHECK(error_of([] {
          build("histogram", {{"bins", "30001"}});
        }) == "histogram: bins 30001 are not a multiple of 4");
}

}  // namespace farfault::workloads
