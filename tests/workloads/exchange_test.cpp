// SPDX-License-Identifier: Apache-2.0
// Link microbenchmark: the parts that each part accesses.
#include <algorithm>

#include "warp_walk.hpp"

namespace farfault::workloads::exchange_test {
using namespace test;

namespace {

// For each part of the array, the parts whose blocks access it in the last kernel; all parts have the same
// number of blocks.
std::vector<std::vector<std::uint64_t>> accessors(Workload const& w, std::uint64_t parts,
                                                  std::uint32_t width) {
  std::vector<std::vector<std::uint64_t>> by(parts);
  auto const& kernel = w.kernel(w.kernel_count() - 1);
  auto const per_part = kernel.shape().blocks / parts;
  auto const& array = w.buffers()[0];
  CHECK(kernel.shape().blocks % parts == 0);
  walk(kernel, width, [&](std::uint64_t block, auto, auto, WarpInstruction const& in) {
    if (in.op != Op::load && in.op != Op::store) return;
    auto& list = by[(in.address[0] - array.base) / (array.bytes / parts)];
    if (std::ranges::find(list, block / per_part) == list.end()) list.push_back(block / per_part);
  });
  for (auto& list : by) std::ranges::sort(list);
  return by;
}

using Parts = std::vector<std::vector<std::uint64_t>>;

}  // namespace

TEST_CASE("exchange, all to all: every byte is accessed once, and every part by all others") {
  for (auto const* width_text : {"32", "64"}) {
    BuildContext context;
    context.warp_width = width_text[0] == '3' ? 32 : 64;
    // Parts of 24 KiB have 48 or 24 chunks, divisible by the three others; parts of 28 KiB have a number that
    // is not.
    for (auto const* bytes : {"96KiB", "112KiB"}) {
      auto const w = build("exchange", {{"bytes", bytes}, {"parts", "4"}}, context);
      REQUIRE(w.kernel_count() == 2);
      CHECK(all_equal(touches(w, w.buffers()[0], Op::load, context.warp_width, 16, 1), 1));
      CHECK(accessors(w, 4, context.warp_width) == Parts{{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}});
      CHECK(inside_buffers(w, context.warp_width));
    }
  }
}

TEST_CASE(
    "exchange, pair: the blocks of one part write all of another part once, other blocks end immediately") {
  auto const w = build("exchange", {{"bytes", "96KiB"},
                                    {"parts", "3"},
                                    {"pattern", "pair"},
                                    {"from", "2"},
                                    {"to", "0"},
                                    {"access", "write"}});
  CHECK(accessors(w, 3, 32) == Parts{{2}, {}, {}});
  auto const count = touches(w, w.buffers()[0], Op::store, 32, 16, 1);
  for (std::size_t i = 0; i < count.size(); ++i) REQUIRE(count[i] == (i < count.size() / 3 ? 1U : 0U));
  auto const& kernel = w.kernel(1);
  WarpInstruction in;
  kernel.instruction(0, 0, 0, in);
  CHECK(in.op == Op::end);
}

TEST_CASE("exchange: the first kernel accesses each page of a part from that part") {
  auto const w = build("exchange", {{"bytes", "64KiB"}, {"parts", "4"}});
  std::vector<std::uint64_t> pages;
  walk(w.kernel(0), 32, [&](auto, auto, auto, WarpInstruction const& in) {
    if (in.op == Op::load) pages.push_back((in.address[0] - w.buffers()[0].base) / 4096);
  });
  std::ranges::sort(pages);
  REQUIRE(pages.size() == 3 * 16);
  for (std::size_t i = 0; i < pages.size(); ++i) CHECK(pages[i] == i / 3);
  CHECK(build("exchange", {{"bytes", "64KiB"}, {"warm_up", "false"}}).kernel_count() == 1);
}

TEST_CASE("exchange: invalid parameters are rejected in one sentence") {
  auto const refusal = [](Settings s) { return error_of([&] { build("exchange", s); }); };
  CHECK(refusal({{"bytes", "20KiB"}}) ==
        "bytes = 20 KiB must be a multiple of parts x memory.page_size, 16 KiB");
  CHECK(refusal({{"pattern", "pair"}, {"to", "4"}}) == "to = 4 must be below parts, 4");
  CHECK(refusal({{"pattern", "pair"}, {"from", "9"}}) == "from = 9 must be below parts, 4");
  CHECK(refusal({{"pattern", "pair"}, {"from", "1"}}) == "to = 1 must differ from `from`");
  CHECK(refusal({{"bytes_per_lane", "3"}}) == "bytes_per_lane = 3 must be 1, 2, 4, 8 or 16");
  CHECK(refusal({{"block", "96"}}) == "block = 96 must be a multiple of 64");
}

}  // namespace farfault::workloads::exchange_test
