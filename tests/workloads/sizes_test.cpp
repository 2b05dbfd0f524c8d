// SPDX-License-Identifier: Apache-2.0
// The sizes of workloads, and their cost.
#include <cmath>

#include "farfault/workloads/cost.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads::sizes_test {
using namespace test;

namespace {

// Without a size: the trace, whose input determines it.
constexpr std::string_view kWithoutSize = "trace";
constexpr std::uint32_t kWidth = 64, kLine = 64;
constexpr std::uint64_t kMiB = 1 << 20;

Workload built(WorkloadInfo const& info, WorkloadSize const& size) {
  auto const builder = info.make();
  ParamTable table;
  builder->describe(table);
  set_defaults(size, table);
  return builder->build(of_width(kWidth));
}

std::string refused(WorkloadSize const& size) {
  auto const builder = make("relu");
  ParamTable table;
  builder->describe(table);
  return error_of([&] { set_defaults(size, table); });
}

}  // namespace

TEST_CASE(
    "sizes: every workload without an input file has small, medium and paper, and the paper's size a "
    "source") {
  for (auto const& info : all()) {
    CAPTURE(info.name);
    if (info.name == kWithoutSize) {
      CHECK(info.sizes.empty());
      continue;
    }
    REQUIRE(info.sizes.size() == 3);
    CHECK(info.sizes[0].name == kSmall);
    CHECK(info.sizes[1].name == kMedium);
    CHECK(info.sizes[2].name == kPaper);
    CHECK_FALSE(info.sizes[0].values.empty());
    for (auto const& size : info.sizes) CHECK(size.source.empty() == (size.name != kPaper));
    CHECK(find_size(info.sizes, kPaper) == &info.sizes[2]);
  }
}

TEST_CASE("sizes: the nine workloads of GMMU Bypass have its footprint as the paper's size") {
  for (auto const* name :
       {"aes", "fft", "fir", "kmeans", "maxpool", "pagerank", "relu", "stencil2d", "transpose"}) {
    CAPTURE(name);
    auto const& info = *std::ranges::find(all(), name, &WorkloadInfo::name);
    auto const* const size = find_size(info.sizes, kPaper);
    REQUIRE(size != nullptr);
    CHECK(size->source.starts_with("GMMU Bypass (NPC 2020), Table 2: 64 MB"));
    auto const mebibytes = static_cast<double>(built(info, *size).footprint()) / kMiB;
    CHECK(mebibytes >= 61.5);
    CHECK(mebibytes <= 64.5);
  }
}

TEST_CASE("sizes: small has at most 350,000 accesses, 2 million instructions and 8 MiB") {
  for (auto const& info : all()) {
    if (info.name == kWithoutSize) continue;
    CAPTURE(info.name);
    auto const cost = cost_of(built(info, info.sizes[0]), kWidth, kLine, kEveryWarp);
    CHECK(cost.accesses > 0);
    CHECK(cost.accesses <= 350'000);
    CHECK(cost.instructions <= 2'000'000);
    CHECK(cost.footprint <= 8 * kMiB);
  }
}

TEST_CASE("sizes: medium has at least the footprint of small") {
  for (auto const& info : all()) {
    if (info.name == kWithoutSize) continue;
    CAPTURE(info.name);
    CHECK(built(info, info.sizes[0]).footprint() <= built(info, info.sizes[1]).footprint());
  }
}

// Several minutes: on request (--no-skip).
TEST_CASE("sizes: footprints and accesses ascend from small to paper" * doctest::skip()) {
  for (auto const& info : all()) {
    WorkloadCost smaller;
    for (auto const& size : info.sizes) {
      CAPTURE(info.name);
      CAPTURE(name_of(size.name));
      auto const cost = cost_of(built(info, size), kWidth, kLine);
      CHECK(cost.footprint >= smaller.footprint);
      CHECK(cost.accesses >= smaller.accesses);
      smaller = cost;
    }
  }
}

TEST_CASE("sizes: a value that does not fit the workload's parameters is named with its size") {
  CHECK(refused({kSmall, {{"bytes", "4MiB"}}}) ==
        "size 'small' sets bytes, which is not a parameter of the workload");
  CHECK(refused({kPaper, {{"size", "1B"}}, "x"}) == "size 'paper' sets size: '1B' is outside 64 B to 1 TiB");
  CHECK(refused({kMedium, {{"size", "4MiB"}, {"block", "128"}}}) == "no error");
}

TEST_CASE("sizes: names are listed in ascending order") {
  CHECK(names_of(WorkloadSizes{}) == "none");
  CHECK(names_of({{kSmall, {}}, {kMedium, {}}, {kPaper, {}, "x"}}) == "small, medium, paper");
}

TEST_CASE("cost: lines of each access count once per warp instruction, and the last warp's are fewer") {
  // 16 warps in 4 blocks; each full warp accesses four lines of three arrays, the last one 40 elements.
  auto const cost = cost_of(build("vectoradd", {{"elements", "1000"}}, of_width(64)), 64, 64, kEveryWarp);
  CHECK(cost.footprint == 12'000);
  CHECK(cost.kernels == 1);
  CHECK(cost.warps == 16);
  CHECK(cost.instructions == 16 * 26);
  CHECK(cost.accesses == 3 * (15 * 4 + 3));
  auto const narrow = cost_of(build("vectoradd", {{"elements", "1000"}}, of_width(32)), 32, 128, kEveryWarp);
  CHECK(narrow.warps == 32);
  CHECK(narrow.accesses == 3 * (31 + 1));
}

TEST_CASE("cost: a sample of equal warps gives the exact counts") {
  auto const workload = build("vectoradd", {{"elements", "262144"}}, of_width(64));
  auto const exact = cost_of(workload, 64, 64, kEveryWarp);
  CHECK(exact.warps == 4096);
  CHECK(exact.instructions == 4096 * 26);
  CHECK(exact.accesses == 4096 * 12);
  for (CostSample const sample : {CostSample{}, CostSample{1, 1, 1}, CostSample{7, 100, 50}}) {
    auto const cost = cost_of(workload, 64, 64, sample);
    CHECK(cost.instructions == exact.instructions);
    CHECK(cost.accesses == exact.accesses);
  }
}

TEST_CASE("cost: a sample of different kernels and warps is within 20%") {
  auto const compare = [](std::string_view name, Settings settings) {
    CAPTURE(std::string(name));
    auto const workload = build(name, settings, of_width(64));
    auto const exact = static_cast<double>(cost_of(workload, 64, 64, kEveryWarp).accesses);
    auto const sampled = static_cast<double>(cost_of(workload, 64, 64).accesses);
    CHECK(std::abs(sampled - exact) < 0.2 * exact);
  };
  compare("bfs", {{"rmat.scale", "13"}});
  compare("scan", {{"size", "256KiB"}, {"iterations", "24"}});
  compare("lud", {{"side", "512"}});
}

}  // namespace farfault::workloads::sizes_test
