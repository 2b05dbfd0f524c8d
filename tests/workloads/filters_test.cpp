// SPDX-License-Identifier: Apache-2.0
// Convolutions, by transforms and by filters of rows and columns, executed on real values.
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "pass_values.hpp"

namespace farfault::workloads::filters_test {
using namespace test;
using namespace test::passes;

namespace {

void walsh(double* data, std::size_t n) {
  for (std::size_t half = 1; half < n; half *= 2)
    for (std::size_t i = 0; i < n; ++i)
      if ((i & half) == 0) {
        auto const sum = data[i] + data[i + half], difference = data[i] - data[i + half];
        data[i] = sum;
        data[i + half] = difference;
      }
}

}  // namespace

TEST_CASE("fwt: the passes convolve the data with the filter") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const log2 : {2U, 5U, 11U, 12U, 13U}) {
      CAPTURE(log2);
      auto const w =
          build("fwt", {{"log2_data", std::to_string(log2)}, {"log2_filter", "2"}}, of_width(width));
      auto const n = std::size_t{1} << log2;
      Values values(w, 4);
      auto const data = values.fill("data", 7, 13);
      for (std::size_t i = 0; i < 4; ++i) values.of("filter")[i] = static_cast<double>(i * i + 1);
      for (std::size_t k = 0; k < w.kernel_count(); ++k) {
        auto const& kernel = w.kernel(k);
        auto const& name = kernel.shape().name;
        if (name == "fwt_shared") {
          auto const part = static_cast<std::size_t>(kernel.shape().shared_bytes_per_block / 4);
          std::map<std::uint64_t, std::vector<double>> shared;  // by block
          std::map<std::uint64_t, VirtAddr> first;
          std::vector<VirtAddr> loads, stores;  // in program order
          walk(kernel, width, [&](auto block, auto, auto, WarpInstruction const& in) {
            if (in.op != Op::load) return;
            shared[block].resize(part);
            each_lane(in, [&](auto lane, VirtAddr a) {
              loads.push_back(a);
              if (lane == 0 && !first.contains(block)) first[block] = a;
              shared[block].at((a - first[block]) / 4) = values.at(a);
            });
          });
          for (auto& [block, list] : shared) walsh(list.data(), part);
          walk(kernel, width, [&](auto block, auto, auto, WarpInstruction const& in) {
            if (in.op != Op::store) return;
            each_lane(in, [&](auto, VirtAddr a) {
              stores.push_back(a);
              values.at(a) = shared[block].at((a - first[block]) / 4);
            });
          });
          CHECK(stores == loads);
          continue;
        }
        // Each thread's values since its last store, and the number of this store.
        std::vector<std::vector<double>> held(width);
        std::vector<std::size_t> stores(width);
        walk(kernel, width, [&](auto, auto, auto, WarpInstruction const& in) {
          each_lane(in, [&](auto lane, VirtAddr a) {
            if (in.op == Op::load) {
              if (stores[lane] != 0) held[lane].clear(), stores[lane] = 0;
              held[lane].push_back(values.at(a));
            }
            if (in.op != Op::store) return;
            if (name == "fwt_modulate") {
              REQUIRE(held[lane].size() == 2);
              values.at(a) = held[lane][0] * held[lane][1] / static_cast<double>(n);
              stores[lane] = 1;
              return;
            }
            REQUIRE(held[lane].size() == 4);
            auto butterfly = held[lane];
            walsh(butterfly.data(), 4);
            values.at(a) = butterfly.at(stores[lane]++);
          });
        });
      }
      std::vector<double> expected(n);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < 4; ++j) expected[i] += data[i ^ j] * static_cast<double>(j * j + 1);
      CHECK(values.of("data") == expected);
    }
}

TEST_CASE(
    "fwt: two more powers of two take one more pass, and the last kernel has a barrier for each stage") {
  // Kernels, blocks of the first kernel, threads per block of the shared-memory kernel, barriers.
  for (auto const& [log2, kernels, blocks, threads, stages] : {std::tuple{"11", 4U, 1U, 512U, 7},
                                                               {"12", 7U, 4U, 256U, 6},
                                                               {"13", 7U, 8U, 512U, 7},
                                                               {"15", 10U, 32U, 512U, 7}})
    for (std::uint32_t const width : {32U, 64U}) {
      auto const w = build("fwt", {{"log2_data", log2}}, of_width(width));
      REQUIRE(w.kernel_count() == kernels);
      CHECK(w.kernel(0).shape().blocks == blocks);
      auto const& last = w.kernel(kernels - 1);
      CHECK(last.shape().threads_per_block == threads);
      CHECK(barriers(last, width) == std::set{stages});
      // Each kernel reads and writes its array once, except one, which reads both arrays.
      auto const accesses = (1ULL << std::stoul(log2)) / width;
      CHECK(count(w, width, Op::load) == (kernels + 1) * accesses);
      CHECK(count(w, width, Op::store) == kernels * accesses);
    }
  CHECK(build("fwt", {}).kernel_count() == 3 * 6 + 1);
  CHECK(build("fwt", {{"log2_data", "23"}}).kernel_count() == 3 * 7 + 1);
  CHECK(build("fwt", {}).footprint() == 8 << 20);
  CHECK(program_of(build("fwt", {{"log2_data", "11"}})) ==
        "0:in-filter+512 0:in-data+8192 0:kernel0 0:kernel1 0:kernel2 0:kernel3 0:out-data+8192");
  CHECK(error_of([] {
          build("fwt", {{"log2_data", "5"}});
        }) == "log2_filter = 7 must be at most log2_data, 5");
}

TEST_CASE("convolution: a block's loads, filtered at its stores, give the image's convolution") {
  for (std::uint32_t const width : {32U, 64U}) {
    constexpr int kWidth = 192, kHeight = 64;
    auto const w = build("convolution", {{"width", "192"}, {"height", "64"}}, of_width(width));
    Values values(w, 4);
    auto const image = values.fill("input", 7, 13);
    for (std::size_t i = 0; i < 17; ++i) values.of("filter")[i] = static_cast<double>(i * i % 19 + 1);
    auto const filter = values.of("filter");
    auto const at = [](int row, int column) { return static_cast<std::size_t>(row * kWidth + column); };
    auto const inside = [](int row, int column) {
      return row >= 0 && row < kHeight && column >= 0 && column < kWidth;
    };
    auto const filtered = [&](std::vector<double> const& from, int row, int column, bool along_rows) {
      double sum = 0;
      for (int j = -8; j <= 8; ++j) {
        auto const r = along_rows ? row : row + j, c = along_rows ? column + j : column;
        if (inside(r, c)) sum += filter[static_cast<std::size_t>(8 - j)] * from[at(r, c)];
      }
      return sum;
    };
    std::vector<double> rows(image.size()), both(image.size());
    for (int r = 0; r < kHeight; ++r)
      for (int c = 0; c < kWidth; ++c) rows[at(r, c)] = filtered(image, r, c, true);
    for (int r = 0; r < kHeight; ++r)
      for (int c = 0; c < kWidth; ++c) both[at(r, c)] = filtered(rows, r, c, false);

    for (std::size_t k = 0; k < 2; ++k) {
      auto const& from = buffer(w, k == 0 ? "input" : "buffer");
      auto const& to = buffer(w, k == 0 ? "buffer" : "output");
      std::map<std::uint64_t, std::vector<double>> tile;  // per block: loaded values by pixel
      walk(w.kernel(k), width, [&](auto block, auto, auto, WarpInstruction const& in) {
        if (in.op != Op::load) return;
        auto& own = tile[block];
        own.resize(image.size(), -1e9);
        each_lane(in, [&](auto, VirtAddr a) { own.at((a - from.base) / 4) = values.at(a); });
      });
      walk(w.kernel(k), width, [&](auto block, auto, auto, WarpInstruction const& in) {
        if (in.op != Op::store) return;
        each_lane(in, [&](auto, VirtAddr a) {
          auto const i = static_cast<int>((a - to.base) / 4);
          values.at(a) = filtered(tile[block], i / kWidth, i % kWidth, k == 0);
        });
      });
      CHECK(all_equal(touches(w, to, Op::store, width, 4, k, k + 1), 1));
      CHECK(barriers(w.kernel(k), width) == std::set{1});
    }
    CHECK(values.of("buffer") == rows);
    CHECK(values.of("output") == both);
  }
}

TEST_CASE("convolution: blocks overlap only by their halos, and each warp reads the coefficients once") {
  for (auto const& [columns, rows, width] :
       {std::tuple{192U, 64U, 32U}, {192U, 64U, 64U}, {64U, 96U, 32U}, {64U, 32U, 64U}}) {
    auto const w =
        build("convolution",
              {{"width", std::to_string(columns)}, {"height", std::to_string(rows)}, {"iterations", "2"}},
              of_width(width));
    REQUIRE(w.kernel_count() == 4);
    CHECK(w.kernel(0).shape().blocks == columns / 64 * (rows / 4));
    CHECK(w.kernel(0).shape().threads_per_block == 64);
    CHECK(w.kernel(0).shape().shared_bytes_per_block == 1536);
    CHECK(w.kernel(1).shape().blocks == columns / 16 * (rows / 32));
    CHECK(w.kernel(1).shape().threads_per_block == 128);
    CHECK(w.kernel(1).shape().shared_bytes_per_block == 3136);
    auto const pixels = columns * rows;
    CHECK(count(w, width, Op::load, 2, 3) == (pixels + rows * 32 * (columns / 64 - 1)) / width);
    CHECK(count(w, width, Op::load, 3, 4) == (pixels + columns * 16 * (rows / 32 - 1)) / width);
    CHECK(count(w, width, Op::store) == 4 * pixels / width);
    // Four kernels (rows and columns, twice): each warp computes four results per thread and reads each
    // coefficient once.
    CHECK(all_equal(touches(w, buffer(w, "filter"), Op::load, width, 4), 4 * pixels / 4 / width));
  }
  CHECK(build("convolution", {}).footprint() == 3ULL * 4 * 3072 * 1536 + 68);
  CHECK(program_of(build("convolution", {{"width", "64"}, {"height", "32"}})) ==
        "0:in-filter+68 0:in-input+8192 0:kernel0 0:kernel1 0:out-output+8192");
  CHECK(error_of([] { build("convolution", {{"width", "100"}}); }) == "width = 100 must be a multiple of 64");
  CHECK(error_of([] {
          build("convolution", {{"height", "100"}});
        }) == "height = 100 must be a multiple of 32");
}

}  // namespace farfault::workloads::filters_test
