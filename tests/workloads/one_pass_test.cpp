// SPDX-License-Identifier: Apache-2.0
// Workloads with a single pass over their data: executed on real values, their streams give the algorithm's
// results.
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "pass_values.hpp"

namespace farfault::workloads::one_pass_test {
using namespace test;
using namespace test::passes;

TEST_CASE("blackscholes: both prices of an option are computed from its own three values, each read once") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w =
        build("blackscholes", {{"options", "1000"}, {"blocks", "3"}, {"block", "96"}}, of_width(width));
    Values values(w, 4);
    auto const price = values.fill("price", 7, 31), strike = values.fill("strike", 11, 101),
               years = values.fill("years", 3, 17);
    std::vector<std::array<double, 3>> read(width);
    walk(w.kernel(0), width, [&](auto, auto, auto, WarpInstruction const& in) {
      if (in.op != Op::load && in.op != Op::store) return;
      each_lane(in, [&](auto lane, VirtAddr a) {
        auto& [p, s, y] = read[lane];
        if (in.op == Op::load)
          (is(buffer(w, "price"), a) ? p : is(buffer(w, "strike"), a) ? s : y) = values.at(a);
        else
          values.at(a) += p * 1e6 + s * 1e3 + y + (is(buffer(w, "put"), a) ? 0.5 : 0);
      });
    });
    for (std::size_t i = 0; i < 1000; ++i) {
      CHECK(values.of("call")[i] == price[i] * 1e6 + strike[i] * 1e3 + years[i]);
      CHECK(values.of("put")[i] == values.of("call")[i] + 0.5);
    }
    for (auto const* name : {"price", "strike", "years"})
      CHECK(all_equal(touches(w, buffer(w, name), Op::load, width, 4), 1));
    for (auto const* name : {"call", "put"})
      CHECK(all_equal(touches(w, buffer(w, name), Op::store, width, 4), 1));
  }
}

TEST_CASE("blackscholes: the grid keeps its size, and its warps loop over the options") {
  auto const w = build("blackscholes", {});
  CHECK(w.kernel_count() == 1);
  CHECK(w.kernel(0).shape().blocks == 480);
  CHECK(w.kernel(0).shape().threads_per_block == 128);
  CHECK(w.footprint() == 5 * 8'000'000);
  // 1,000 options fill 31 warps and 8 lanes of 32, and 10 blocks of one and a half warps and 40 lanes of 64.
  for (auto const& [options, width, loads] :
       {std::tuple{"1000", 32U, 32U}, {"1000", 64U, 21U}, {"96", 64U, 2U}}) {
    auto const small =
        build("blackscholes", {{"options", options}, {"blocks", "3"}, {"block", "96"}, {"iterations", "2"}},
              of_width(width));
    CHECK(small.kernel_count() == 2);
    CHECK(count(small, width, Op::load) == 2 * 3 * loads);
    CHECK(count(small, width, Op::store) == 2 * 2 * loads);
  }
  CHECK(error_of([] {
          build("blackscholes", {{"options", "0"}});
        }).find("1 to 2147483647") != std::string::npos);
}

TEST_CASE("nn: a block's loads give its neurons, and all layers together the network") {
  for (std::uint32_t const width : {32U, 64U}) {
    std::size_t const images = width / 32;
    auto const w = build("nn", {{"images", std::to_string(images)}}, of_width(width));
    REQUIRE(w.kernel_count() == 4);
    Values values(w, 4);
    auto const image = values.fill("neurons1", 7, 13);
    std::vector<double> weights[5];
    for (std::size_t l = 1; l < 5; ++l) weights[l] = values.fill("weights" + std::to_string(l), 5, 11);
    auto const beyond = [](double sum) { return sum - 3; };  // instead of tanh
    std::size_t const blocks[] = {6, 50, 100, 10}, threads[] = {169, 25, 1, 1},
                      inputs[] = {25, 150, 1250, 100};
    for (std::size_t k = 0; k < 4; ++k) {
      auto const& kernel = w.kernel(k);
      CHECK(kernel.shape().blocks == images * blocks[k]);
      CHECK(kernel.shape().threads_per_block == threads[k]);
      auto const& of_layer = buffer(w, "weights" + std::to_string(k + 1));
      // By warp: the inputs of its lanes, and its weights, in order.
      std::vector<std::vector<double>> input;
      std::vector<double> weight;
      std::size_t written = 0, offsets = 0;
      walk(kernel, width, [&](auto, auto, auto step, WarpInstruction const& in) {
        if (step == 0) input.assign(width, {}), weight.clear();
        if (in.op == Op::scalar_load && reads_data(in)) offsets += in.bytes_per_lane / 4;
        if (in.op == Op::load)
          each_lane(in, [&](auto lane, VirtAddr a) {
            (is(of_layer, a) ? weight : input[lane]).push_back(values.at(a));
          });
        if (in.op == Op::store)
          each_lane(in, [&](auto lane, VirtAddr a) {
            ++written;
            REQUIRE(input[lane].size() == inputs[k]);
            REQUIRE(weight.size() == inputs[k] + 1);
            auto sum = weight[0];
            for (std::size_t i = 0; i < inputs[k]; ++i) sum += input[lane][i] * weight[i + 1];
            values.at(a) = beyond(sum);
          });
      });
      CHECK(written == images * blocks[k] * threads[k]);
      // The offsets of a window's inputs, which fully connected neurons do not need.
      CHECK(offsets == (k < 2 ? 25 * images * blocks[k] * warps_of(kernel, width) : 0));
    }
    // Layer by layer with loops over maps: 1 map of 29x29, 6 of 13x13, 50 of 5x5, 100 and 10 neurons.
    auto const windows = [&](std::vector<double> const& in, std::size_t layer, std::size_t maps_in,
                             std::size_t side_in, std::size_t maps, std::size_t side) {
      std::vector<double> out;
      for (std::size_t n = 0; n < images; ++n)
        for (std::size_t m = 0; m < maps; ++m)
          for (std::size_t y = 0; y < side; ++y)
            for (std::size_t x = 0; x < side; ++x) {
              auto const* const own = &weights[layer][m * 26 * maps_in];
              auto sum = own[0];
              for (std::size_t b = 0; b < maps_in; ++b)
                for (std::size_t dy = 0; dy < 5; ++dy)
                  for (std::size_t dx = 0; dx < 5; ++dx)
                    sum += own[1 + (5 * dy + dx) * maps_in + b] *
                           in[((n * maps_in + b) * side_in + 2 * y + dy) * side_in + 2 * x + dx];
              out.push_back(beyond(sum));
            }
      return out;
    };
    auto const all_below = [&](std::vector<double> const& in, std::size_t layer, std::size_t below,
                               std::size_t neurons) {
      std::vector<double> out;
      for (std::size_t n = 0; n < images; ++n)
        for (std::size_t o = 0; o < neurons; ++o) {
          auto sum = weights[layer][o * (below + 1)];
          for (std::size_t i = 0; i < below; ++i)
            sum += weights[layer][o * (below + 1) + 1 + i] * in[n * below + i];
          out.push_back(beyond(sum));
        }
      return out;
    };
    auto const second = windows(image, 1, 1, 29, 6, 13);
    auto const third = windows(second, 2, 6, 13, 50, 5);
    auto const fourth = all_below(third, 3, 1250, 100);
    CHECK(values.of("neurons2") == second);
    CHECK(values.of("neurons3") == third);
    CHECK(values.of("neurons4") == fourth);
    CHECK(values.of("neurons5") == all_below(fourth, 4, 100, 10));
  }
}

TEST_CASE("nn: buffers have the sizes of the host program, and images are counted from one") {
  CHECK(build("nn", {{"images", "28"}}).footprint() ==
        4 * (156 + 7800 + 125'100 + 1010 + 2 * 25 + 28 * (29 * 29 + 6 * 13 * 13 + 1250 + 100 + 10)));
  CHECK(error_of([] { build("nn", {{"images", "0"}}); }).find("1 to 65536") != std::string::npos);
}

TEST_CASE("scalar_product: the products loaded by a block between two of its trees belong to one pair") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const length : {64U, 2112U, 5184U}) {
      auto const w =
          build("scalar_product", {{"vectors", "5"}, {"length", std::to_string(length)}, {"blocks", "2"}},
                of_width(width));
      Values values(w, 4);
      auto const a = values.fill("a", 7, 13), b = values.fill("b", 5, 11);
      std::map<std::pair<std::uint64_t, int>, double> sum;  // by block and pair
      std::map<std::pair<std::uint64_t, int>, VirtAddr> place;
      std::vector<double> factor(width);
      int trees = 0;
      walk(w.kernel(0), width, [&](auto block, auto, auto step, WarpInstruction const& in) {
        if (step == 0) trees = 0;
        if (in.op == Op::barrier) ++trees;
        if (in.op == Op::load) {
          CHECK(trees % 10 == 0);
          each_lane(in, [&](auto lane, VirtAddr at) {
            if (is(buffer(w, "a"), at))
              factor[lane] = values.at(at);
            else
              sum[{block, trees / 10}] += factor[lane] * values.at(at);
          });
        }
        if (in.op == Op::store) {
          CHECK((trees % 10 == 0 && trees != 0 && in.lanes == 1));
          place[{block, trees / 10 - 1}] = in.address[0];
        }
      });
      CHECK(place.size() == 5);
      for (auto const& [pair, address] : place) values.at(address) += sum[pair];
      for (std::size_t v = 0; v < 5; ++v) {
        double expected = 0;
        for (std::size_t i = 0; i < length; ++i) expected += a[v * length + i] * b[v * length + i];
        CHECK(values.of("c")[v] == expected);
      }
      CHECK(all_equal(touches(w, buffer(w, "a"), Op::load, width, 4), 1));
      CHECK(all_equal(touches(w, buffer(w, "b"), Op::load, width, 4), 1));
      CHECK(all_equal(touches(w, buffer(w, "c"), Op::store, width, 4), 1));
    }
}

TEST_CASE("scalar_product: loads, barriers and uses match the loops") {
  for (auto const& [vectors, length, width] :
       {std::tuple{3U, 4096U, 32U}, {3U, 4096U, 64U}, {4U, 7168U, 32U}, {4U, 7168U, 64U}}) {
    auto const w =
        build("scalar_product",
              {{"vectors", std::to_string(vectors)}, {"length", std::to_string(length)}, {"blocks", "2"}},
              of_width(width));
    auto const& shape = w.kernel(0).shape();
    CHECK(shape.blocks == 2);
    CHECK(shape.shared_bytes_per_block == 4096);
    CHECK(count(w, width, Op::load) == 2 * vectors * length / width);
    CHECK(count(w, width, Op::store) == vectors);
    CHECK(count(w, width, Op::barrier) == vectors * 10 * 256 / width);
    // 4 products are one group, 7 are a group of 3 and one of 4; the arguments are also waited for.
    std::uint64_t waits = 0;
    walk(w.kernel(0), width, [&](auto, auto, auto, WarpInstruction const& in) { waits += in.wait_loads; });
    CHECK(waits == (2 + vectors * 4 * (length == 4096 ? 1 : 2)) * 256 / width);
  }
  CHECK(build("scalar_product", {}).footprint() == (8 << 20) + 1024);
  CHECK(error_of([] {
          build("scalar_product", {{"length", "1000"}});
        }) == "length = 1000 must be a multiple of 64");
}

}  // namespace farfault::workloads::one_pass_test
