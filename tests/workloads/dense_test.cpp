// SPDX-License-Identifier: Apache-2.0
// Workloads whose addresses do not depend on data.
#include <algorithm>
#include <set>

#include "../../workloads/src/random.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads::dense_test {
using namespace test;

TEST_CASE("vectoradd: each thread reads a[i] and b[i] and writes c[i], once") {
  for (std::uint32_t const width : {32U, 64U}) {
    BuildContext context;
    context.warp_width = width;
    auto const w = build("vectoradd", {{"elements", "1000"}, {"block", "96"}}, context);
    CHECK(w.kernel(0).shape().blocks == 11);
    CHECK(all_equal(touches(w, buffer(w, "a"), Op::load, width, 4), 1));
    CHECK(all_equal(touches(w, buffer(w, "b"), Op::load, width, 4), 1));
    CHECK(all_equal(touches(w, buffer(w, "c"), Op::store, width, 4), 1));
    CHECK(inside_buffers(w, width));
    // Block 10 of 96 threads starts at element 960, so its warp 1 holds the last 8 of 1000 elements (or
    // none).
    WarpInstruction in;
    w.kernel(0).instruction(10, 0, 5, in);
    CHECK(in.op == Op::store);
    CHECK(in.lanes == (width == 32 ? 0xffff'ffffULL : 0xff'ffff'ffffULL));
    CHECK(in.address[5] == buffer(w, "c").base + 4 * 965);
  }
}

TEST_CASE("vectoradd: only the index waits for the arguments, and only the addition for the loads") {
  auto const w = build("vectoradd", {{"elements", "64"}});
  std::vector<bool> waits;
  std::vector<Op> ops;
  WarpInstruction in;
  for (std::uint64_t s = 0; s < 7; ++s) {
    w.kernel(0).instruction(0, 0, s, in);
    ops.push_back(in.op);
    waits.push_back(in.wait_loads);
  }
  CHECK(ops ==
        std::vector<Op>{Op::scalar_load, Op::compute, Op::load, Op::load, Op::compute, Op::store, Op::end});
  CHECK(waits == std::vector<bool>{false, true, false, false, true, false, false});
}

TEST_CASE("relu: every element is read once and written once") {
  auto const w = build("relu", {{"size", "32 KiB"}});
  CHECK(w.footprint() == 32768);
  CHECK(all_equal(touches(w, buffer(w, "in"), Op::load, 32, 4), 1));
  CHECK(all_equal(touches(w, buffer(w, "out"), Op::store, 32, 4), 1));
}

TEST_CASE("fir: thread t reads all coefficients and samples t to t + taps - 1") {
  auto const w = build("fir", {{"size", "16 KiB"}, {"taps", "5"}});
  auto const& in_buffer = buffer(w, "input");
  CHECK(in_buffer.bytes == 4 * (2048 + 4));
  CHECK(all_equal(touches(w, buffer(w, "output"), Op::store, 32, 4), 1));
  auto const reads = touches(w, in_buffer, Op::load, 32, 4);
  for (std::size_t i = 0; i < reads.size(); ++i)
    CHECK(reads[i] == std::min<std::size_t>({5, i + 1, reads.size() - i}));
  // Each of 64 warps reads each coefficient once, for all its lanes.
  CHECK(all_equal(touches(w, buffer(w, "coeff"), Op::load, 32, 4), 64));
  // The second tap of warp 1 reads one sample before the first.
  WarpInstruction i;
  w.kernel(0).instruction(0, 1, 6, i);
  CHECK(i.address[0] == in_buffer.base + 4 * (32 + 4 - 1));
}

TEST_CASE("transpose: a tile's block writes at (column, row) the element read at (row, column)") {
  for (std::uint32_t const width : {32U, 64U}) {
    BuildContext context;
    context.warp_width = width;
    auto const w = build("transpose", {{"width", "256"}, {"height", "128"}}, context);
    auto const& in_buffer = buffer(w, "input");
    auto const& out_buffer = buffer(w, "output");
    CHECK(w.kernel(0).shape().blocks == 8);
    CHECK(all_equal(touches(w, in_buffer, Op::load, width, 4), 1));
    CHECK(all_equal(touches(w, out_buffer, Op::store, width, 4), 1));
    std::vector<std::set<std::pair<std::uint64_t, std::uint64_t>>> read(8), written(8);
    walk(w.kernel(0), width, [&](auto block, auto, auto, WarpInstruction const& in) {
      if (in.op != Op::load && in.op != Op::store) return;
      each_lane(in, [&](auto, VirtAddr a) {
        for (std::uint64_t f = 0; f < 4; ++f) {
          if (in.op == Op::load) {
            auto const e = (a - in_buffer.base) / 4 + f;
            read[block].insert({e / 256, e % 256});
          } else {
            auto const e = (a - out_buffer.base) / 4 + f;
            written[block].insert({e % 128, e / 128});
          }
        }
      });
    });
    for (std::size_t b = 0; b < 8; ++b) {
      CHECK(read[b].size() == 64 * 64);
      CHECK(read[b] == written[b]);
    }
  }
}

TEST_CASE("transpose: neighbouring blocks are on a diagonal of tiles") {
  auto const w = build("transpose", {{"width", "256"}, {"height", "256"}});
  WarpInstruction in;
  for (std::uint64_t block = 0; block < 4; ++block) {
    w.kernel(0).instruction(block, 0, 2, in);
    CHECK(in.address[0] == buffer(w, "input").base + block * 64 * 1024 + block * 256);
  }
}

TEST_CASE("transpose: a side that is not a multiple of the tile is rejected") {
  CHECK(error_of([] { build("transpose", {{"width", "100"}}); }) == "width = 100 must be a multiple of 64");
}

TEST_CASE("pointer_chase: every element is visited once per round, and each load waits for the last") {
  auto const w = build("pointer_chase", {{"elements", "1000"}, {"hops", "1500"}, {"stride", "256 B"}});
  auto const loads = addresses(w.kernel(0), 32, Op::load);
  REQUIRE(loads.size() == 1500);
  std::set<VirtAddr> const distinct(loads.begin(), loads.begin() + 1000);
  CHECK(distinct.size() == 1000);
  CHECK(*distinct.rbegin() == buffer(w, "chain").base + 999 * 256);
  for (std::size_t i = 0; i < 500; ++i) CHECK(loads[i] == loads[i + 1000]);
  CHECK_FALSE(std::is_sorted(loads.begin(), loads.begin() + 1000));
  walk(w.kernel(0), 32, [](auto, auto, auto, WarpInstruction const& in) {
    CHECK(in.wait_loads);
    if (in.op == Op::load) {
      CHECK(in.lanes == 1);
      CHECK(in.bytes_per_lane == 8);
    }
  });
}

TEST_CASE("pointer_chase: different seeds give different walks, equal seeds equal ones") {
  BuildContext one, two;
  two.seed = 2;
  auto const walk_of = [](BuildContext const& c) {
    return addresses(build("pointer_chase", {{"elements", "64"}, {"hops", "64"}}, c).kernel(0), 32, Op::load);
  };
  CHECK(walk_of(one) == walk_of(one));
  CHECK(walk_of(one) != walk_of(two));
}

TEST_CASE("pointer_chase: each of several chains is walked by its own kernel over its own buffer") {
  auto const w =
      build("pointer_chase", {{"elements", "10"}, {"hops", "12"}, {"stride", "4 KiB"}, {"chains", "3"}});
  REQUIRE(w.kernel_count() == 3);
  auto const first = addresses(w.kernel(0), 32, Op::load);
  for (std::size_t c = 0; c < 3; ++c) {
    auto const loads = addresses(w.kernel(c), 32, Op::load);
    auto const apart = buffer(w, "chain" + std::to_string(c)).base - buffer(w, "chain0").base;
    CHECK(apart == c * (2 << 20));
    for (std::size_t i = 0; i < loads.size(); ++i) CHECK(loads[i] == first[i] + apart);
  }
}

TEST_CASE("pointer_chase: order lines ascends by the stride") {
  auto const w =
      build("pointer_chase", {{"elements", "10"}, {"hops", "12"}, {"stride", "4 KiB"}, {"order", "lines"}});
  auto const loads = addresses(w.kernel(0), 32, Op::load);
  REQUIRE(loads.size() == 12);
  for (std::uint64_t i = 0; i < 12; ++i) CHECK(loads[i] == 0x1'0000'0000 + 4096 * (i % 10));
}

TEST_CASE("stream: every byte is accessed exactly once, and the given share is written") {
  for (std::uint32_t const width : {32U, 64U}) {
    BuildContext context;
    context.warp_width = width;
    auto const w =
        build("stream", {{"bytes", "100004 B"}, {"write_fraction", "0.25"}, {"block", "64"}}, context);
    auto const& array = buffer(w, "array");
    auto const reads = touches(w, array, Op::load, width, 4);
    auto const writes = touches(w, array, Op::store, width, 4);
    std::uint64_t written = 0;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      CHECK(reads[i] + writes[i] == 1);
      written += writes[i];
    }
    // Accesses 3 and 7 of each thread's 8 are stores; 49 blocks of 64 threads, so the last range is
    // truncated.
    CHECK(written == 2 * 49 * 64 - (8 * 49 * 64 - 25001));
    bool ends_with_use = true;
    WarpInstruction last;
    w.kernel(0).instruction(0, 0, 9, last);
    ends_with_use = last.op == Op::compute && last.wait_loads;
    CHECK(ends_with_use);
  }
}

TEST_CASE("sgemm: the blocks' loads, multiplied tile by tile, give A x B at the stored addresses") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const tile : {16U, 32U}) {
      BuildContext context;
      context.warp_width = width;
      auto const w = build(
          "sgemm", {{"m", "64"}, {"n", "96"}, {"k", "32"}, {"tile", tile == 16 ? "16" : "32"}}, context);
      constexpr std::uint64_t m = 64, n = 96, k = 32;
      auto const& a = buffer(w, "a");
      auto const& b = buffer(w, "b");
      auto const& c = buffer(w, "c");
      auto const value_a = [](std::uint64_t i) { return static_cast<int>(i * 7 % 13) - 6; };
      auto const value_b = [](std::uint64_t i) { return static_cast<int>(i * 5 % 11) - 5; };
      CHECK(w.kernel(0).shape().blocks == m / tile * (n / tile));
      CHECK(w.kernel(0).shape().shared_bytes_per_block == 2 * 4 * tile * tile);
      std::vector<int> product(m * n, 12345);
      WarpInstruction in;
      for (std::uint64_t block = 0; block < w.kernel(0).shape().blocks; ++block) {
        // Each thread's elements of both tiles, in thread order, and its sum.
        std::vector<int> left(tile * tile), right(tile * tile), sum(tile * tile);
        for (std::uint64_t step = 0, loads = 0, ended = 0; ended == 0; ++step)
          for (std::uint32_t warp = 0; warp < warps_of(w.kernel(0), width); ++warp) {
            w.kernel(0).instruction(block, warp, step, in);
            if (in.op == Op::end) ended = 1;
            if (in.op == Op::load)
              each_lane(in, [&](auto lane, VirtAddr at) {
                auto& tile_of = loads % 2 == 0 ? left : right;
                tile_of[warp * width + lane] =
                    loads % 2 == 0 ? value_a((at - a.base) / 4) : value_b((at - b.base) / 4);
              });
            if (in.op == Op::load && warp + 1 == warps_of(w.kernel(0), width) && ++loads % 2 == 0)
              for (std::uint64_t t = 0; t < tile * tile; ++t)
                for (std::uint64_t i = 0; i < tile; ++i)
                  sum[t] += left[t / tile * tile + i] * right[i * tile + t % tile];
            if (in.op == Op::store)
              each_lane(
                  in, [&](auto lane, VirtAddr at) { product[(at - c.base) / 4] = sum[warp * width + lane]; });
          }
      }
      std::vector<int> expected(m * n);
      for (std::uint64_t y = 0; y < m; ++y)
        for (std::uint64_t x = 0; x < n; ++x)
          for (std::uint64_t i = 0; i < k; ++i)
            expected[y * n + x] += value_a(y * k + i) * value_b(i * n + x);
      CHECK(product == expected);
      // Each row of tiles of A is read by every tile of a row of C, each column of B by every tile of a
      // column.
      CHECK(all_equal(touches(w, a, Op::load, width, 4), static_cast<std::uint32_t>(n / tile)));
      CHECK(all_equal(touches(w, b, Op::load, width, 4), static_cast<std::uint32_t>(m / tile)));
      CHECK(all_equal(touches(w, c, Op::store, width, 4), 1));
      CHECK(inside_buffers(w, width));
    }
}

TEST_CASE(
    "sgemm: a warp stores a tile to shared memory after loading it, with barriers before and after its use") {
  auto const w = build("sgemm", {{"m", "32"}, {"n", "32"}, {"k", "64"}});
  std::vector<Op> ops;
  std::vector<std::uint64_t> waits;
  walk(w.kernel(0), 32, [&](auto, auto warp, auto step, WarpInstruction const& in) {
    if (warp != 0) return;
    ops.push_back(in.op);
    if (in.wait_loads) waits.push_back(step);
  });
  using enum Op;
  CHECK(ops == std::vector<Op>{scalar_load, compute, load, load, compute, barrier, compute, barrier, load,
                               load, compute, barrier, compute, barrier, compute, store});
  CHECK(waits == std::vector<std::uint64_t>{1, 4, 10});
}

TEST_CASE("sgemm: a side that is not a multiple of the tile is rejected") {
  CHECK(error_of([] { build("sgemm", {{"k", "48"}}); }) == "k = 48 must be a multiple of tile, 32");
}

TEST_CASE("random_access: access k of thread t uses number t * accesses + k of the generator") {
  for (std::uint32_t const width : {32U, 64U}) {
    BuildContext context;
    context.warp_width = width;
    context.seed = 7;
    auto const w =
        build("random_access", {{"size", "1 MiB"}, {"threads", "1000"}, {"accesses", "3"}, {"block", "96"}},
              context);
    auto const& array = buffer(w, "array");
    CHECK(w.kernel(0).shape().blocks == 11);
    std::vector<VirtAddr> expected(3000);
    Random random(7);
    for (auto& e : expected) e = array.base + 8 * random.below(131072);
    std::uint64_t accesses = 0;
    walk(w.kernel(0), width, [&](auto block, auto warp, auto step, WarpInstruction const& in) {
      CHECK(in.op != Op::store);
      if (in.op != Op::load) return;
      each_lane(in, [&](auto lane, VirtAddr at) {
        CHECK(at == expected[(block * 96 + warp * width + lane) * 3 + (step - 3) / 2]);
        ++accesses;
      });
    });
    CHECK(accesses == 3000);
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("random_access: an update waits for its element and writes it at its address") {
  auto const w = build("random_access", {{"threads", "64"}, {"accesses", "2"}, {"updates", "true"}});
  CHECK(addresses(w.kernel(0), 32, Op::load) == addresses(w.kernel(0), 32, Op::store));
  std::vector<Op> ops;
  std::vector<std::uint64_t> waits;
  walk(w.kernel(0), 32, [&](auto, auto warp, auto step, WarpInstruction const& in) {
    if (warp != 0) return;
    ops.push_back(in.op);
    if (in.wait_loads) waits.push_back(step);
  });
  using enum Op;
  CHECK(ops ==
        std::vector<Op>{scalar_load, compute, compute, load, compute, store, compute, load, compute, store});
  CHECK(waits == std::vector<std::uint64_t>{1, 4, 8});
}

TEST_CASE("random_access: only the sum waits for the reads; another seed reads elsewhere") {
  BuildContext one, two;
  two.seed = 2;
  auto const of = [](BuildContext const& c) { return build("random_access", {{"threads", "128"}}, c); };
  auto const first = addresses(of(one).kernel(0), 32, Op::load);
  CHECK(first == addresses(of(one).kernel(0), 32, Op::load));
  CHECK(first != addresses(of(two).kernel(0), 32, Op::load));
  std::vector<std::uint64_t> waits;
  walk(of(one).kernel(0), 32, [&](auto block, auto warp, auto step, WarpInstruction const& in) {
    if (block == 0 && warp == 0 && in.wait_loads) waits.push_back(step);
  });
  CHECK(waits == std::vector<std::uint64_t>{1, 2 + 2 * 16});
  // 64 MiB have 1,024 pages of 64 KiB: the 512 elements of each warp are on hundreds of pages.
  std::set<VirtAddr> pages;
  for (std::size_t i = 0; i < 512; ++i) pages.insert(first[i] >> 16);
  CHECK(pages.size() > 350);
}

TEST_CASE("stream: a lane width that is not a power of two is rejected") {
  CHECK(error_of([] {
          build("stream", {{"bytes_per_lane", "12"}});
        }) == "bytes_per_lane = 12 must be 1, 2, 4, 8 or 16");
}

}  // namespace farfault::workloads::dense_test
