// SPDX-License-Identifier: Apache-2.0
// Data rates of results with hand-written figures.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "farfault/analysis/explain.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace explain_throughput_test {

using namespace farfault;
using namespace farfault::analysis;
using namespace farfault::results;

namespace {

constexpr std::uint64_t kEnd = 2'000'000;  // 2 us

std::string const kConfig =
    "[gpu]\nline_bytes = 64\nclock = \"1 GHz\"\n\n[gpu.l2_cache]\nports = 2\n\n[gpu.dram]\nbandwidth = \"50 "
    "GB/s\"\n\n[cpu.dram]\nbandwidth = \"20 GB/s\"\n";

// Two DRAM channels with 50 kB and 20 kB, an L2 slice with 1,000 requests; three directions of links.
std::string written(std::string const& path, std::string const& config = kConfig,
                    std::vector<std::uint64_t> const& amounts = {50'000, 20'000, 0, 600, 400}) {
  auto header = sample::header();
  header.resolved_config = config;
  header.links = {{.a = 0,
                   .b = 1,
                   .kind = "nvlink",
                   .latency_ps = 500'000,
                   .forward_bytes_per_s = 25'000'000'000,
                   .backward_bytes_per_s = 25'000'000'000},
                  {.a = 1,
                   .b = 2,
                   .kind = "pcie",
                   .latency_ps = 500'000,
                   .forward_bytes_per_s = 16'000'000'000,
                   .backward_bytes_per_s = 8'000'000'000}};
  StatInfo const bytes{"bytes", "bytes", "Bytes.", StatKind::counter, 1};
  header.series = {{"dram", {"gpu0.dram0", "gpu0.dram1"}, {bytes}},
                   {"cpu_dram", {"cpu0.dram0"}, {bytes}},
                   {"l2_slice",
                    {"gpu0.l2_slice0"},
                    {{"reads", "count", "Reads.", StatKind::counter, 1},
                     {"writes", "count", "Writes.", StatKind::counter, 1}}}};
  header.tables = {{"links",
                    "Links.",
                    {{"link", "count", "Link.", ColumnType::u64},
                     {"from", "text", "Node.", ColumnType::text},
                     {"to", "text", "Node.", ColumnType::text},
                     {"sender", "text", "Component.", ColumnType::text},
                     {"bytes", "bytes", "Bytes.", ColumnType::u64},
                     {"busy_time", "ps", "Time.", ColumnType::u64},
                     {"bandwidth", "bytes/s", "Peak.", ColumnType::u64}}}};
  ResultWriter writer(path, header);
  writer.append_sample(Time{Duration{kEnd}}, amounts);
  auto const link = [&](std::uint64_t number, char const* from, char const* to, std::uint64_t n,
                        std::uint64_t peak) {
    writer.append_row(0, std::vector<Cell>{number, std::string(from), std::string(to), std::string("x"), n,
                                           std::uint64_t{0}, peak});
  };
  link(0, "gpu0", "gpu1", 10'000, 25'000'000'000);
  link(0, "gpu1", "gpu0", 5'000, 25'000'000'000);
  link(1, "gpu1", "cpu0", 0, 16'000'000'000);
  std::vector<SummaryRow> rows;
  for (auto const& [metric, value] : {std::pair<char const*, std::uint64_t>{"end", kEnd},
                                      {"sm_access_time", 1},
                                      {"sm_transactions", 1},
                                      {"sm_time", kEnd}})
    rows.push_back({"machine", "machine", metric, "ps", "Time.", value});
  writer.summary(rows);
  writer.finish("completed");
  return path;
}

std::vector<std::string> names_of(std::vector<Throughput> const& all) {
  std::vector<std::string> names;
  for (auto const& t : all) names.push_back(t.what);
  return names;
}

}  // namespace

TEST_CASE("explain: throughput is the bytes of the run over its time, with the peak of all instances") {
  Scratch dir;
  auto const all = explain(written(dir / "a.h5")).throughputs;
  // Nothing was transferred by the CPU's memory and over PCIe.
  REQUIRE(names_of(all) == std::vector<std::string>{"DRAM", "L2 cache", "nvlink links"});
  CHECK(all[0].instances == "channels");
  CHECK(all[0].alike == 2);
  CHECK(all[0].bytes == 70'000);
  CHECK(all[0].rate == 35e9);
  CHECK(all[0].peak == 100e9);
  CHECK(all[0].share() == doctest::Approx(0.35));
  CHECK(all[0].busiest == "gpu0.dram0");
  CHECK(all[0].share_of_busiest == doctest::Approx(0.5));
  // 1,000 lines of 64 bytes; two look-ups per cycle of 1 ns.
  CHECK(all[1].instances == "slices");
  CHECK(all[1].bytes == 64'000);
  CHECK(all[1].rate == 32e9);
  CHECK(all[1].peak == 128e9);
  CHECK(all[2].instances == "directions");
  CHECK(all[2].alike == 2);
  CHECK(all[2].rate == 7.5e9);
  CHECK(all[2].peak == 50e9);
  CHECK(all[2].busiest == "gpu0 to gpu1");
  CHECK(all[2].share_of_busiest == doctest::Approx(0.2));
}

TEST_CASE("explain: a resource whose peak is not in the result has no throughput") {
  Scratch dir;
  auto const all = explain(written(dir / "a.h5", "[gpu.dram]\nbandwidth = \"fast\"\n")).throughputs;
  CHECK(names_of(all) == std::vector<std::string>{"nvlink links"});
  auto const cpu = explain(written(dir / "b.h5", kConfig, {0, 0, 4'000, 0, 0})).throughputs;
  REQUIRE(names_of(cpu) == std::vector<std::string>{"CPU DRAM", "nvlink links"});
  CHECK(cpu[0].share() == doctest::Approx(0.1));
}

TEST_CASE("explain: the throughput has the same figures as JSON") {
  Scratch dir;
  auto const json = nlohmann::json::parse(to_json(explain(written(dir / "a.h5"))))["throughputs"];
  REQUIRE(json.size() == 3);
  CHECK(json[0] == nlohmann::json{{"what", "DRAM"},
                                  {"instances", "channels"},
                                  {"alike", 2},
                                  {"bytes", 70'000},
                                  {"bytes_per_second", 35e9},
                                  {"peak_bytes_per_second", 100e9},
                                  {"share_of_peak", 0.35},
                                  {"busiest", "gpu0.dram0"},
                                  {"busiest_share_of_peak", 0.5}});
}

}  // namespace explain_throughput_test
