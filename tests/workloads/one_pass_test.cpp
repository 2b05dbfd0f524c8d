// Workloads that go over arrays of data in passes: their streams of addresses, played on real values, give
// what the algorithm gives.
#include <array>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "farfault/workloads/copies.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads {
using namespace test;
namespace {

BuildContext of_width(std::uint32_t width) {
  BuildContext context;
  context.warp_width = width;
  return context;
}

// The values in a workload's buffers, of `unit` bytes each. Whole numbers and halves of them, so that every
// sum is exact.
class Values {
 public:
  Values(Workload const& workload, std::uint64_t unit) : buffers_(workload.buffers()), unit_(unit) {
    for (auto const& b : buffers_) values_.emplace_back(b.bytes / unit);
  }

  double& at(VirtAddr a) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      auto const& b = buffers_[i];
      if (a < b.base || a + unit_ > b.base + b.bytes) continue;
      if ((a - b.base) % unit_ != 0) FAIL("not the address of an element");
      return values_[i][(a - b.base) / unit_];
    }
    FAIL("no buffer there");
    return values_[0][0];
  }

  std::vector<double>& of(std::string_view name) {
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (buffers_[i].name == name) return values_[i];
    FAIL("no buffer " << std::string(name));
    return values_[0];
  }

  // Small whole numbers that are not periodic in powers of two.
  std::vector<double> const& fill(std::string_view name, std::uint64_t factor, std::uint64_t modulus) {
    auto& list = of(name);
    for (std::size_t i = 0; i < list.size(); ++i)
      list[i] = static_cast<double>(i * factor % modulus) - static_cast<double>(modulus / 2);
    return list;
  }

 private:
  std::vector<Buffer> buffers_;
  std::uint64_t unit_;
  std::vector<std::vector<double>> values_;
};

// A program, with the names of its buffers.
std::string program_of(Workload const& w) {
  std::string all;
  for (auto const& o : w.operations()) {
    all += (all.empty() ? "" : " ") + std::to_string(o.stream) + ":";
    if (o.kind == OperationKind::kernel) all += "kernel" + std::to_string(o.number);
    if (o.kind == OperationKind::wait) all += "wait" + std::to_string(o.number);
    if (!o.is_copy()) continue;
    all += (o.kind == OperationKind::copy_to_gpus ? "in-" : "out-") + w.buffers()[w.buffer_at(o.first)].name;
    all += "+" + std::to_string(o.bytes);
  }
  return all;
}

bool is(Buffer const& b, VirtAddr a) {
  return a >= b.base && a < b.base + b.bytes;
}

// Instructions of one kind, of all kernels or of one.
std::uint64_t count(Workload const& w, std::uint32_t width, Op op, std::size_t first = 0,
                    std::size_t last = ~std::size_t{0}) {
  std::uint64_t n = 0;
  for (auto k = first; k < std::min(last, w.kernel_count()); ++k)
    walk(w.kernel(k), width, [&](auto, auto, auto, WarpInstruction const& in) { n += in.op == op; });
  return n;
}

// By block and warp, how many barriers there are; and none of its loads comes behind its first, none of its
// stores before its last.
std::set<int> barriers(Kernel const& kernel, std::uint32_t width) {
  std::map<std::pair<std::uint64_t, std::uint32_t>, int> seen, at_store;
  walk(kernel, width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
    auto& n = seen[{block, warp}];
    if (in.op == Op::barrier) ++n;
    if (in.op == Op::load) CHECK(n == 0);
    if (in.op == Op::store) at_store[{block, warp}] = n;
  });
  std::set<int> numbers;
  for (auto const& [warp, n] : seen) numbers.insert(n);
  for (auto const& [warp, n] : at_store) CHECK(n == seen[warp]);
  return numbers;
}

}  // namespace

TEST_CASE("blackscholes: both prices of an option come from its own three values, each read once") {
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

TEST_CASE("blackscholes: the grid keeps its size, and its warps go around as often as there are options") {
  auto const w = build("blackscholes", {});
  CHECK(w.kernel_count() == 1);
  CHECK(w.kernel(0).shape().blocks == 480);
  CHECK(w.kernel(0).shape().threads_per_block == 128);
  CHECK(w.footprint() == 5 * 8'000'000);
  // 1,000 options fill 31 warps and 8 lanes of 32, 10 blocks of a warp and a half and 40 lanes of 64.
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

TEST_CASE("nn: what a block loads makes its neurons, and all layers together those of the network") {
  for (auto const& [images, width] : {std::pair<std::size_t, std::uint32_t>{1, 32}, {2, 64}}) {
    auto const w = build("nn", {{"images", std::to_string(images)}}, of_width(width));
    REQUIRE(w.kernel_count() == 4);
    Values values(w, 4);
    auto const image = values.fill("neurons1", 7, 13);
    std::vector<double> weights[5];
    for (std::size_t l = 1; l < 5; ++l) weights[l] = values.fill("weights" + std::to_string(l), 5, 11);
    auto const beyond = [](double sum) { return sum - 3; };  // in place of tanh
    std::size_t const blocks[] = {6, 50, 100, 10}, threads[] = {169, 25, 1, 1},
                      inputs[] = {25, 150, 1250, 100};
    for (std::size_t k = 0; k < 4; ++k) {
      auto const& kernel = w.kernel(k);
      CHECK(kernel.shape().blocks == images * blocks[k]);
      CHECK(kernel.shape().threads_per_block == threads[k]);
      auto const& of_layer = buffer(w, "weights" + std::to_string(k + 1));
      // By warp: the inputs of its lanes, and its weights, in their order.
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
      // The offsets of a window's inputs, which neurons that are connected to everything do not need.
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

TEST_CASE("nn: buffers have the sizes that the host program gives them, and images are counted from one") {
  CHECK(build("nn", {{"images", "28"}}).footprint() ==
        4 * (156 + 7800 + 125'100 + 1010 + 2 * 25 + 28 * (29 * 29 + 6 * 13 * 13 + 1250 + 100 + 10)));
  CHECK(error_of([] { build("nn", {{"images", "0"}}); }).find("1 to 65536") != std::string::npos);
}

TEST_CASE("scalar_product: the products that a block loads between two of its trees are those of one pair") {
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

TEST_CASE("scalar_product: loads, barriers and uses are those of the loops") {
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
    // Of 4 products in one group, of 7 in one of 3 and one of 4; the arguments are waited for, too.
    std::uint64_t waits = 0;
    walk(w.kernel(0), width, [&](auto, auto, auto, WarpInstruction const& in) { waits += in.wait_loads; });
    CHECK(waits == (2 + vectors * 4 * (length == 4096 ? 1 : 2)) * 256 / width);
  }
  CHECK(build("scalar_product", {}).footprint() == (8 << 20) + 1024);
  CHECK(error_of([] {
          build("scalar_product", {{"length", "1000"}});
        }) == "scalar_product: length 1000 is not a multiple of 64");
}

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
          std::vector<VirtAddr> loads, stores;  // in their order
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
        // Each thread's values since its last store, and which store it is.
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
  // Kernels, blocks of the first, threads of a block's part, barriers.
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
      // Each kernel but one reads and writes its array once; that one reads both.
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
        }) == "fwt: a filter of 2^7 floats is longer than the data of 2^5");
}

TEST_CASE("convolution: what a block loads, filtered where it stores, is the image's convolution") {
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
      std::map<std::uint64_t, std::vector<double>> tile;  // by block, what it has loaded, where it was
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

TEST_CASE("convolution: blocks overlap by their halos alone, and each warp reads the coefficients once") {
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
    // Two kernels' warps hold four results for each thread, twice.
    CHECK(all_equal(touches(w, buffer(w, "filter"), Op::load, width, 4), 4 * pixels / 4 / width));
  }
  CHECK(build("convolution", {}).footprint() == 3ULL * 4 * 3072 * 1536 + 68);
  CHECK(program_of(build("convolution", {{"width", "64"}, {"height", "32"}})) ==
        "0:in-filter+68 0:in-input+8192 0:kernel0 0:kernel1 0:out-output+8192");
  CHECK(error_of([] {
          build("convolution", {{"width", "100"}});
        }) == "convolution: width 100 is not a multiple of 64");
  CHECK(error_of([] {
          build("convolution", {{"height", "100"}});
        }) == "convolution: height 100 is not a multiple of 32");
}

TEST_CASE("triad: parts that are copied in, computed and copied back in their order make the whole vector") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const* streams : {"1", "2"}) {
      auto const w =
          build("triad", {{"size", "8 KiB"}, {"smallest", "1 KiB"}, {"passes", "2"}, {"streams", streams}},
                of_width(width));
      Values values(w, 4);
      // Of part n, element i: a and b of all copies have values of their own.
      auto const value = [](std::size_t i, double of) { return static_cast<double>(i * 7 % 1001) + of; };
      std::map<std::string, std::size_t> next;  // element of a and of b that is copied next
      std::vector<double> result;
      std::size_t rounds = 0;
      for (auto const& o : w.operations()) {
        if (o.kind == OperationKind::kernel) {
          std::vector<double> a(width), b(width);
          walk(w.kernel(o.number), width, [&](auto, auto, auto, WarpInstruction const& in) {
            each_lane(in, [&](auto lane, VirtAddr at) {
              if (in.op == Op::load)
                (is(buffer(w, "a0"), at) || is(buffer(w, "a1"), at) ? a : b)[lane] = values.at(at);
              if (in.op == Op::store) values.at(at) = a[lane] + 1.75 * b[lane];
            });
          });
        }
        if (!o.is_copy()) continue;
        auto const name = w.buffers()[w.buffer_at(o.first)].name;
        auto& list = values.of(name);
        if (o.kind == OperationKind::copy_to_gpus) {
          auto& from = next[name.substr(0, 1)];
          for (std::size_t i = 0; i < o.bytes / 4; ++i) list[i] = value(from++, name[0] == 'a' ? 0 : 0.5);
        } else {
          result.insert(result.end(), list.begin(), list.begin() + static_cast<std::ptrdiff_t>(o.bytes / 4));
        }
        if (result.size() < 2048) continue;
        ++rounds;
        REQUIRE(result.size() == 2048);
        for (std::size_t i = 0; i < 2048; ++i) REQUIRE(result[i] == value(i, 0) + 1.75 * value(i, 0.5));
        CHECK(next["a"] == 2048);
        CHECK(next["b"] == 2048);
        result.clear();
        next.clear();
      }
      CHECK(rounds == 2 * 4);
      CHECK(w.kernel_count() == 2 * (8 + 4 + 2 + 1));
      CHECK(count(w, width, Op::load) == 2 * 4 * 2 * 2048 / width);
      CHECK(count(w, width, Op::store) == 2 * 4 * 2048 / width);
    }
}

TEST_CASE("triad: two sets of buffers take turns in two streams, which meet after each size") {
  auto w = build("triad", {{"size", "2 KiB"}, {"smallest", "1 KiB"}});
  CHECK(program_of(w) ==
        "0:in-a0+1024 0:in-b0+1024 0:kernel0 1:in-a1+1024 1:in-b1+1024 0:out-c0+1024 1:kernel1 1:out-c1+1024 "
        "0:wait7 1:wait5 0:in-a0+2048 0:in-b0+2048 0:kernel2 0:out-c0+2048");
  leave_out_copies(w);
  CHECK(program_of(w) == "0:kernel0 1:kernel1 0:wait1 1:wait0 0:kernel2");
  CHECK(program_of(build("triad", {{"size", "1 KiB"}, {"smallest", "512 B"}, {"streams", "1"}})) ==
        "0:in-a0+512 0:in-b0+512 0:kernel0 0:in-a1+512 0:in-b1+512 0:out-c0+512 0:kernel1 0:out-c1+512 "
        "0:in-a0+1024 0:in-b0+1024 0:kernel2 0:out-c0+1024");
  CHECK(build("triad", {}).kernel_count() == 127);
  CHECK(build("triad", {}).kernel(0).shape().blocks == 128);
  CHECK(build("triad", {{"size", "16 MiB"}}).kernel_count() == 511);
  CHECK(build("triad", {}).footprint() == 24 << 20);
  CHECK(error_of([] {
          build("triad", {{"size", "96 KiB"}});
        }) == "triad: size 96 KiB is not a power of two times smallest, 64 KiB");
  CHECK(error_of([] {
          build("triad", {{"smallest", "1000 B"}});
        }) == "triad: smallest 1 kB is not a multiple of a block's 512 B");
}

TEST_CASE("reduction: each block writes the sum of every 64th stretch of 512 elements, read once") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const* precision : {"single", "double"})
      for (auto const* size : {"16 KiB", "300 KiB"}) {
        std::uint64_t const unit = precision[0] == 's' ? 4 : 8;
        auto const w = build("reduction", {{"size", size}, {"iterations", "1"}, {"precision", precision}},
                             of_width(width));
        auto const suffix = std::string(unit == 4 ? "" : "_double");
        Values values(w, unit);
        auto const input = values.fill("input" + suffix, 7, 13);
        REQUIRE(w.kernel_count() == 1);
        std::vector<double> sum(64), expected(64);
        walk(w.kernel(0), width, [&](auto block, auto, auto, WarpInstruction const& in) {
          each_lane(in, [&](auto, VirtAddr a) {
            if (in.op == Op::load) sum[block] += values.at(a);
          });
        });
        walk(w.kernel(0), width, [&](auto block, auto, auto, WarpInstruction const& in) {
          if (in.op == Op::store) values.at(in.address[0]) += sum[block];
        });
        for (std::size_t i = 0; i < input.size(); ++i) expected[i / 512 % 64] += input[i];
        CHECK(values.of("sums" + suffix) == expected);
        CHECK(all_equal(
            touches(w, buffer(w, "input" + suffix), Op::load, width, static_cast<std::uint32_t>(unit)), 1));
        CHECK(barriers(w.kernel(0), width) == std::set{3});
        CHECK(count(w, width, Op::load) == input.size() / width);
        CHECK(count(w, width, Op::store) == 64);
      }
}

TEST_CASE("reduction: passes copy the array anew, doubles come after floats") {
  auto const w = build("reduction", {{"size", "8 KiB"}, {"passes", "2"}, {"iterations", "2"}});
  CHECK(
      program_of(w) ==
      "0:in-input+8192 0:kernel0 0:kernel1 0:out-sums+256 0:in-input+8192 0:kernel2 0:kernel3 0:out-sums+256 "
      "0:in-input_double+8192 0:kernel4 0:kernel5 0:out-sums_double+512 "
      "0:in-input_double+8192 0:kernel6 0:kernel7 0:out-sums_double+512");
  CHECK(w.kernel(0).shape().blocks == 64);
  CHECK(w.kernel(0).shape().shared_bytes_per_block == 1024);
  CHECK(w.kernel(4).shape().shared_bytes_per_block == 2048);
  CHECK(count(w, 32, Op::load, 0, 1) == 2048 / 32);
  CHECK(count(w, 32, Op::load, 4, 5) == 1024 / 32);
  CHECK(build("reduction", {}).kernel_count() == 64);
  CHECK(build("reduction", {}).footprint() == (2 << 20) + 256 + 512);
  CHECK(error_of([] {
          build("reduction", {{"size", "10 KiB"}});
        }) == "reduction: size 10 KiB is not a multiple of 4 KiB");
}

TEST_CASE("scan: sums of the blocks' stretches, scanned, begin the stretches' own prefix sums") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const* precision : {"single", "double"})
      for (auto const* size : {"2 KiB", "100000 B", "300000 B"}) {
        auto const unit = precision[0] == 's' ? 4U : 8U;
        auto const w =
            build("scan", {{"size", size}, {"iterations", "1"}, {"precision", precision}}, of_width(width));
        auto const suffix = std::string(unit == 4 ? "" : "_double");
        auto const& in_buffer = buffer(w, "input" + suffix);
        auto const& out_buffer = buffer(w, "output" + suffix);
        auto const& sums_buffer = buffer(w, "block_sums" + suffix);
        Values values(w, unit);
        auto const input = values.fill("input" + suffix, 7, 13);
        REQUIRE(w.kernel_count() == 3);
        // Sums of the blocks.
        std::vector<double> sum(64);
        walk(w.kernel(0), width, [&](auto block, auto, auto, WarpInstruction const& in) {
          if (in.op == Op::load) each_lane(in, [&](auto, VirtAddr a) { sum[block] += values.at(a); });
        });
        walk(w.kernel(0), width, [&](auto block, auto, auto, WarpInstruction const& in) {
          if (in.op == Op::store) values.at(in.address[0]) += sum[block];
        });
        // Their scan by one block.
        std::map<VirtAddr, double> before;
        walk(w.kernel(1), width, [&](auto, auto, auto, WarpInstruction const& in) {
          if (in.op == Op::load) each_lane(in, [&](auto, VirtAddr a) { before[a] = values.at(a); });
        });
        CHECK(before.size() == 64);
        double running = 0;
        for (auto& [a, v] : before) running += std::exchange(v, running);
        walk(w.kernel(1), width, [&](auto, auto, auto, WarpInstruction const& in) {
          if (in.op == Op::store) each_lane(in, [&](auto, VirtAddr a) { values.at(a) = before.at(a); });
        });
        // Prefix sums of what a block has loaded, from its seed on.
        std::vector<std::uint64_t> owner(input.size(), 64);
        std::vector<double> seed(64), prefix = input;
        walk(w.kernel(2), width, [&](auto block, auto, auto, WarpInstruction const& in) {
          if (in.op != Op::load) return;
          each_lane(in, [&](auto, VirtAddr a) {
            if (is(sums_buffer, a))
              seed[block] = values.at(a);
            else
              for (std::uint32_t i = 0; i < in.bytes_per_lane; i += unit)
                owner[(a + i - in_buffer.base) / unit] = block;
          });
        });
        for (std::size_t i = 0; i < input.size(); ++i) {
          REQUIRE(owner[i] < 64);
          prefix[i] += i == 0 || owner[i] != owner[i - 1] ? seed[owner[i]] : prefix[i - 1];
        }
        walk(w.kernel(2), width, [&](auto block, auto, auto, WarpInstruction const& in) {
          if (in.op != Op::store) return;
          each_lane(in, [&](auto, VirtAddr a) {
            for (std::uint32_t i = 0; i < in.bytes_per_lane; i += unit) {
              auto const element = (a + i - out_buffer.base) / unit;
              if (owner[element] == block) values.at(a + i) += prefix[element];
            }
          });
        });
        std::vector<double> expected;
        for (auto const v : input) expected.push_back((expected.empty() ? 0 : expected.back()) + v);
        CHECK(values.of("output" + suffix) == expected);
        CHECK(all_equal(touches(w, in_buffer, Op::load, width, unit), 2));
        CHECK(all_equal(touches(w, out_buffer, Op::store, width, unit), 1));
      }
}

TEST_CASE(
    "scan: a window of 1,024 elements has six barriers, and doubles take two accesses for each vector") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const* precision : {"single", "double"}) {
      bool const single = precision[0] == 's';
      std::uint64_t const unit = single ? 4 : 8;
      auto const w =
          build("scan", {{"size", "1 MiB"}, {"iterations", "2"}, {"precision", precision}}, of_width(width));
      CHECK(w.kernel_count() == 6);
      auto const elements = (1ULL << 20) / unit;
      auto const warps = 256 / width;
      for (auto const& [k, blocks, loads, stores, block_barriers] :
           {std::tuple{0U, 64U, elements / width, std::uint64_t{64}, 3U},
            {1U, 1U, std::uint64_t{64 / width}, std::uint64_t{64 / width}, 4U},
            {2U, 64U, 64 * warps + elements * unit / 16 / width, elements * unit / 16 / width,
             static_cast<unsigned>(6 * elements / 64 / 1024)}}) {
        auto const& shape = w.kernel(k + 3).shape();
        CHECK(shape.blocks == blocks);
        CHECK(shape.threads_per_block == 256);
        CHECK(count(w, width, Op::load, k + 3, k + 4) == loads);
        CHECK(count(w, width, Op::store, k + 3, k + 4) == stores);
        CHECK(count(w, width, Op::barrier, k + 3, k + 4) == blocks * warps * block_barriers);
      }
    }
  CHECK(program_of(build(
            "scan", {{"size", "2 KiB"}, {"passes", "2"}, {"iterations", "1"}, {"precision", "double"}})) ==
        "0:in-input_double+2048 0:kernel0 0:kernel1 0:kernel2 0:out-output_double+2048 "
        "0:kernel3 0:kernel4 0:kernel5 0:out-output_double+2048");
  CHECK(build("scan", {}).kernel_count() == 2 * 16 * 3);
  CHECK(build("scan", {}).footprint() == (4 << 20) + 256 + 512);
  CHECK(error_of([] {
          build("scan", {{"size", "100001 B"}});
        }) == "scan: size 100001 B is not a multiple of four doubles, 32 B");
}

TEST_CASE(
    "workloads in passes: nothing is stored and no barrier is reached before the loads have been waited "
    "for") {
  auto const early = [](std::string_view name, Settings settings) {
    auto const w = build(name, settings);
    std::uint64_t n = 0;
    for (std::size_t k = 0; k < w.kernel_count(); ++k) {
      bool under_way = false;
      walk(w.kernel(k), 32, [&](auto, auto, auto step, WarpInstruction const& in) {
        if (step == 0 || in.wait_loads) under_way = false;
        if (in.op == Op::load || in.op == Op::scalar_load) under_way = true;
        n += under_way && (in.op == Op::store || in.op == Op::barrier);
      });
    }
    return n;
  };
  CHECK(early("blackscholes", {{"options", "1000"}}) == 0);
  CHECK(early("nn", {{"images", "1"}}) == 0);
  CHECK(early("scalar_product", {{"vectors", "3"}, {"length", "1088"}, {"blocks", "2"}}) == 0);
  CHECK(early("fwt", {{"log2_data", "12"}}) == 0);
  CHECK(early("convolution", {{"width", "128"}, {"height", "64"}}) == 0);
  CHECK(early("triad", {{"size", "64 KiB"}}) == 0);
  CHECK(early("reduction", {{"size", "64 KiB"}, {"iterations", "1"}}) == 0);
  CHECK(early("scan", {{"size", "100000 B"}, {"iterations", "1"}}) == 0);
}

}  // namespace farfault::workloads
