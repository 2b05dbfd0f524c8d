// Workloads on grids, frames, images and points: what each block reads is enough for what it writes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <set>

#include "../../workloads/src/qt_clustering.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads {
using namespace test;
namespace {

BuildContext of_width(std::uint32_t width) {
  BuildContext context;
  context.warp_width = width;
  return context;
}

// Runs each block as a machine does that never switches warps but at barriers: each warp up to its next
// barrier or its end, then the next warp. `visit` is given the number of barriers that the warp has passed.
template <class Visit>
void run_blocks(Kernel const& kernel, std::uint32_t width, Visit visit) {
  WarpInstruction in;
  for (std::uint64_t block = 0; block < kernel.shape().blocks; ++block) {
    std::vector<std::uint64_t> step(warps_of(kernel, width));
    std::vector<bool> ended(step.size());
    for (std::size_t phase = 0; std::ranges::count(ended, true) < std::ssize(ended); ++phase)
      for (std::uint32_t warp = 0; warp < step.size(); ++warp)
        while (!ended[warp]) {
          kernel.instruction(block, warp, step[warp]++, in);
          if (in.op == Op::end) ended[warp] = true;
          if (in.op == Op::end || in.op == Op::barrier) break;
          visit(block, warp, phase, in);
        }
  }
}

// Instructions of each kind that all warps of a kernel execute.
struct Counts {
  std::uint64_t loads = 0, stores = 0, scalar_loads = 0, barriers = 0, loaded = 0, stored = 0;
};

Counts counts_of(Kernel const& kernel, std::uint32_t width) {
  Counts c;
  walk(kernel, width, [&](auto, auto, auto, WarpInstruction const& in) {
    auto const lanes = static_cast<std::uint64_t>(std::popcount(in.lanes));
    if (in.op == Op::load) ++c.loads, c.loaded += lanes;
    if (in.op == Op::store) ++c.stores, c.stored += lanes;
    if (in.op == Op::scalar_load) ++c.scalar_loads;
    if (in.op == Op::barrier) ++c.barriers;
  });
  return c;
}

// Small whole numbers, so that every order of sums gives the same.
int value(std::uint64_t i) {
  return static_cast<int>(i * 7 % 13) - 6;
}

bool within(Buffer const& b, VirtAddr a) {
  return a >= b.base && a < b.base + b.bytes;
}

}  // namespace

TEST_CASE("sgemm_parboil: each thread's sums over what it and its block have read are its row of A x B") {
  for (std::uint32_t const width : {32U, 64U}) {
    constexpr std::uint64_t m = 256, n = 48, k = 24;
    auto const w = build("sgemm_parboil", {{"m", "256"}, {"n", "48"}, {"k", "24"}}, of_width(width));
    auto const &a = buffer(w, "a"), &b = buffer(w, "b_transposed"), &c = buffer(w, "c");
    std::vector<int> product(m * n, 12345);
    std::vector<std::array<int, 16>> sum;
    std::array<int, 128> rows{};  // eight of B, in shared memory
    std::vector<std::uint64_t> reads, stores;
    run_blocks(w.kernel(0), width, [&](auto, auto warp, auto phase, WarpInstruction const& in) {
      if (phase == 0 && in.op == Op::scalar_load && warp == 0) {
        sum.assign(128, {});
        reads.assign(128, 0);
        stores.assign(128, 0);
      }
      if (in.op != Op::load && in.op != Op::store) return;
      each_lane(in, [&](auto lane, VirtAddr at) {
        auto const thread = warp * width + lane;
        if (within(b, at)) rows[thread] = value((at - b.base) / 4 + 1);
        if (within(a, at))
          for (std::size_t i = 0, row = reads[thread]++ % 8; i < 16; ++i)
            sum[thread][i] += value((at - a.base) / 4) * rows[16 * row + i];
        if (in.op == Op::store) product[(at - c.base) / 4] = sum[thread][stores[thread]++];
      });
    });
    std::vector<int> expected(m * n);
    for (std::uint64_t y = 0; y < m; ++y)
      for (std::uint64_t x = 0; x < n; ++x)
        for (std::uint64_t i = 0; i < k; ++i) expected[y + x * m] += value(y + i * m) * value(x + i * n + 1);
    CHECK(product == expected);
    CHECK(all_equal(touches(w, a, Op::load, width, 4), n / 16));
    CHECK(all_equal(touches(w, b, Op::load, width, 4), m / 128));
    CHECK(all_equal(touches(w, c, Op::load, width, 4), 1));
    CHECK(all_equal(touches(w, c, Op::store, width, 4), 1));
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE(
    "sgemm_parboil: blocks and accesses follow from the sizes; two elements of A are under way at a time") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const k : {16U, 40U}) {
      auto const w =
          build("sgemm_parboil", {{"m", "128"}, {"n", "32"}, {"k", k == 16 ? "16" : "40"}}, of_width(width));
      CHECK(w.kernel(0).shape().blocks == 2);
      CHECK(w.footprint() == 4 * (128 * k + k * 32 + 128 * 32));
      auto const warps = 2 * 128 / width;
      auto const counts = counts_of(w.kernel(0), width);
      CHECK(counts.loads == warps * (k / 8 * 9 + 16));
      CHECK(counts.stores == warps * 16);
      CHECK(counts.barriers == warps * (k / 8 * 2));
    }
  std::vector<Op> ops;
  std::vector<std::uint64_t> waits;
  walk(build("sgemm_parboil", {{"m", "128"}, {"n", "16"}, {"k", "8"}}).kernel(0), 32,
       [&](auto, auto warp, auto step, WarpInstruction const& in) {
         if (warp != 0 || step >= 21) return;
         ops.push_back(in.op);
         if (in.wait_loads) waits.push_back(step);
       });
  using enum Op;
  CHECK(ops == std::vector<Op>{scalar_load, compute, load,    compute, barrier, load, load,
                               compute,     load,    load,    compute, load,    load, compute,
                               load,        load,    compute, barrier, compute, load, compute});
  CHECK(waits == std::vector<std::uint64_t>{1, 3, 7, 10, 13, 16, 20});
}

TEST_CASE("sgemm_parboil: a side that is no multiple of the tile is refused") {
  CHECK(error_of([] {
          build("sgemm_parboil", {{"m", "192"}});
        }) == "sgemm_parboil: m 192 is not a multiple of the tile's 128 elements");
  CHECK(error_of([] {
          build("sgemm_parboil", {{"k", "12"}});
        }) == "sgemm_parboil: k 12 is not a multiple of the tile's 8 elements");
}

TEST_CASE("laplace3d: of every node that a block writes it has read all neighbours before the barrier") {
  for (std::uint32_t const width : {32U, 64U}) {
    constexpr std::uint64_t nx = 70, ny = 9, nz = 5, pitch = 72;
    auto const w = build("laplace3d",
                         {{"nx", "70"}, {"ny", "9"}, {"nz", "5"}, {"repeat", "2"}, {"row_alignment", "32 B"}},
                         of_width(width));
    REQUIRE(w.kernel_count() == 2);
    for (std::size_t kernel = 0; kernel < 2; ++kernel) {
      auto const &from = buffer(w, kernel == 0 ? "u1" : "u2"), &to = buffer(w, kernel == 0 ? "u2" : "u1");
      REQUIRE(from.bytes == 4 * pitch * ny * nz);
      std::map<std::uint64_t, std::size_t> read;  // node -> phase
      std::vector<int> written(pitch * ny * nz);
      std::uint64_t present = ~std::uint64_t{0}, early = 0;
      bool wrong = false;
      run_blocks(w.kernel(kernel), width, [&](auto block, auto, auto phase, WarpInstruction const& in) {
        if (block != present) read.clear();
        present = block;
        each_lane(in, [&](auto, VirtAddr at) {
          if (in.op == Op::load) {
            wrong = wrong || !within(from, at) || (at - from.base) / 4 % pitch >= nx;
            early += read.contains((at - from.base) / 4) ? 1 : 0;
            read.emplace((at - from.base) / 4, phase);
          }
          if (in.op != Op::store) return;
          auto const e = (at - to.base) / 4;
          std::uint64_t const x = e % pitch, y = e / pitch % ny, z = e / pitch / ny;
          wrong = wrong || !within(to, at) || x >= nx;
          ++written[e];
          auto const known = [&](std::uint64_t node) { return read.contains(node) && read[node] < phase; };
          bool complete = known(e);
          if (x > 0 && x + 1 < nx && y > 0 && y + 1 < ny && z > 0 && z + 1 < nz)
            for (auto const d : {std::uint64_t{1}, pitch, pitch * ny})
              complete = complete && known(e - d) && known(e + d);
          wrong = wrong || !complete;
        });
      });
      CHECK_FALSE(wrong);
      CHECK(early == 0);  // no block reads a node twice
      for (std::uint64_t e = 0; e < written.size(); ++e) REQUIRE(written[e] == (e % pitch < nx ? 1 : 0));
    }
  }
}

TEST_CASE(
    "laplace3d: each block reads its tile and the halo around it, cut at the grid, once for each plane") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const nx : {31U, 100U}) {
      std::uint64_t const ny = 10, nz = 3;
      auto const w =
          build("laplace3d", {{"nx", nx == 31 ? "31" : "100"}, {"ny", "10"}, {"nz", "3"}}, of_width(width));
      CHECK(w.footprint() == 2 * 512 * ny * nz);
      std::uint64_t loaded = 0, blocks = 0;
      for (std::uint64_t top = 0; top < ny; top += 4)
        for (std::uint64_t left = 0; left < nx; left += 32, ++blocks)
          loaded += nz * (std::min(left + 33, nx) - (left == 0 ? 0 : left - 1)) *
                    (std::min(top + 5, ny) - (top == 0 ? 0 : top - 1));
      auto const counts = counts_of(w.kernel(0), width);
      CHECK(w.kernel(0).shape().blocks == blocks);
      CHECK(counts.loaded == loaded);
      CHECK(counts.stored == nx * ny * nz);
      CHECK(counts.barriers == blocks * (128 / width) * nz * 2);
    }
}

TEST_CASE("laplace3d: rows that are padded to no power of two are refused") {
  CHECK(error_of([] {
          build("laplace3d", {{"row_alignment", "48 B"}});
        }) == "laplace3d: row_alignment 48 B is not a power of two");
}

TEST_CASE("stencil3d: of every element that a block writes it has read all that the stencil reaches") {
  for (std::uint32_t const width : {32U, 64U}) {
    constexpr std::int64_t x = 64, y = 16, z = 20, plane = x * y;
    auto const w = build("stencil3d", {{"x", "64"}, {"y", "16"}, {"z", "20"}}, of_width(width));
    auto const &from = buffer(w, "input"), &to = buffer(w, "output");
    std::map<std::int64_t, std::size_t> read;
    std::vector<std::set<std::int64_t>> own(256);
    std::vector<std::int64_t> result(x * y * z, -1);
    std::uint64_t present = ~std::uint64_t{0};
    bool wrong = false;
    run_blocks(w.kernel(0), width, [&](auto block, auto warp, auto phase, WarpInstruction const& in) {
      if (block != present) {
        read.clear();
        own.assign(256, {});
      }
      present = block;
      each_lane(in, [&](auto lane, VirtAddr at) {
        if (in.op == Op::load && within(from, at)) {
          auto const e = static_cast<std::int64_t>(at - from.base) / 4;
          read[e] = phase;
          own[warp * width + lane].insert(e);
        }
        if (in.op != Op::store) return;
        wrong = wrong || !within(to, at);
        auto const e = static_cast<std::int64_t>(at - to.base) / 4;
        std::int64_t sum = value(static_cast<std::uint64_t>(e));
        for (std::int64_t r = 1; r <= 4; ++r)
          for (auto const d : {r, -r, r * x, -r * x, r * plane, -r * plane}) {
            auto const known = std::abs(d) >= plane ? own[warp * width + lane].contains(e + d)
                                                    : read.contains(e + d) && read[e + d] < phase;
            wrong = wrong || !known;
            sum += (r + 1) * value(static_cast<std::uint64_t>(e + d));
          }
        wrong = wrong || result[static_cast<std::size_t>(e)] != -1;
        result[static_cast<std::size_t>(e)] = sum + 1'000'000;
      });
    });
    CHECK_FALSE(wrong);
    for (std::int64_t e = 0; e < x * y * z; ++e) {
      bool const inner = e / plane >= 4 && e / plane < z - 12;
      REQUIRE((result[static_cast<std::size_t>(e)] != -1) == inner);
    }
    // Each block reads its column up to four planes ahead, and around its tile of every plane eight elements
    // to each side.
    std::vector<std::uint32_t> expected(x * y * z);
    for (std::int64_t top = 0; top < y; top += 8)
      for (std::int64_t left = 0; left < x; left += 32)
        for (std::int64_t at = 0; at < z - 8; ++at)
          for (auto j = top - 8; j < top + 16; ++j)
            for (auto i = left - 8; i < left + 40; ++i) {
              bool const beside_x = i < left || i >= left + 32, beside_y = j < top || j >= top + 8;
              bool const halo = at >= 4 && at < z - 12 && beside_x != beside_y;
              if (halo || (!beside_x && !beside_y))
                ++expected[static_cast<std::size_t>(at * plane + j * x + i)];
            }
    CHECK(touches(w, from, Op::load, width, 4) == expected);
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE(
    "stencil3d: a warp reads one element ahead, two above and below, its part of the sides, five "
    "coefficients") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const z : {17U, 21U}) {
      auto const w =
          build("stencil3d", {{"x", "32"}, {"y", "24"}, {"z", z == 17 ? "17" : "21"}, {"repeat", "2"}},
                of_width(width));
      REQUIRE(w.kernel_count() == 2);
      CHECK(w.kernel(1).shape().blocks == 3);
      CHECK(w.footprint() == 2 * 4 * 32 * 24 * z + 40);
      auto const counts = counts_of(w.kernel(1), width);
      std::uint64_t const warps = 3 * 256 / width, planes = z - 16;
      CHECK(counts.loads == warps * (8 + planes * 10));
      CHECK(counts.loaded == 3 * 256 * (8 + planes * 3) + planes * (3 * 256 / 2 + warps * 5));
      CHECK(counts.stored == planes * 3 * 256);
      CHECK(counts.barriers == warps * planes * 2);
      CHECK(touches(w, buffer(w, "coefficients"), Op::load, width, 4, 0, 1) ==
            std::vector<std::uint32_t>{
                static_cast<std::uint32_t>(warps * planes), static_cast<std::uint32_t>(warps * planes),
                static_cast<std::uint32_t>(warps * planes), static_cast<std::uint32_t>(warps * planes),
                static_cast<std::uint32_t>(warps * planes), 0, 0, 0, 0, 0});
    }
}

TEST_CASE("stencil3d: a side that is no multiple of the tile is refused") {
  CHECK(error_of([] {
          build("stencil3d", {{"x", "100"}});
        }) == "stencil3d: x 100 is not a multiple of the tile's 32 elements");
  CHECK(error_of([] {
          build("stencil3d", {{"y", "100"}});
        }) == "stencil3d: y 100 is not a multiple of the tile's 8 rows");
}

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

TEST_CASE("sad: the three kernels make the sums of all blocks of pixels at all positions") {
  for (std::uint32_t const width : {32U, 64U}) {
    Frame const current{32, 16, 3}, reference{32, 16, 5};
    auto const w = build("sad", {{"width", "32"}, {"height", "16"}}, of_width(width));
    auto const &now = buffer(w, "current"), &then = buffer(w, "reference"), &sums = buffer(w, "sums");
    REQUIRE(sums.bytes == 2 * 41 * 2 * 1096);
    std::vector<int> sum(sums.bytes / 2, -1);
    std::array<int, 16> pixels{};
    std::vector<int> local;                 // sums in shared memory
    std::vector<std::array<int, 24>> seen;  // of each thread, in one turn
    std::vector<std::size_t> reads;         // of each thread
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
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<int>>
          words;  // of each thread: pairs of sums
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
          // Four pairs have been read; a counter of the stores is behind them.
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
    // Sizes of blocks of pixels, largest first: width, height, where their sums begin and how many a
    // macroblock has.
    constexpr std::int64_t sizes[7][4] = {{16, 16, 0, 1}, {16, 8, 1, 2}, {8, 16, 3, 2}, {8, 8, 5, 4},
                                          {8, 4, 9, 8},   {4, 8, 17, 8}, {4, 4, 25, 16}};
    for (auto const& [wide, tall, before, count] : sizes)
      for (std::int64_t mb = 0; mb < 2; ++mb)
        for (std::int64_t b = 0; b < count; ++b) {
          auto const x = 16 * mb + b % (16 / wide) * wide, y = b / (16 / wide) * tall;
          bool equal = true;
          for (std::int64_t p = 0; p < 1089; p += wide == 4 ? 1 : 7)
            equal = equal && sum[static_cast<std::size_t>((2 * before + mb * count + b) * 1096 + p)] ==
                                 plain_sad(current, reference, x, y, wide, tall, p % 33 - 16, p / 33 - 16);
          CHECK_MESSAGE(equal, wide << " x " << tall << ", block " << b << " of macroblock " << mb);
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

TEST_CASE("sad: a frame of no whole macroblocks is refused") {
  CHECK(error_of([] {
          build("sad", {{"width", "100"}});
        }) == "sad: width 100 is not a multiple of the macroblock's 16 pixels");
}

namespace {

// The scene of `ray` in double precision: what the ray of a pixel meets, the nearest first.
struct PlainHit {
  std::size_t object;
  std::size_t tests = 0;
  bool lit = false;
};

using Point = std::array<double, 3>;

double times(Point a, Point b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
Point sum_of(Point a, double f, Point b) {
  return {a[0] + f * b[0], a[1] + f * b[1], a[2] + f * b[2]};
}
Point unit(Point a) {
  return sum_of({}, 1 / std::sqrt(times(a, a)), a);
}

// The smallest distance in front, or 0.
double meets(Point from, Point along, std::size_t object) {
  if (object == 0) {
    auto const t = std::fabs(along[1]) < 0.0001 ? 0 : (-1.5 - from[1]) / along[1];
    return std::max(t, 0.0);
  }
  constexpr Point centres[] = {{-1, 0, -1}, {1, 0, -1}, {0, 0, -2}};
  auto const radius = object == 3 ? 0.75 : 0.5;
  auto const apart = sum_of(from, -1, centres[object - 1]);
  auto const half = times(along, apart), rest = times(apart, apart) - radius * radius;
  if (half * half < rest || (half > 0 && rest > 0)) return 0;
  auto const root = std::sqrt(half * half - rest);
  return rest > 0 ? -half - root : -half + root;
}

void plain_rays(Point from, Point along, std::size_t depth, std::vector<PlainHit>& hits) {
  if (hits.size() == depth) return;
  std::size_t nearest = 4;
  double t = 10'000;
  for (std::size_t o = 0; o < 4; ++o)
    if (auto const here = meets(from, along, o); here > 0 && here < t) {
      nearest = o;
      t = here;
    }
  if (nearest == 4) return;
  hits.push_back({nearest});
  constexpr Point centres[] = {{}, {-1, 0, -1}, {1, 0, -1}, {0, 0, -2}};
  auto const at = sum_of(from, t, along);
  auto const normal = nearest == 0 ? Point{0, 1, 0} : unit(sum_of(at, -1, centres[nearest]));
  auto const to_lamp = sum_of({10, 10, 10}, -1, at), lamp = unit(to_lamp);
  auto const facing = times(along, normal) > 0 ? -1.0 : 1.0;
  if (facing * times(normal, lamp) > 0) {
    bool free = true;
    for (std::size_t o = 0; o < 4 && free; ++o) {
      ++hits.back().tests;
      auto const in_the_way = meets(sum_of(at, 0.0001, lamp), lamp, o);
      auto const there = sum_of(at, in_the_way, lamp);
      free = in_the_way == 0 || times(there, there) > times(to_lamp, to_lamp);
    }
    hits.back().lit = free;
  }
  auto const mirrored = unit(sum_of(along, -2 * times(along, normal), normal));
  plain_rays(sum_of(at, 0.0001, mirrored), mirrored, depth, hits);
}

std::vector<PlainHit> plain_rays(double x, double y, double width, double height, std::size_t depth) {
  Point const eye{0, 0.5, 2}, ahead = unit(sum_of({}, -1, eye));
  Point const up = unit(sum_of({0, 1, 0}, -ahead[1], ahead));
  Point const right{ahead[1] * up[2] - ahead[2] * up[1], ahead[2] * up[0] - ahead[0] * up[2],
                    ahead[0] * up[1] - ahead[1] * up[0]};
  auto const size = 2 / std::min(width, height);
  auto along = sum_of({}, 1 / std::tan(65 * std::numbers::pi / 360), ahead);
  along = sum_of(along, (x - width / 2) * size, right);
  along = sum_of(along, (y - height / 2) * size, up);
  std::vector<PlainHit> hits;
  plain_rays(eye, unit(along), depth, hits);
  return hits;
}

}  // namespace

TEST_CASE(
    "ray: the objects that a pixel reads for shading are those that its ray meets, one after the other") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("ray", {{"width", "64"}, {"height", "48"}, {"depth", "4"}}, of_width(width));
    auto const &scene = buffer(w, "scene"), &image = buffer(w, "image");
    CHECK(w.kernel(0).shape().blocks == 24);
    std::vector<std::vector<std::size_t>> path(64 * 48);
    std::vector<std::size_t> steps(24 * 128 / width), pixel(24 * 128);
    walk(w.kernel(0), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
      ++steps[block * (128 / width) + warp];
      if (in.op != Op::load && in.op != Op::store) return;
      each_lane(in, [&](auto lane, VirtAddr at) {
        auto& mine = pixel[block * 128 + warp * width + lane];
        if (within(image, at)) mine = (at - image.base) / 4;
        if (within(scene, at) && (at - scene.base) % 40 == 16) path[mine].push_back((at - scene.base) / 40);
      });
    });
    std::size_t different = 0, met = 0, deepest = 0;
    std::vector<std::size_t> expected(steps.size(), 0);
    for (std::size_t warp = 0; warp < steps.size(); ++warp) {
      // What each depth takes in this warp: eight steps for the search, at a hit five fields or eight, the
      // shading, four steps for each test of a shadow, the light, the reflection.
      struct Level {
        bool traced = false, hit = false, sphere = false, lit = false;
        std::size_t tests = 0;
      };
      std::array<Level, 4> levels{};
      for (std::size_t lane = 0; lane < width; ++lane) {
        auto const p = pixel[warp * width + lane];
        auto const hits = plain_rays(double(p % 64), double(p / 64), 64, 48, 4);
        std::vector<std::size_t> objects;
        for (auto const& h : hits) objects.push_back(h.object);
        different += objects != path[p] ? 1 : 0;
        met += hits.size();
        deepest = std::max(deepest, hits.size());
        for (std::size_t d = 0; d < 4 && d <= hits.size(); ++d) {
          levels[d].traced = true;
          if (d == hits.size()) continue;
          levels[d].hit = true;
          levels[d].sphere |= hits[d].object != 0;
          levels[d].lit |= hits[d].lit;
          levels[d].tests = std::max(levels[d].tests, hits[d].tests);
        }
      }
      expected[warp] = 9 + 4;
      for (auto const& l : levels)
        expected[warp] +=
            (l.traced ? 8U : 0U) + (l.hit ? 7 + 4 * l.tests : 0U) + (l.sphere ? 3U : 0U) + (l.lit ? 1U : 0U);
    }
    CHECK(different == 0);
    CHECK(steps == expected);
    CHECK(met > 2000);
    CHECK(deepest == 4);
    CHECK(all_equal(touches(w, image, Op::store, width, 4), 2));
    CHECK(all_equal(touches(w, image, Op::load, width, 4), 1));
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("ray: the image's size gives blocks and pixels, and no ray goes deeper than asked") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const depth : {1U, 3U}) {
      auto const w = build("ray", {{"width", "32"}, {"height", "16"}, {"depth", depth == 1 ? "1" : "3"}},
                           of_width(width));
      CHECK(w.kernel(0).shape().blocks == 4);
      CHECK(w.footprint() == 4 * 32 * 16 + 160 + 48);
      CHECK(counts_of(w.kernel(0), width).barriers == 4 * 128 / width);
      std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> depths;  // of each warp
      std::size_t deepest = 0;
      auto const& scene = buffer(w, "scene");
      walk(w.kernel(0), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
        if (in.op != Op::load) return;
        bool colour = false;
        each_lane(in, [&](auto, VirtAddr at) { colour = within(scene, at) && (at - scene.base) % 40 == 16; });
        if (colour) deepest = std::max(deepest, ++depths[{block, warp}]);
      });
      CHECK(deepest == depth);
    }
}

TEST_CASE("ray: an image of no whole blocks is refused") {
  CHECK(error_of([] {
          build("ray", {{"height", "100"}});
        }) == "ray: height 100 is not a multiple of the block's 8 pixels");
}

namespace {

// SHOC's kernels in plain loops over a matrix of squared distances, with what they read of it and of the
// masks.
class PlainQt {
 public:
  static constexpr std::uint64_t kFar = ~std::uint64_t{0};

  PlainQt(std::uint32_t points, std::uint64_t seed, std::uint64_t threshold = 1)
      : n_(points), clustered_(points) {
    auto const place = qt_points(points, seed);
    auto const limit = threshold * threshold * kQtUnit * kQtUnit;
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) {
        auto const dx = std::int64_t{place[i].x} - place[j].x, dy = std::int64_t{place[i].y} - place[j].y;
        auto const square = static_cast<std::uint64_t>(dx * dx + dy * dy);
        matrix.push_back(i != j && square < limit ? square : kFar);
      }
    for (std::size_t i = 0; i < n_; ++i) {
      left.push_back(i);
      for (std::size_t j = 0; j < n_; ++j)
        if (matrix[i * n_ + j] != kFar) ++entries;
    }
  }

  std::vector<std::size_t> neighbours(std::size_t p) const {
    std::vector<std::size_t> row;
    for (std::size_t j = 0; j < n_; ++j)
      if (matrix[p * n_ + j] != kFar) row.push_back(j);
    return row;
  }

  // Elements that are read or written, in no order.
  struct Touched {
    std::vector<std::size_t> matrix, mask, clustered, stored;
    std::vector<std::size_t> sizes;    // of the best cluster of each block
    std::size_t seeds = 0, steps = 0;  // how many clusters, and searches for a next member
  };

  // With `forget`, a neighbour that was seen to be taken is not looked at again, as in the threads'
  // registers.
  std::vector<std::size_t> gather(std::size_t seed, std::size_t mask, bool forget, Touched& t) const {
    std::vector<std::size_t> members{seed};
    auto row = neighbours(seed);
    std::vector<std::uint64_t> most(row.size());
    std::vector<bool> gone(row.size());
    ++t.seeds;
    while (members.size() < left.size()) {
      ++t.steps;
      std::size_t best = n_;
      std::uint64_t least = kFar;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (gone[i]) continue;
        t.mask.push_back(mask + row[i]);
        bool const taken = std::ranges::count(members, row[i]) != 0;
        if (!taken) t.clustered.push_back(row[i]);
        if (taken || clustered_[row[i]]) {
          gone[i] = forget;
          continue;
        }
        auto const element = row[i] * n_ + members.back();
        t.matrix.push_back(element);
        if (matrix[element] > most[i]) {
          most[i] = matrix[element];
          t.stored.push_back(i);
        }
        if (most[i] < least) {
          least = most[i];
          best = row[i];
        }
      }
      if (best == n_) break;
      members.push_back(best);
    }
    return members;
  }

  // All seeds, then the winner.
  std::vector<std::size_t> round(Touched& t) const {
    std::vector<std::size_t> winner;
    auto const blocks = std::min<std::size_t>(256, left.size());
    for (std::size_t b = 0; b < blocks; ++b) {
      std::size_t best = 0;
      for (auto i = b; i < left.size(); i += blocks) {
        if (best != 0 && neighbours(left[i]).size() <= best) continue;
        auto const members = gather(left[i], b * n_, true, t);
        best = std::max(best, members.size());
        if (members.size() > winner.size()) winner = members;
      }
      t.sizes.push_back(best);
    }
    return winner;
  }

  void take(std::vector<std::size_t> const& members) {
    for (auto const m : members) clustered_[m] = true;
    std::erase_if(left, [&](auto p) { return clustered_[p]; });
  }

  std::vector<std::uint64_t> matrix;
  std::vector<std::size_t> left;
  std::size_t entries = 0;

 private:
  std::size_t n_;
  std::vector<bool> clustered_;
};

// Elements of a buffer that a kernel loads or stores, ascending.
std::vector<std::size_t> elements(Kernel const& kernel, std::uint32_t width, Op op, Buffer const& b,
                                  std::size_t bytes) {
  std::vector<std::size_t> list;
  for (auto const a : addresses(kernel, width, op))
    if (within(b, a)) list.push_back((a - b.base) / bytes);
  std::ranges::sort(list);
  return list;
}

std::vector<std::size_t> sorted(std::vector<std::size_t> list) {
  std::ranges::sort(list);
  return list;
}

}  // namespace

TEST_CASE(
    "qtc: in each round the kernels read masks and distances as the algorithm does on the same points") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto context = of_width(width);
    context.seed = 3;
    auto const w = build("qtc", {{"points", "300"}, {"clusters", "3"}}, context);
    PlainQt plain(300, 3);
    auto const &matrix = buffer(w, "distances"), &mask = buffer(w, "mask"),
               &clustered = buffer(w, "clustered"), &list = buffer(w, "left"), &result = buffer(w, "result"),
               &to_cluster = buffer(w, "to_cluster");
    REQUIRE(w.kernel_count() == 1 + 3 * 4);
    std::vector<std::size_t> memory = plain.left;  // the list of points
    for (std::size_t k = 1; k < w.kernel_count(); k += 4) {
      PlainQt::Touched tried, trimmed;
      auto const winner = plain.round(tried);
      CHECK(winner.size() > 4);
      CHECK(elements(w.kernel(k), width, Op::load, matrix, 4) == sorted(tried.matrix));
      CHECK(elements(w.kernel(k), width, Op::load, mask, 1) == sorted(tried.mask));
      CHECK(elements(w.kernel(k), width, Op::load, clustered, 1) == sorted(tried.clustered));
      // Two of the reduction and one behind it, for each seed one at its beginning, one before and one
      // behind.
      CHECK(counts_of(w.kernel(k), width).barriers == 64 / width * 3 * (tried.seeds + tried.steps));
      std::vector<std::size_t> compared;  // the size of each block's, and the seed of each that is better
      for (std::size_t b = 0, most = 0; b < tried.sizes.size(); most = std::max(most, tried.sizes[b++])) {
        compared.push_back(2 * b);
        if (tried.sizes[b] > most) compared.push_back(2 * b + 1);
      }
      CHECK(elements(w.kernel(k + 1), width, Op::load, buffer(w, "sizes"), 4) == compared);
      CHECK(plain.gather(winner.front(), 0, false, trimmed) == winner);
      auto const& trim = w.kernel(k + 2);
      for (auto const p : plain.left) trimmed.mask.push_back(p);  // once more, for the list
      CHECK(elements(trim, width, Op::load, matrix, 4) == sorted(trimmed.matrix));
      CHECK(elements(trim, width, Op::load, mask, 1) == sorted(trimmed.mask));
      CHECK(elements(trim, width, Op::load, clustered, 1) == sorted(trimmed.clustered));
      // One store for each entry of the row clears it.
      auto const row = to_cluster.bytes / 4 / 256;
      for (std::size_t i = 0; i < row; ++i) trimmed.stored.push_back(i);
      CHECK(elements(trim, width, Op::store, to_cluster, 4) == sorted(trimmed.stored));
      std::vector<std::size_t> numbers(winner.size());
      for (std::size_t i = 0; i < winner.size(); ++i) numbers[i] = i;
      CHECK(elements(trim, width, Op::store, result, 4) == numbers);
      // Members are marked, and the whole mask is cleared before.
      auto marks = winner;
      for (std::size_t p = 0; p < 300; ++p) marks.push_back(p);
      CHECK(elements(trim, width, Op::store, mask, 1) == sorted(marks));

      // The list: what threads have read and keep, they write; then the first thread writes what stays, in
      // order.
      plain.take(winner);
      std::vector<std::size_t> held(64);
      std::vector<std::size_t> staying;
      std::size_t read_in = 0, next = 0;
      run_blocks(trim, width, [&](auto, auto warp, auto phase, WarpInstruction const& in) {
        if (in.op != Op::load && in.op != Op::store) return;
        each_lane(in, [&](auto lane, VirtAddr at) {
          if (!within(list, at)) return;
          auto const e = (at - list.base) / 4;
          if (in.op == Op::load) {
            if (read_in != phase) staying.clear(), next = 0;
            read_in = phase;
            held[warp * width + lane] = memory[e];
            if (std::ranges::count(plain.left, memory[e]) != 0) staying.push_back(memory[e]);
          } else {
            memory[e] = phase == read_in ? held[warp * width + lane] : staying.at(next++);
          }
        });
      });
      memory.resize(plain.left.size());
      CHECK(memory == plain.left);
      memory.resize(300);
    }
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("qtc: a cluster that takes all points that are left needs no search that finds nothing") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto context = of_width(width);
    context.seed = 5;
    auto const w = build("qtc", {{"points", "60"}, {"threshold", "20"}, {"clusters", "100"}}, context);
    PlainQt plain(60, 5, 20);
    std::size_t k = 1;
    for (bool all = false; !all; k += 4) {
      REQUIRE(k + 3 < w.kernel_count());
      PlainQt::Touched tried;
      auto const winner = plain.round(tried);
      CHECK(elements(w.kernel(k), width, Op::load, buffer(w, "distances"), 4) == sorted(tried.matrix));
      CHECK(counts_of(w.kernel(k), width).barriers == 64 / width * 3 * (tried.seeds + tried.steps));
      all = winner.size() == plain.left.size();
      if (all) CHECK(winner.size() > 1);
      plain.take(winner);
    }
    CHECK(k == w.kernel_count());
  }
}

TEST_CASE("qtc: clusters are found until one has a single point, each point is in one") {
  QtClustering clustering(qt_points(200, 1), 1);
  clustering.run(256, 1000);
  std::vector<int> in(200);
  std::size_t last = 201, ones = 0;
  for (auto const& round : clustering.rounds()) {
    auto const& members = clustering.candidate(round.winner).members;
    CHECK(members.size() <= last);
    last = members.size();
    ones += last == 1 ? 1 : 0;
    for (auto const a : members) {
      ++in[a];
      for (auto const b : members) CHECK((a == b || clustering.near(a, b)));
    }
  }
  CHECK(ones == (std::ranges::count(in, 0) == 0 && last > 1 ? 0 : 1));
  CHECK(std::ranges::count_if(in, [](int i) { return i > 1; }) == 0);
}

TEST_CASE("qtc: kernels, blocks and the accesses of the small kernels follow from the points") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const points : {130U, 270U}) {
      auto const w =
          build("qtc", {{"points", points == 130 ? "130" : "270"}, {"clusters", "1"}}, of_width(width));
      PlainQt const plain(static_cast<std::uint32_t>(points), 1);
      REQUIRE(w.kernel_count() == 5);
      auto const blocks = std::min<std::uint64_t>(points, 256);
      for (std::size_t k = 0; k < 5; ++k) CHECK(w.kernel(k).shape().blocks == (k < 2 ? blocks : 1));
      auto const row = buffer(w, "neighbours").bytes / 4 / points;
      CHECK(buffer(w, "distances").bytes == 4 * points * points);
      CHECK(all_equal(touches(w, buffer(w, "neighbours"), Op::load, width, 4, 0, 1), 1));
      CHECK(all_equal(touches(w, buffer(w, "degrees"), Op::store, width, 4, 0, 1), 1));
      CHECK(counts_of(w.kernel(0), width).loaded == points * row);
      // The neighbours of each seed are read once, and each block clears its masks for it.
      auto const tried = elements(w.kernel(1), width, Op::load, buffer(w, "neighbours"), 4);
      if (points == 130) CHECK(tried.size() == plain.entries);
      CHECK(std::ranges::adjacent_find(tried) == tried.end());
      CHECK(elements(w.kernel(1), width, Op::load, buffer(w, "left"), 4).size() == points * (64 / width));
      CHECK(elements(w.kernel(1), width, Op::store, buffer(w, "sizes"), 4).size() == 2 * blocks);
      auto const best = elements(w.kernel(2), width, Op::load, buffer(w, "sizes"), 4);
      CHECK(std::ranges::count_if(best, [](auto e) { return e % 2 == 0; }) ==
            static_cast<std::int64_t>(blocks));
      CHECK(elements(w.kernel(2), width, Op::store, buffer(w, "sizes"), 4) == std::vector<std::size_t>{0, 1});
      for (auto const* const name : {"mask", "clustered"}) {
        auto const loads = touches(w, buffer(w, name), Op::load, width, 1, 4, 5);
        CHECK(std::ranges::count(loads, 1U) == static_cast<std::int64_t>(points));
      }
      CHECK(all_equal(touches(w, buffer(w, "clustered"), Op::store, width, 1, 4, 5), 1));
    }
}

TEST_CASE("qtc: a point with more neighbours than a block keeps in registers is refused") {
  CHECK(error_of([] {
          build("qtc", {{"points", "1000"}, {"threshold", "20"}});
        }).starts_with("qtc: a point has 9"));
  CHECK(error_of([] {
          build("qtc", {{"points", "1000"}, {"threshold", "20"}});
        }).ends_with(" neighbours within threshold 20, more than the 768 that a block keeps in registers"));
}

}  // namespace farfault::workloads
