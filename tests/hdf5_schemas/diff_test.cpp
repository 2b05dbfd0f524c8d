// SPDX-License-Identifier: Apache-2.0
// The first difference between two results.
#include <doctest/doctest.h>

#include "farfault/results/reader.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace diff_test {

using namespace farfault;
using namespace farfault::results;

namespace {

Comparison against(Scratch const& dir, std::string const& base,
                   void (*change)(std::vector<std::uint64_t>&, std::uint64_t), std::uint64_t samples = 10) {
  ResultWriter writer(dir / "b.h5", sample::header());
  for (std::uint64_t i = 0; i < samples; ++i) {
    auto values = sample::values(i);
    change(values, i);
    writer.append_sample(Time{Duration{static_cast<std::int64_t>(i) * 1000}}, values);
    if (i % 3 == 0)
      writer.append_row(
          0, std::vector<Cell>{"kernel " + std::to_string(i), i * 1000, 1 - static_cast<std::int64_t>(i)});
    writer.append_row(1, std::vector<Cell>{i * 2});
  }
  sample::end(writer);
  writer.finish("completed");
  return diff(base, dir / "b.h5");
}

}  // namespace

TEST_CASE("diff finds no difference between equal runs with different command lines") {
  Scratch dir;
  sample::write(dir / "a.h5");
  auto header = sample::header();
  header.command_line = "another";
  sample::write(dir / "b.h5", 10, header);
  auto const equal = diff(dir / "a.h5", dir / "b.h5");
  CHECK_FALSE(equal.difference);
  CHECK(equal.settings.empty());
}

TEST_CASE("diff names the series, the instance and the earliest simulated time") {
  Scratch dir;
  sample::write(dir / "a.h5");
  auto const a = dir / "a.h5";
  auto d = against(dir, a, [](auto& v, std::uint64_t i) {
    if (i >= 6) v[12] += 1;  // driver.batches
    if (i >= 4) v[3] += 5;   // occupancy of gpu1
    if (i >= 5) v[0] += 1;   // hits of gpu0
  });
  REQUIRE(d.difference);
  CHECK(d.difference->where == "timeseries");
  CHECK(d.difference->path == "/timeseries/l2_tlb/occupancy");
  CHECK(d.difference->time_ps == 4000);
  CHECK(d.difference->text == "/timeseries/l2_tlb/occupancy of gpu1.l2_tlb at 4000 ps is 403 in '" + a +
                                  "' and 408 in '" + (dir / "b.h5") + "'");
  d = against(dir, a, [](auto& v, std::uint64_t i) { v[4 + 6] += i == 9; });
  REQUIRE(d.difference);
  CHECK(d.difference->text.starts_with(
      "/timeseries/l2_tlb/latency of gpu1.l2_tlb at 9000 ps, bin 2, is 910 in"));
  d = against(
      dir, a, [](auto&, std::uint64_t) {}, 11);
  REQUIRE(d.difference);
  CHECK(d.difference->time_ps == 10000);
}

TEST_CASE("diff names table rows, summary values and configuration lines") {
  Scratch dir;
  sample::write(dir / "a.h5");
  auto const other = [&](RunHeader const& header, std::uint64_t value, std::string const& kernel) {
    ResultWriter writer(dir / "b.h5", header);
    for (std::uint64_t i = 0; i < 10; ++i) {
      writer.append_sample(Time{Duration{static_cast<std::int64_t>(i) * 1000}}, sample::values(i));
      if (i % 3 == 0)
        writer.append_row(0, std::vector<Cell>{i == 6 ? kernel : "kernel " + std::to_string(i), i * 1000,
                                               1 - static_cast<std::int64_t>(i)});
      writer.append_row(1, std::vector<Cell>{i * 2});
    }
    sample::end(writer);
    if (value != 42)
      writer.summary({{"machine", "machine", "instructions", "count", "Warp instructions executed.", value}});
    writer.finish("completed");
    return diff(dir / "a.h5", dir / "b.h5");
  };
  auto d = other(sample::header(), 42, "kernel x");
  REQUIRE(d.difference);
  CHECK(d.difference->path == "/tables/kernels/name");
  CHECK(d.difference->time_ps == 6000);
  CHECK(d.difference->text.starts_with("/tables/kernels/name, row 2, is 'kernel 6' in"));
  d = other(sample::header(), 43, "kernel 6");
  REQUIRE(d.difference);
  CHECK(d.difference->where == "summary");
  auto header = sample::header();
  header.resolved_config = "[gpu.l2_tlb]\nentries = 256\nlatency = \"10 ns\"\n";
  d = other(header, 42, "kernel 6");
  CHECK_FALSE(d.difference);
  REQUIRE(d.settings.size() == 1);
  CHECK(d.settings[0].name == "gpu.l2_tlb.entries");
  CHECK(d.settings[0].a == "512");
  CHECK(d.settings[0].b == "256");
  d = other(header, 42, "kernel x");
  REQUIRE(d.difference);
  CHECK(d.difference->where == "tables");
  CHECK(d.settings.size() == 1);
}

TEST_CASE("diff of equal results lists every parameter and input that differs, with both values") {
  Scratch dir;
  sample::write(dir / "a.h5");
  auto header = sample::header();
  header.resolved_config = "seed = 3\n\n[gpu.l2_tlb]\nentries = 256\nlatency = \"10 ns\"\nways = 8\n";
  header.inputs[0].hash = "00fe";
  sample::write(dir / "b.h5", 10, header);
  auto const equal = diff(dir / "a.h5", dir / "b.h5");
  CHECK_FALSE(equal.difference);
  std::string text;
  for (auto const& s : equal.settings) text += s.name + " (" + s.a + ", " + s.b + "); ";
  CHECK(text ==
        "gpu.l2_tlb.entries (512, 256); gpu.l2_tlb.ways (none, 8); seed (none, 3); "
        "the file of workload.bfs.graph (00ff, 00fe); ");
}

TEST_CASE("diff reports different end reasons and different machines") {
  Scratch dir;
  sample::write(dir / "a.h5");
  {
    ResultWriter writer(dir / "b.h5", sample::header());
    sample::append(writer, 0, 10);
    sample::end(writer);
    writer.finish("time_limit");
  }
  auto d = diff(dir / "a.h5", dir / "b.h5");
  REQUIRE(d.difference);
  CHECK(d.difference->text.starts_with("the runs ended for different reasons: 'completed' in"));
  auto header = sample::header();
  header.links[1].latency_ps = 1;
  sample::write(dir / "c.h5", 10, header);
  d = diff(dir / "a.h5", dir / "c.h5");
  REQUIRE(d.difference);
  CHECK(d.difference->text.starts_with("/topology/links/latency_ps, row 1, is 500000 in"));
}

}  // namespace diff_test
