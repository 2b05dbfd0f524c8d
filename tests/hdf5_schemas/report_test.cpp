// SPDX-License-Identifier: Apache-2.0
// Report data of hand-written results.
#include "farfault/analysis/report.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "farfault/engine/error.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace report_test {

using namespace farfault;
using namespace farfault::analysis;
using namespace farfault::results;

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMicrosecond = 1'000'000;  // in ps

Time at(std::uint64_t ps) {
  return Time{Duration{static_cast<std::int64_t>(ps)}};
}

StatInfo counter(std::string_view name, std::string_view unit = "count") {
  return {.name = name, .unit = unit, .text = "A counter.", .kind = StatKind::counter, .bins = 1};
}

RunHeader header_of(std::size_t gpus) {
  auto header = sample::header();
  header.nodes.clear();
  for (std::size_t i = 0; i < gpus; ++i) header.nodes.push_back({"gpu" + std::to_string(i), "gpu"});
  header.nodes.push_back({"cpu0", "cpu"});
  header.links = {{.a = 0,
                   .b = static_cast<std::uint32_t>(gpus),
                   .kind = "pcie",
                   .latency_ps = 1,
                   .forward_bytes_per_s = 1,
                   .backward_bytes_per_s = 1}};
  header.series.clear();
  header.tables.clear();
  return header;
}

std::vector<std::string> paths(std::size_t gpus, std::string const& component) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < gpus; ++i) all.push_back("gpu" + std::to_string(i) + component);
  return all;
}

Json shown_of(std::string const& path, ReportSize const& size = {}) {
  return Json::parse(report_data(path, size));
}

// Plots have four digits.
doctest::Approx near(double value) {
  return doctest::Approx(value).epsilon(0.001);
}

Json find(Json const& list, std::string const& id) {
  for (auto const& one : list)
    if (one["id"] == id) return one;
  return {};
}

std::vector<double> values_of(Json const& row) {
  std::vector<double> all;
  for (auto const& v : row["values"])
    all.push_back(v.is_null() ? std::nan("") : v.get<double>() * row["scale"].get<double>());
  return all;
}

std::string bytes_of(Json const& base64) {
  std::string const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (char const c : base64.get<std::string>()) {
    if (c == '=') break;
    bits = bits << 6U | static_cast<std::uint32_t>(letters.find(c));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> static_cast<unsigned>(held) & 255U);
  }
  return bytes;
}

std::vector<double> floats_of(Json const& base64) {
  auto const bytes = bytes_of(base64);
  std::vector<float> all(bytes.size() / sizeof(float));
  std::memcpy(all.data(), bytes.data(), all.size() * sizeof(float));
  return {all.begin(), all.end()};
}

// [GPU][interval] of a chart, stage or SM state.
std::vector<std::vector<double>> rows_of(Json const& one) {
  auto const bytes = bytes_of(one["values"]);
  auto const scale = floats_of(one["scale"]);
  auto const wide = one["bytes"].get<std::size_t>();
  auto const intervals = bytes.size() / wide / scale.size();
  std::vector<std::vector<double>> rows;
  for (std::size_t gpu = 0; gpu < scale.size(); ++gpu) {
    rows.emplace_back();
    for (std::size_t k = 0; k < intervals; ++k) {
      auto const* const at = bytes.data() + (gpu * intervals + k) * wide;
      auto const low = static_cast<unsigned char>(at[0]);
      auto const value = wide == 1 ? low : low + 256U * static_cast<unsigned char>(at[1]);
      auto const none = wide == 1 ? 255U : 65535U;
      rows.back().push_back(value == none ? std::nan("") : value * scale[gpu]);
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("report data: counters are rates, time is a share, and levels are the values of the last sample") {
  Scratch dir;
  auto header = header_of(2);
  header.series = {
      {"l2_tlb", paths(2, ".l2_tlb"), {counter("hits"), counter("misses")}},
      {"dispatcher", paths(2, ".dispatcher"), {{"blocks_running", "count", "A level.", StatKind::level, 1}}},
      {"dram", {"gpu0.dram0", "gpu0.dram1", "gpu1.dram0", "gpu1.dram1"}, {counter("busy_time", "ps")}},
      {"utlb", {"gpu0.utlb"}, {counter("hits"), counter("misses")}}};
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    // hits, misses of both; blocks; busy times; hits and misses of the other level
    writer.append_sample(at(kMicrosecond),
                         std::vector<std::uint64_t>{30, 0, 10, 0, 5, 7, 500'000, 0, 0, 0, 1, 3});
    writer.append_sample(at(3 * kMicrosecond), std::vector<std::uint64_t>{30, 8, 10, 2, 4, 1, 1'500'000,
                                                                          1'000'000, 0, 2'000'000, 1, 3});
    writer.finish("completed");
  }
  auto const data = shown_of(path);
  auto const clock = data["clocks"][find(data["series"], "l2_tlb")["clock"].get<std::size_t>()];
  CHECK(clock == Json{kMicrosecond, 3 * kMicrosecond});
  auto const rate = values_of(find(data["series"], "l2_tlb")["rows"][0]);
  CHECK(rate[0] == near(0.75));
  CHECK(std::isnan(rate[1]));  // no lookups
  CHECK(values_of(find(data["series"], "l2_tlb")["rows"][1])[1] == near(0.8));
  auto const other = find(data["series"], "utlb");  // a level of TLBs by its name
  CHECK(other["title"] == "Hit rate of utlb");
  CHECK(values_of(other["rows"][0])[0] == near(0.25));
  auto const blocks = values_of(find(data["series"], "blocks")["rows"][1]);
  CHECK(blocks[0] == near(7));
  CHECK(blocks[1] == near(1));
  auto const busy = find(data["series"], "dram")["rows"];
  CHECK(busy[0]["name"] == "gpu0");
  CHECK(values_of(busy[0])[0] == near(0.25));  // of two channels
  CHECK(values_of(busy[0])[1] == near(0.5));
  CHECK(values_of(busy[1])[1] == near(0.5));
  auto const total = find(data["totals"], "l2_tlb/misses");
  CHECK(total["units"] == "/s");
  CHECK(values_of(total["rows"][0])[0] == near(10e6));
  CHECK(find(data["totals"], "dram/busy_time")["units"] == "on average");
}

TEST_CASE("report data: many samples become few intervals that end at samples and lose nothing") {
  Scratch dir;
  auto header = header_of(1);
  header.series = {{"gmmu", {"gpu0.gmmu"}, {counter("walks")}}};
  auto const path = dir / "a.h5";
  constexpr std::uint64_t kSamples = 5000;
  {
    ResultWriter writer(path, header);
    for (std::uint64_t i = 1; i <= kSamples; ++i)
      writer.append_sample(at(i * i * 1000), std::vector<std::uint64_t>{i * 7});
    writer.finish("completed");
  }
  auto const data = shown_of(path, {.points = 100});
  auto const walks = find(data["series"], "walks");
  auto const ends = data["clocks"][walks["clock"].get<std::size_t>()].get<std::vector<std::uint64_t>>();
  CHECK(ends.size() <= 101);
  CHECK(ends.size() >= 90);
  CHECK(ends.back() == kSamples * kSamples * 1000);
  auto const rates = values_of(walks["rows"][0]);
  auto sum = 0.0;
  std::uint64_t from = 0;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    auto const root = static_cast<std::uint64_t>(std::lround(std::sqrt(ends[k] / 1000)));
    CHECK(root * root * 1000 == ends[k]);
    sum += rates[k] * static_cast<double>(ends[k] - from) / 1e12;
    from = ends[k];
  }
  CHECK(sum == near(kSamples * 7));
}

TEST_CASE("report data: many GPUs are shown by mean, minimum, maximum and the busiest") {
  Scratch dir;
  auto header = header_of(10);
  header.series = {{"gmmu", paths(10, ".gmmu"), {counter("walks")}}};
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    writer.append_sample(at(1'000'000'000'000),
                         std::vector<std::uint64_t>{5, 3, 90, 10, 10, 10, 10, 10, 12, 40});
    writer.finish("completed");
  }
  auto const rows = find(shown_of(path, {.gpus = 5})["series"], "walks")["rows"];
  REQUIRE(rows.size() == 5);
  CHECK(rows[0]["name"] == "mean of 10");
  CHECK(values_of(rows[0])[0] == near(20));
  CHECK(values_of(rows[1])[0] == near(3));
  CHECK(values_of(rows[2])[0] == near(90));
  CHECK(rows[3]["name"] == "gpu2");
  CHECK(rows[4]["name"] == "gpu9");
}

TEST_CASE("report data: the busy time of a sender with two links is not above that of each link") {
  Scratch dir;
  auto header = header_of(1);
  header.series = {
      {"rdma", {"gpu0.rdma"}, {counter("packets"), counter("bytes", "bytes"), counter("busy_time", "ps")}}};
  header.tables = {{"links",
                    "Links.",
                    {{"link", "index", "Link.", ColumnType::u64},
                     {"from", "text", "Node.", ColumnType::text},
                     {"to", "text", "Node.", ColumnType::text},
                     {"sender", "text", "Component.", ColumnType::text},
                     {"packets", "count", "Packets.", ColumnType::u64},
                     {"bytes", "bytes", "Bytes.", ColumnType::u64},
                     {"busy_time", "ps", "Time.", ColumnType::u64}}}};
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    writer.append_sample(at(1000), std::vector<std::uint64_t>{1, 64, 1600});
    for (std::uint64_t link = 0; link < 2; ++link)
      writer.append_row(0, std::vector<Cell>{link, "gpu0", "cpu0", "gpu0.rdma", std::uint64_t{1},
                                             std::uint64_t{32}, std::uint64_t{800}});
    writer.finish("completed");
  }
  auto const data = shown_of(path);
  CHECK(values_of(find(data["series"], "rdma_busy")["rows"][0])[0] == near(0.8));
  CHECK(data["link_use"][0]["busy"].get<double>() == near(0.8));
  CHECK(!data["link_use"][0].contains("over_time"));  // the sender's statistics cover both links
}

TEST_CASE("report data: the traffic of many devices is summed by groups without loss") {
  Scratch dir;
  auto header = header_of(300);
  header.tables = {{"traffic",
                    "Traffic.",
                    {{"from", "text", "Device.", ColumnType::text},
                     {"to", "text", "Device.", ColumnType::text},
                     {"bytes", "bytes", "Bytes.", ColumnType::u64}}}};
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    for (std::uint64_t i = 0; i < 300; ++i)
      writer.append_row(
          0, std::vector<Cell>{"gpu" + std::to_string(i), "gpu" + std::to_string((i + 1) % 300), i});
    writer.finish("completed");
  }
  auto const traffic = shown_of(path)["traffic"];
  CHECK(traffic["per_row"] == 3);
  CHECK(traffic["devices"].size() == 100);
  CHECK(traffic["devices"][1] == "gpu3 to gpu5");
  std::uint64_t sum = 0;
  for (auto const& cell : traffic["bytes"]) sum += cell[2].get<std::uint64_t>();
  CHECK(sum == 299 * 300 / 2);
}

TEST_CASE("report data: the activity of every GPU takes one or two bytes per value") {
  Scratch dir;
  auto header = header_of(3);
  header.series = {{"l2_tlb", paths(3, ".l2_tlb"), {counter("hits"), counter("misses")}},
                   {"sm", {"gpu0.sm0", "gpu1.sm0", "gpu1.sm1", "gpu2.sm0"}, {counter("instructions")}},
                   {"sm.by_gpu", paths(3, ""), {counter("active_time", "ps"), counter("time_in_dram", "ps")}},
                   {"iommu", {"cpu0.iommu"}, {counter("walker_busy_time", "ps")}}};
  header.tables = {{"links",
                    "Links.",
                    {{"link", "index", "Link.", ColumnType::u64},
                     {"from", "text", "Node.", ColumnType::text},
                     {"to", "text", "Node.", ColumnType::text},
                     {"sender", "text", "Component.", ColumnType::text},
                     {"packets", "count", "Packets.", ColumnType::u64},
                     {"bytes", "bytes", "Bytes.", ColumnType::u64},
                     {"busy_time", "ps", "Time.", ColumnType::u64}}}};
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    // hits, misses; instructions; active time, time in DRAM; of the CPU
    writer.append_sample(at(kMicrosecond), std::vector<std::uint64_t>{30, 0, 9, 10, 0, 1, 1, 2, 3, 4, 500'000,
                                                                      1'000'000, 0, 3'000'000, 0, 0, 100});
    writer.append_sample(at(3 * kMicrosecond),
                         std::vector<std::uint64_t>{30, 8, 9, 10, 2, 1, 1, 2, 3, 8, 500'000, 3'000'000,
                                                    2'000'000, 3'000'000, 4'000'000, 0, 200});
    writer.append_row(0, std::vector<Cell>{std::uint64_t{0}, "gpu1", "cpu0", "gpu1.rdma", std::uint64_t{5},
                                           std::uint64_t{320}, std::uint64_t{1'500'000}});
    writer.append_row(0, std::vector<Cell>{std::uint64_t{0}, "cpu0", "gpu1", "cpu0.port", std::uint64_t{6},
                                           std::uint64_t{64}, std::uint64_t{0}});
    std::vector<SummaryRow> rows{{"machine", "machine", "end", "ps", "End.", 3 * kMicrosecond}};
    for (std::uint64_t g = 3; g-- > 0;)
      rows.push_back({"gpu", "gpu" + std::to_string(g), "sm_time_in_dram", "ps", "Time.", 1000 * g});
    writer.summary(rows);
    writer.finish("completed");
  }
  for (std::size_t const wide : {1U, 2U}) {
    CAPTURE(wide);
    auto const all = shown_of(path, {.gpu_bytes = wide == 1 ? 10'000U : 1'000'000U})["gpus"];
    auto const exactly = [wide](double v) { return doctest::Approx(v).epsilon(wide == 1 ? 0.004 : 0.00002); };
    CHECK(all["names"] == Json{"gpu0", "gpu1", "gpu2"});
    auto const tlb = find(all["charts"], "l2_tlb");
    CHECK(tlb["bytes"] == wide);
    CHECK(tlb["units"] == "share");
    auto const rate = rows_of(tlb);
    REQUIRE(rate.size() == 3);
    REQUIRE(rate[1].size() == 2);
    CHECK(rate[0][0] == exactly(0.75));
    CHECK(std::isnan(rate[0][1]));  // no lookups
    CHECK(std::isnan(rate[1][0]));
    CHECK(rate[1][1] == exactly(0.8));
    CHECK(rate[2][0] == exactly(0.9));
    CHECK(find(all["charts"], "iommu").is_null());  // belongs to no GPU
    CHECK(rows_of(find(all["charts"], "instructions"))[2][1] == exactly(2e6));
    REQUIRE(all["sms"].size() == 1);
    CHECK(all["sms"][0]["what"] == "executing");
    auto const active = rows_of(all["sms"][0]);
    CHECK(active[0][0] == exactly(0.5));
    CHECK(active[0][1] == 0);
    CHECK(active[1][0] == exactly(0.5));                      // of two SMs
    CHECK(active[2][1] == doctest::Approx(1).epsilon(1e-6));  // the highest value of a GPU, for any number of
                                                              // bytes
    REQUIRE(all["stages"].size() == 1);
    CHECK(rows_of(all["stages"][0])[0][0] == exactly(3));
    CHECK(rows_of(all["stages"][0])[1][1] == exactly(2));
    CHECK(all["rest"]["what"] == "idle");
    CHECK(floats_of(all["totals"]["stages"][0]["ps"]) == std::vector<double>{0, 1000, 2000});
    CHECK(all["links"]["nodes"] == Json{"cpu0"});
    CHECK(all["links"]["rows"] ==
          Json::array({Json::array({1, 0, 1, 320, 5, 0.5}), Json::array({1, 0, 0, 64, 6, 0.0})}));
  }
}

TEST_CASE("report data: histograms of the whole machine, with percentiles within their bins") {
  Scratch dir;
  auto header = header_of(2);
  header.series = {{"dram", paths(2, ".dram0"), {{"queue_depth", "count", "Depth.", StatKind::histogram, 3}}},
                   {"gmmu",
                    paths(2, ".gmmu"),
                    {{"walk_latency", "ns", "Time of a walk.", StatKind::histogram, 20},
                     {"never", "ns", "Nothing.", StatKind::histogram, 4}}}};
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    writer.append_sample(at(1), std::vector<std::uint64_t>(54, 0));
    std::vector<std::uint64_t> last{1, 0, 0, 2, 0, 0};
    last.resize(54, 0);
    auto const walks = [&](std::size_t gmmu, std::size_t bin) -> auto& {
      return last[6 + 20 * gmmu + bin];
    };
    walks(0, 16) = 10;
    walks(1, 17) = 20;
    walks(1, 18) = 10;
    writer.append_sample(at(kMicrosecond), last);
    writer.finish("completed");
  }
  auto const all = shown_of(path)["histograms"];
  REQUIRE(all.size() == 2);
  CHECK(all[0]["id"] == "gmmu/walk_latency");  // times first
  CHECK(all[0]["unit"] == "ns");
  // From the first bin in use to the bin after the last one.
  CHECK(all[0]["bins"] == Json{16, 18, 20, 22});
  CHECK(all[0]["counts"] == Json{10, 20, 10, 0});
  auto const percentiles = all[0]["percentiles"];
  REQUIRE(percentiles.size() == 3);
  CHECK(percentiles[0][0] == 50);
  CHECK(percentiles[0][1].get<double>() == doctest::Approx(19));
  CHECK(percentiles[1][1].get<double>() == doctest::Approx(21.2));
  CHECK(percentiles[2][0] == 99);
  CHECK(percentiles[2][1].get<double>() == doctest::Approx(21.92));
  CHECK(all[1]["id"] == "dram/queue_depth");
  CHECK(all[1]["bins"] == Json{0, 1});
  CHECK(all[1]["counts"] == Json{3, 0});
}

TEST_CASE("report data: a percentile in the unbounded last bin is within twice its lower bound") {
  Scratch dir;
  auto header = header_of(1);
  header.series = {
      {"gmmu", {"gpu0.gmmu"}, {{"walk_latency", "ns", "Time of a walk.", StatKind::histogram, 4}}}};
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    writer.append_sample(at(kMicrosecond), std::vector<std::uint64_t>{0, 0, 10, 40});
    writer.finish("completed");
  }
  auto const one = shown_of(path)["histograms"][0];
  CHECK(one["bins"] == Json{2, 3});
  CHECK(one["percentiles"][0][1].get<double>() == doctest::Approx(3 + 3 * 15.0 / 40));
  CHECK(one["percentiles"][2][1].get<double>() == doctest::Approx(3 + 3 * 39.5 / 40));
}

TEST_CASE("report data: of several samples at one time the last one is used") {
  Scratch dir;
  auto header = header_of(1);
  header.series = {{"gmmu", {"gpu0.gmmu"}, {counter("walks")}}};
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    writer.append_sample(at(kMicrosecond), std::vector<std::uint64_t>{10});
    writer.append_sample(at(2 * kMicrosecond), std::vector<std::uint64_t>{20});
    writer.append_sample(at(2 * kMicrosecond), std::vector<std::uint64_t>{50});
    writer.finish("completed");
  }
  auto const data = shown_of(path);
  auto const walks = find(data["series"], "walks");
  CHECK(data["clocks"][walks["clock"].get<std::size_t>()] == Json{kMicrosecond, 2 * kMicrosecond});
  CHECK(values_of(walks["rows"][0])[0] == near(10e6));
  CHECK(values_of(walks["rows"][0])[1] == near(40e6));
}

TEST_CASE("report data: the location of buffers, with the largest first if there are many") {
  Scratch dir;
  auto header = header_of(3);
  header.tables = {{"page_placement",
                    "Placement.",
                    {{"application", "text", "Application.", ColumnType::text},
                     {"buffer", "text", "Buffer.", ColumnType::text},
                     {"device", "text", "Device.", ColumnType::text},
                     {"pages", "count", "Pages.", ColumnType::u64}}}};
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    auto const row = [&](char const* application, char const* buffer, char const* device, std::uint64_t n) {
      writer.append_row(0, std::vector<Cell>{application, buffer, device, n});
    };
    row("a", "in", "cpu0", 4);
    row("a", "in", "gpu2", 3);
    row("b", "in", "gpu0", 9);
    writer.finish("completed");
  }
  auto const all = shown_of(path)["placement"];
  CHECK(all["devices"] == Json{"gpu0", "gpu2", "cpu0"});
  CHECK(all["rows"] == 2);
  CHECK(all["buffers"][0]["name"] == "a in");
  CHECK(all["buffers"][0]["all"] == 7);
  CHECK(all["buffers"][0]["pages"] == Json{0, 3, 4});
  auto const few = shown_of(path, {.devices = 2, .buffers = 1})["placement"];
  CHECK(few["per_row"] == 2);
  CHECK(few["rows"] == 2);
  REQUIRE(few["buffers"].size() == 1);
  CHECK(few["buffers"][0]["name"] == "b in");
  CHECK(few["buffers"][0]["pages"] == Json{9, 0});
}

TEST_CASE("report data: the longest kernels are shown with the number of all kernels") {
  Scratch dir;
  auto header = header_of(1);
  header.tables = {{"kernels",
                    "Kernels.",
                    {{"name", "text", "Name.", ColumnType::text},
                     {"launched", "ps", "Time.", ColumnType::u64},
                     {"finished", "ps", "Time.", ColumnType::u64},
                     {"access_time", "ps", "Time.", ColumnType::u64},
                     {"time_in_dram", "ps", "Time.", ColumnType::u64},
                     {"time_in_links", "ps", "Time.", ColumnType::u64}}}};
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    for (std::uint64_t i = 0; i < 9; ++i)
      writer.append_row(0, std::vector<Cell>{"k" + std::to_string(i), 100 * i, 100 * i + (i * 5) % 9,
                                             std::uint64_t{4}, std::uint64_t{1}, std::uint64_t{3}});
    writer.finish("completed");
  }
  auto const kernels = shown_of(path, {.kernels = 2})["kernels"];
  CHECK(kernels["rows"] == 9);
  CHECK(kernels["columns"]["name"] == Json{"k5", "k7"});  // these took 7 and 8
  CHECK(kernels["columns"]["longest_stage"][0] == "interconnect links");
  CHECK(kernels["columns"]["longest_stage_share"][0] == 0.75);
}

TEST_CASE("report data: unfinished operations are listed, up to the limit") {
  Scratch dir;
  auto header = header_of(1);
  header.tables = {{"outstanding",
                    "Operations.",
                    {{"stream", "count", "Stream.", ColumnType::u64},
                     {"operation", "text", "What.", ColumnType::text},
                     {"name", "text", "Name.", ColumnType::text},
                     {"started", "ps", "Time.", ColumnType::u64},
                     {"reached", "ps", "Time.", ColumnType::u64}}}};
  for (bool const ended : {false, true}) {
    auto const path = dir / (ended ? "ended.h5" : "stopped.h5");
    ResultWriter writer(path, header);
    for (std::uint64_t i = 0; i < 3 && !ended; ++i)
      writer.append_row(
          0, std::vector<Cell>{i, i == 1 ? "allocate" : "kernel", i == 1 ? "" : "fir", 70 * i, 70 * i + 54});
    writer.finish(ended ? "completed" : "time_limit");
    auto const shown = shown_of(path, {.kernels = 2});
    CHECK(shown.contains("outstanding") == !ended);
    if (ended) continue;
    CHECK(shown["outstanding"] ==
          Json::array({{{"what", "kernel fir"}, {"name", "fir"}, {"of", ""}, {"stream", 0}, {"started", 0}},
                       {{"what", "buffer allocation"},
                        {"name", "allocate"},
                        {"of", ""},
                        {"stream", 1},
                        {"started", 70}}}));
  }
}

TEST_CASE("report data: the title, the resolved parameters and the input files of a run") {
  Scratch dir;
  auto header = header_of(1);
  header.title = "Farfault run: bfs on 1 GPU";
  header.resolved_config = "[gpu]\nsms = 8\n\n[memory]\nplacement = \"interleave\"\n";
  header.inputs = {{"workload.bfs.graph", "ring.graph", 270, "00ff"}};
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    writer.finish("completed");
  }
  auto const data = shown_of(path);
  CHECK(data["title"] == "Farfault run: bfs on 1 GPU");
  CHECK(data["settings"] == Json{{"gpu.sms", "8"}, {"memory.placement", "\"interleave\""}});
  CHECK(data["inputs"] ==
        Json::array({{{"parameter", "workload.bfs.graph"}, {"path", "ring.graph"}, {"bytes", 270}}}));
}

TEST_CASE("report data: it is ASCII, its names are short, and missing data of a result is omitted") {
  Scratch dir;
  auto header = header_of(1);
  header.nodes[0].name = std::string(500, 'x') + "\u2028";
  header.resolved_config = "[a]\nb = \"\u2028\"\n";
  auto const path = dir / "a.h5";
  {
    ResultWriter writer(path, header);
    writer.finish("completed");
  }
  auto const text = report_data(path);
  CHECK(std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }));
  auto const data = Json::parse(text);
  CHECK(data["nodes"][0][0].get<std::string>().size() < 100);
  for (auto const* name :
       {"kernels", "batches", "traffic", "link_use", "stack", "gpu_stacks", "histograms", "placement"})
    CHECK(!data.contains(name));
}

TEST_CASE("report data: a file that is not a result is rejected in one sentence") {
  CHECK_THROWS_AS(report_data("nothing.h5"), UserError);
}

}  // namespace report_test
