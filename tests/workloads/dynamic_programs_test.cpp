// SPDX-License-Identifier: Apache-2.0
// pathfinder, played on real values.
#include "block_runs.hpp"
#include "thread_play.hpp"

namespace farfault::workloads {
using namespace test;
using namespace test::lanes;

TEST_CASE("pathfinder: the sums that blocks find from what they load are those of the whole grid") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const& [cols, rows, height] : {std::tuple{700U, 12U, 5U}, {214U, 2U, 20U}, {1000U, 43U, 21U}}) {
      CAPTURE(cols);
      auto const w = build("pathfinder",
                           {{"cols", std::to_string(cols)},
                            {"rows", std::to_string(rows)},
                            {"pyramid_height", std::to_string(height)}},
                           of_width(width));
      Memory memory(w);
      auto sums = fill(memory, "sums0", 1);
      auto const wall = fill(memory, "wall", 2);
      for (std::size_t r = 0; r + 1 < rows; ++r) {
        auto const before = sums;
        for (std::size_t c = 0; c < cols; ++c)
          sums[c] = wall[r * cols + c] + std::min({before[c], before[c - (c > 0)],
                                                   before[std::min<std::size_t>(c + 1, cols - 1)]});
      }
      REQUIRE(w.kernel_count() == (rows - 1 + height - 1) / height);
      for (std::size_t k = 0; k < w.kernel_count(); ++k) {
        auto const last = std::min(height, rows - 1 - static_cast<std::uint32_t>(k) * height);
        CHECK(barriers_agree(w, k, width));
        each_block(w, k, width, [&](auto, std::vector<Access> const& accesses) {
          std::map<std::uint32_t, double> sum;                             // by thread
          std::map<std::uint64_t, std::map<std::uint32_t, Access>> costs;  // by row and thread
          for (auto const& a : of_op(accesses, Op::load))
            if (a.buffer == "wall")
              costs[a.element / cols - k * height][a.thread] = a;
            else
              sum[a.thread] = memory.at(a);
          for (std::uint64_t r = 0; r < costs.size(); ++r) {
            auto const before = sum;
            sum.clear();
            for (auto const& [thread, a] : costs.at(r)) {
              auto const c = a.element % cols;
              auto least = before.at(thread);
              if (c > 0) least = std::min(least, before.at(thread - 1));
              if (c + 1 < cols) least = std::min(least, before.at(thread + 1));
              sum[thread] = memory.at(a) + least;
            }
          }
          CHECK((costs.empty() || costs.size() == last));
          for (auto const& a : of_op(accesses, Op::store)) memory.at(a) = sum.at(a.thread);
        });
      }
      CHECK(memory[w.kernel_count() % 2 == 0 ? "sums0" : "sums1"] == sums);
      CHECK(inside_buffers(w, width));
    }
}

TEST_CASE("pathfinder: a block reads its columns, and two fewer of each row") {
  // Of 216 columns a block, the last has 100,000 - 462 x 216 = 208 and its halo.
  auto const w = build("pathfinder", {{"cols", "100000"}, {"rows", "21"}});
  REQUIRE(w.kernel_count() == 1);
  CHECK(w.kernel(0).shape().blocks == 463);
  auto const c = grids::counts_of(w.kernel(0), 32);
  std::uint64_t loads = 0;
  for (std::uint64_t block = 0; block < 463; ++block)
    for (std::uint64_t lost = 0; lost <= 20; ++lost) {
      auto const first = block * 216 + lost, end = block * 216 + 256 - lost;  // 20 behind the column
      loads += std::min<std::uint64_t>(end, 100'020) - std::max<std::uint64_t>(first, 20);
    }
  CHECK(c.loaded == loads);
  CHECK(c.stored == 100'000);
  CHECK(c.barriers == 463 * 8 * 40);
}

}  // namespace farfault::workloads
