// Workloads whose addresses do not depend on data.
#include <algorithm>
#include <numeric>
#include <set>

#include "warp_walk.hpp"

namespace farfault::workloads {
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

TEST_CASE("vectoradd: the index waits for the arguments, the addition for the loads, and nothing else does") {
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

TEST_CASE(
    "sgemm: each element of C is written once, by a thread that reads its row of A and its column of B") {
  // 2 x 3 blocks of 256 threads, two tiles along k.
  auto const w = build("sgemm", {{"m", "32"}, {"n", "48"}, {"k", "32"}});
  CHECK(w.kernel(0).shape().blocks == 6);
  CHECK(w.footprint() == 4 * (32 * 32 + 32 * 48 + 32 * 48));
  CHECK(all_equal(touches(w, buffer(w, "c"), Op::store, 32, 4), 1));
  CHECK(all_equal(touches(w, buffer(w, "a"), Op::load, 32, 4), 3));  // by each block of a row of blocks
  CHECK(all_equal(touches(w, buffer(w, "b"), Op::load, 32, 4), 2));
  // Block 4 has the tile of C at row 16, column 16; of its warp 1 the lanes from 16 on have row 19.
  WarpInstruction in;
  w.kernel(0).instruction(4, 1, 2, in);
  CHECK(in.address[17] == buffer(w, "a").base + 4 * (19 * 32 + 1));
  w.kernel(0).instruction(4, 1, 3 + 6, in);  // of the second tile
  CHECK(in.address[17] == buffer(w, "b").base + 4 * ((16 + 3) * 48 + 17));
  w.kernel(0).instruction(4, 1, 2 + 2 * 6 + 1, in);
  CHECK(in.op == Op::store);
  CHECK(in.address[17] == buffer(w, "c").base + 4 * (19 * 48 + 17));
}

TEST_CASE("sgemm: a side that is no multiple of the tile is refused") {
  CHECK_THROWS_WITH(build("sgemm", {{"k", "40"}}),
                    "sgemm: side 40 is not a multiple of the tile's 16 elements");
}

TEST_CASE(
    "random access: each thread takes its elements, reads and writes the same ones, and all are hit alike") {
  auto const w =
      build("random_access", {{"size", "4 KiB"}, {"threads", "1000"}, {"accesses", "16"}, {"block", "96"}});
  auto const reads = touches(w, buffer(w, "array"), Op::load, 32, 8);
  CHECK(reads == touches(w, buffer(w, "array"), Op::store, 32, 8));
  CHECK(std::accumulate(reads.begin(), reads.end(), 0U) == 16000);
  // 512 elements of 31 accesses each on average: within six standard deviations.
  CHECK(*std::ranges::min_element(reads) > 0);
  CHECK(*std::ranges::max_element(reads) < 31 + 34);
  auto const only_read = build(
      "random_access", {{"size", "4 KiB"}, {"threads", "1000"}, {"accesses", "16"}, {"writes", "false"}});
  CHECK(addresses(only_read.kernel(0), 32, Op::store).empty());
  CHECK(inside_buffers(w, 32));
}

TEST_CASE("random access: another seed takes other elements, the same seed the same") {
  auto const order = [](std::uint64_t seed) {
    BuildContext context;
    context.seed = seed;
    return addresses(build("random_access", {{"threads", "64"}}, context).kernel(0), 32, Op::load);
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
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

TEST_CASE("transpose: what a tile's block reads at (row, column) it writes at (column, row)") {
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
    for (int b = 0; b < 8; ++b) {
      CHECK(read[b].size() == 64 * 64);
      CHECK(read[b] == written[b]);
    }
  }
}

TEST_CASE("transpose: neighbouring blocks lie on a diagonal of tiles") {
  auto const w = build("transpose", {{"width", "256"}, {"height", "256"}});
  WarpInstruction in;
  for (std::uint64_t block = 0; block < 4; ++block) {
    w.kernel(0).instruction(block, 0, 2, in);
    CHECK(in.address[0] == buffer(w, "input").base + block * 64 * 1024 + block * 256);
  }
}

TEST_CASE("transpose: a side that is no multiple of the tile is refused") {
  CHECK(error_of([] {
          build("transpose", {{"width", "100"}});
        }) == "transpose: side 100 is not a multiple of the tile's 64 elements");
}

TEST_CASE(
    "pointer_chase: visits every element once before the first comes again, each load waiting for the last") {
  auto const w = build("pointer_chase", {{"elements", "1000"}, {"hops", "1500"}, {"stride", "256 B"}});
  auto const loads = addresses(w.kernel(0), 32, Op::load);
  REQUIRE(loads.size() == 1500);
  std::set<VirtAddr> const distinct(loads.begin(), loads.begin() + 1000);
  CHECK(distinct.size() == 1000);
  CHECK(*distinct.rbegin() == buffer(w, "chain").base + 999 * 256);
  for (int i = 0; i < 500; ++i) CHECK(loads[i] == loads[i + 1000]);
  CHECK_FALSE(std::is_sorted(loads.begin(), loads.begin() + 1000));
  walk(w.kernel(0), 32, [](auto, auto, auto, WarpInstruction const& in) {
    CHECK(in.wait_loads);
    if (in.op == Op::load) {
      CHECK(in.lanes == 1);
      CHECK(in.bytes_per_lane == 8);
    }
  });
}

TEST_CASE("pointer_chase: another seed gives another walk, the same seed the same") {
  BuildContext one, two;
  two.seed = 2;
  auto const walk_of = [](BuildContext const& c) {
    return addresses(build("pointer_chase", {{"elements", "64"}, {"hops", "64"}}, c).kernel(0), 32, Op::load);
  };
  CHECK(walk_of(one) == walk_of(one));
  CHECK(walk_of(one) != walk_of(two));
}

TEST_CASE(
    "pointer_chase: each of several chains is walked by a kernel of its own, over a buffer of its own") {
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
    // Accesses 3 and 7 of each thread's 8 are stores; 49 blocks of 64 threads, so the last stretch is cut.
    CHECK(written == 2 * 49 * 64 - (8 * 49 * 64 - 25001));
    bool ends_with_use = true;
    WarpInstruction last;
    w.kernel(0).instruction(0, 0, 9, last);
    ends_with_use = last.op == Op::compute && last.wait_loads;
    CHECK(ends_with_use);
  }
}

TEST_CASE("stream: a lane width that is no power of two is refused") {
  CHECK(error_of([] {
          build("stream", {{"bytes_per_lane", "12"}});
        }) == "stream: bytes_per_lane 12 is not one of: 1, 2, 4, 8, 16");
}

}  // namespace farfault::workloads
