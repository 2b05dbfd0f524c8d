// SPDX-License-Identifier: Apache-2.0
#include "run/sample_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "capture.hpp"
#include "farfault/results/digest.hpp"
#include "farfault/results/reader.hpp"
#include "model/model.hpp"

namespace sample_schedule_test {

using namespace farfault;
using farfault::cli::SampleSchedule;

namespace {

// The sample times up to `end`, in nanoseconds.
std::vector<std::int64_t> times(SampleSchedule const& schedule, Time end) {
  std::vector<std::int64_t> list;
  for (auto t = schedule.after(Time{}); t <= end; t = schedule.after(t))
    list.push_back(picoseconds(t) / 1000);
  return list;
}

std::string output() {
  return (std::filesystem::path(FARFAULT_BINARY_DIR) / "sample_schedule_test.h5").string();
}

Called run(std::vector<std::string> const& more) {
  std::vector<std::string> words{"run",        "paper-gmmu-bypass",
                                 "--output",   output(),
                                 "--threads",  "1",
                                 "--progress", "off",
                                 "--set",      "workload.name=stream",
                                 "--set",      "workload.stream.bytes=16KiB",
                                 "--set",      "gpu.sms=2"};
  words.insert(words.end(), more.begin(), more.end());
  return farfault_program(words);
}

}  // namespace

TEST_CASE("an interval that doubles after four samples") {
  CHECK(times({10ns, 4}, Time{400ns}) ==
        std::vector<std::int64_t>{10, 20, 30, 40, 60, 80, 100, 120, 160, 200, 240, 280, 360});
}

TEST_CASE("an interval that never doubles") {
  CHECK(times({10ns, 0}, Time{55ns}) == std::vector<std::int64_t>{10, 20, 30, 40, 50});
}

TEST_CASE("the next sample depends only on the time, not on earlier samples") {
  SampleSchedule const schedule{10ns, 4};
  CHECK(schedule.after(Time{0ns}) == Time{10ns});
  CHECK(schedule.after(Time{9ns}) == Time{10ns});
  CHECK(schedule.after(Time{39ns}) == Time{40ns});
  CHECK(schedule.after(Time{40ns}) == Time{60ns});
  CHECK(schedule.after(Time{59ns}) == Time{60ns});
  CHECK(schedule.after(Time{279ns}) == Time{280ns});
  CHECK(schedule.after(Time{280ns}) == Time{360ns});
}

TEST_CASE("100 simulated days take about 30,000 samples, up to the maximum time") {
  SampleSchedule const schedule{10us, 1024};
  Time last{};
  std::uint64_t samples = 0;
  for (auto t = schedule.after(Time{}); t != Time::max(); t = schedule.after(t), ++samples) last = t;
  CHECK(samples == 30'389);
  CHECK(last > Time{Duration{106 * 86'400s}});
  CHECK(SampleSchedule{3600s, 0}.after(Time::max() - 1s) == Time::max());
  CHECK(SampleSchedule{3600s, 1'000'000'000}.after(Time{3600s}) == Time{7200s});
}

TEST_CASE("a run is sampled at the scheduled times and at its end") {
  auto const end = [](std::vector<std::string> const& more) {
    auto const r = run(more);
    CHECK_MESSAGE(r.code == 0, r.err);
    return Time{Duration{results::read_summary(output()).last_time_ps}};
  };
  auto const samples = [] { return results::read_summary(output()).series.at(0).samples; };
  auto const expected = [](SampleSchedule const& schedule, Time last) {
    auto const list = times(schedule, last);
    return list.size() + (list.empty() || list.back() * 1000 != picoseconds(last) ? 1 : 0);
  };
  std::vector<std::string> const fixed{"--set", "run.sample_interval=100ns"};
  auto doubling = fixed;
  doubling.insert(doubling.end(), {"--set", "run.sample_doubling=4"});
  auto shorter = doubling;
  shorter.insert(shorter.end(), {"--until", "2us"});

  auto const whole = end(fixed);
  REQUIRE(whole > Time{3us});
  CHECK(samples() == expected({100ns, 0}, whole));
  CHECK(end(doubling) == whole);
  CHECK(samples() == expected({100ns, 4}, whole));
  CHECK(end(shorter) == Time{2us});
  // 100, 200, 300, 400, 600, 800, 1000, 1200, 1600, 2000 ns.
  CHECK(samples() == 10);
}

TEST_CASE("a resumed run is sampled at the same times as an uninterrupted run") {
  auto const saved = output() + ".checkpoint";
  std::filesystem::remove(saved);
  std::vector<std::string> words{
      "--set", "run.sample_interval=100ns", "--set", "run.sample_doubling=4", "--checkpoint",
      saved,   "--checkpoint-every",        "1us"};
  REQUIRE(run(words).code == 0);
  auto const digest = results::result_digest(output());
  REQUIRE(std::filesystem::exists(saved));
  words.insert(words.end(), {"--resume", saved});
  auto const resumed = run(words);
  CHECK_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(results::result_digest(output()) == digest);
}

TEST_CASE("the default interval doubles; an interval that is set doubles only on request") {
  auto const resolved = [](std::vector<std::string> const& sets) {
    cli::RunOptions options;
    options.config_path = "paper-gmmu-bypass";
    options.sets = sets;
    cli::Model const model(options);
    // Reading the resolved configuration as a configuration gives the same one.
    auto const path = output() + ".toml";
    std::ofstream(path) << model.config.resolved();
    cli::RunOptions again;
    again.config_path = path;
    CHECK(cli::Model(again).run.sample_doubling == model.run.sample_doubling);
    return std::pair(model.run.sample_interval, model.run.sample_doubling);
  };
  using Run = std::pair<Duration, std::uint64_t>;
  CHECK(resolved({"workload.name=stream"}) == Run{10us, 1024});
  CHECK(resolved({"workload.name=stream", "run.sample_interval=10us"}) == Run{10us, 0});
  CHECK(resolved({"workload.name=stream", "run.sample_interval=5us", "run.sample_doubling=16"}) ==
        Run{5us, 16});
}

TEST_CASE("sampling that costs more than the simulation gives one warning") {
  auto const err = [](std::string const& interval) {
    return run({"--set", "run.sample_interval=" + interval, "--until", "20us"}).err;
  };
  CHECK(err("1us") == "");
  auto const told = err("1ns");
  CHECK(told.starts_with("farfault: sampling costs more than the simulation (4096 samples of "));
  CHECK(told.find("; set run.sample_interval above 1 ns\n") != std::string::npos);
  CHECK(std::count(told.begin(), told.end(), '\n') == 1);
}

}  // namespace sample_schedule_test
