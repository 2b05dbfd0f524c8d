// SPDX-License-Identifier: Apache-2.0
// gups, bfs_rodinia and histogram256: updates, levels and counts.
#include <algorithm>
#include <map>
#include <queue>

#include "../../workloads/src/gups_sequence.hpp"
#include "lane_accesses.hpp"

namespace farfault::workloads::counting_test {
using namespace test;
using namespace test::lanes;

TEST_CASE("gups: the updates of all threads match the sequential benchmark, each once") {
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
    std::vector<std::uint32_t> table(2 * kElements);  // halves, low half first
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

TEST_CASE("gups: jumping many steps ahead equals as many single steps") {
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

TEST_CASE("gups: a table size that is not a power of two is rejected") {
  CHECK(error_of([] { build("gups", {{"table", "3 MiB"}}); }) == "table = 3 MiB must be a power of two");
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
        CHECK(over);  // the last level requested this one
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
      visited = 1 + found;  // including the source
      CHECK(visited > n * 9 / 10);
      CHECK(visited <= n);
    }
}

TEST_CASE("bfs_rodinia: a block with a fractional number of warps is rejected") {
  CHECK(error_of([] {
          build("bfs_rodinia", {{"block", "100"}});
        }) == "block = 100 must be a multiple of the warp width, 32");
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

TEST_CASE("histogram256: the sum of the blocks' partial histograms counts all bytes") {
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

TEST_CASE("histogram256: warps without an adding thread do not access shared memory when sums are halved") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("histogram256", {{"words", "100"}, {"partial_histograms", "1"}}, of_width(width));
    // Eight halvings, the first by 128 threads.
    auto const adding = width == 32 ? 4 + 2 + 1 + 5 : 2 + 1 + 6U;
    CHECK(shared_of(w, 1, width) == 256 * (256 / width + 3 * adding + 1));
  }
}

TEST_CASE("histogram256: threads that count the same byte are serialized") {
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

}  // namespace farfault::workloads::counting_test
