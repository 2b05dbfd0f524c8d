// SPDX-License-Identifier: Apache-2.0
// The passes of SHOC: vectors in parts, sums and prefix sums, executed on real values.
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "farfault/workloads/copies.hpp"
#include "pass_values.hpp"

namespace farfault::workloads::shoc_passes_test {
using namespace test;
using namespace test::passes;

TEST_CASE("triad: parts that are copied in, computed and copied back in order form the whole vector") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const* streams : {"1", "2"}) {
      auto const w =
          build("triad", {{"size", "8 KiB"}, {"smallest", "1 KiB"}, {"passes", "2"}, {"streams", streams}},
                of_width(width));
      Values values(w, 4);
      // Element i of a or b; each copy has different values.
      auto const value = [](std::size_t i, double of) { return static_cast<double>(i * 7 % 1001) + of; };
      std::map<std::string, std::size_t> next;  // next element of a and of b to be copied
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

TEST_CASE("triad: two sets of buffers alternate in two streams, which synchronize after each size") {
  auto w = build("triad", {{"size", "2 KiB"}, {"smallest", "1 KiB"}});
  CHECK(program_of(w) ==
        "0:in-a0+1024 0:in-b0+1024 0:kernel0 1:in-a1+1024 1:in-b1+1024 0:out-c0+1024 1:kernel1 1:out-c1+1024 "
        "0:wait7 1:wait5 0:in-a0+2048 0:in-b0+2048 0:kernel2 0:out-c0+2048");
  exclude_copies(w);
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
        }) == "size = 96 KiB must be a power of two times smallest, 64 KiB");
  CHECK(error_of([] {
          build("triad", {{"smallest", "1000 B"}});
        }) == "smallest = 1 kB must be a multiple of 512 B, the data of a block");
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

TEST_CASE("reduction: passes copy the array again, and doubles follow floats") {
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
        }) == "size = 10 KiB must be a multiple of 4 KiB");
}

TEST_CASE("scan: scanned sums of the blocks' stretches start the stretches' prefix sums") {
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
        // The scan of the sums by one block.
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
        // Prefix sums of a block's loads, starting from its seed.
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
  struct Pass {
    std::uint64_t kernel = 0, blocks = 0, loads = 0, stores = 0, block_barriers = 0;
  };
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
           {Pass{.kernel = 0, .blocks = 64, .loads = elements / width, .stores = 64, .block_barriers = 3},
            Pass{.kernel = 1, .blocks = 1, .loads = 64 / width, .stores = 64 / width, .block_barriers = 4},
            Pass{.kernel = 2,
            .blocks = 64,
            .loads = 64 * warps + elements * unit / 16 / width,
            .stores = elements * unit / 16 / width,
            .block_barriers = 6 * elements / 64 / 1024}}) {
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
        }) == "size = 100001 B must be a multiple of 32 B, four doubles");
}

TEST_CASE("workloads in passes: no store and no barrier precedes the wait for the loads") {
  auto const early = [](std::string_view name, Settings settings) {
    auto const w = build(name, settings);
    std::uint64_t n = 0;
    for (std::size_t k = 0; k < w.kernel_count(); ++k) {
      bool outstanding = false;
      walk(w.kernel(k), 32, [&](auto, auto, auto step, WarpInstruction const& in) {
        if (step == 0 || in.wait_loads) outstanding = false;
        if (in.op == Op::load || in.op == Op::scalar_load) outstanding = true;
        n += outstanding && (in.op == Op::store || in.op == Op::barrier);
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

}  // namespace farfault::workloads::shoc_passes_test
