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

constexpr std::uint64_t kMany = 1'000'000'000'000;  // more events than any number of values
constexpr std::uint64_t kFew = 100;                 // values per sample, within the allowance

// The sample times up to `end`, in nanoseconds. `events`: handled until a time in nanoseconds.
template <class Events>
std::vector<std::int64_t> times(SampleSchedule schedule, Time end, Events events) {
  std::vector<std::int64_t> list;
  while (schedule.next() <= end) {
    list.push_back(picoseconds(schedule.next()) / 1000);
    schedule.advance(events(list.back()));
  }
  return list;
}
std::vector<std::int64_t> times(SampleSchedule const& schedule, Time end) {
  return times(schedule, end, [](std::int64_t) { return std::uint64_t{0}; });
}

// The intervals that end at the given times, each with their number.
std::vector<std::pair<std::int64_t, std::size_t>> intervals(std::vector<std::int64_t> const& ends) {
  std::vector<std::pair<std::int64_t, std::size_t>> list;
  std::int64_t before = 0;
  for (auto const end : ends) {
    if (list.empty() || list.back().first != end - before) list.emplace_back(end - before, 0);
    ++list.back().second;
    before = end;
  }
  return list;
}
using Intervals = std::vector<std::pair<std::int64_t, std::size_t>>;

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
  CHECK(times({10ns, 4, 1}, Time{400ns}) ==
        std::vector<std::int64_t>{10, 20, 30, 40, 60, 80, 100, 120, 160, 200, 240, 280, 360});
}

TEST_CASE("an interval that never doubles") {
  CHECK(times({10ns, 0, 1'000'000}, Time{55ns}) == std::vector<std::int64_t>{10, 20, 30, 40, 50});
}

TEST_CASE("samples with more values than events, beyond an allowance, double the interval up to 12.8 us") {
  // 720,000 values at first, then 360,000, then 60,000 at each interval.
  CHECK(intervals(times({50ns, 256, 100'000}, Time{40us})) ==
        Intervals{
            {50, 8}, {100, 4}, {200, 1}, {400, 1}, {800, 1}, {1600, 1}, {3200, 1}, {6400, 1}, {12'800, 2}});
  CHECK(intervals(times({50ns, 256, 2'000'000}, Time{200us})) ==
        Intervals{
            {50, 1}, {100, 1}, {200, 1}, {400, 1}, {800, 1}, {1600, 1}, {3200, 1}, {6400, 1}, {12'800, 14}});
}

TEST_CASE("the number of values does not lengthen an interval of 10 us or more") {
  CHECK(intervals(times({10us, 8, 100'000'000}, Time{200us})) == Intervals{{10'000, 8}, {20'000, 6}});
}

TEST_CASE("five events since the last doubling pay for two values") {
  auto const with = [](std::uint64_t per_ns) {
    return intervals(times({50ns, 256, 100'000}, Time{10us},
                           [&](std::int64_t ns) { return per_ns * static_cast<std::uint64_t>(ns); }));
  };
  // A sample has 100,000 values; with 1,000 events per ns, an interval of 50 ns pays for 20,000.
  CHECK(with(1'000) == Intervals{{50, 10}, {100, 7}, {200, 4}, {400, 20}});
  CHECK(with(2'000) == Intervals{{50, 13}, {100, 19}, {200, 37}});
  CHECK(intervals(times({50ns, 256, 100'000}, Time{15us}, [](std::int64_t ns) {
          return kMany * static_cast<std::uint64_t>(ns);
        })) == Intervals{{50, 256}, {100, 22}});
}

TEST_CASE("the samples of a shorter run are the first ones of a longer run") {
  SampleSchedule const schedule{50ns, 256, 100'000};
  auto const longer = times(schedule, Time{40us});
  for (auto const end : {Time{1us}, Time{1500ns}, Time{20us}}) {
    auto const shorter = times(schedule, end);
    CHECK(std::equal(shorter.begin(), shorter.end(), longer.begin()));
  }
}

TEST_CASE("a schedule continues from any of its states") {
  auto const events = [](std::uint64_t sample) { return sample * 60'000; };
  SampleSchedule whole{50ns, 256, 100'000};
  for (std::uint64_t sample = 1; sample < 200; ++sample) {
    SampleSchedule continued{50ns, 256, 100'000};
    continued.restore(whole.state());
    auto other = whole;
    for (auto s = sample; s < sample + 50; ++s) {
      CHECK(continued.next() == other.next());
      continued.advance(events(s));
      other.advance(events(s));
    }
    whole.advance(events(sample));
  }
}

TEST_CASE("a run of 10 us on four GPUs has at least 150 samples") {
  auto const r = farfault_program({"run", "paper-gmmu-bypass", "--output", output(), "--threads", "1",
                                   "--progress", "off", "--until", "10us", "--set", "workload.name=stream",
                                   "--set", "workload.stream.bytes=16KiB"});
  REQUIRE_MESSAGE(r.code == 0, r.err);
  auto const summary = results::read_summary(output());
  CHECK(summary.last_time_ps == 10'000'000);
  for (auto const& series : summary.series)
    if (series.kind.ends_with(".histograms"))
      CHECK(series.samples >= 10);
    else
      CHECK(series.samples >= 150);
}

TEST_CASE("100 simulated days take about 10,000 samples, up to the maximum time") {
  SampleSchedule schedule{50ns, 256, 100};
  Time last{};
  std::uint64_t samples = 0;
  for (; schedule.next() != Time::max(); schedule.advance(0), ++samples) last = schedule.next();
  CHECK(samples == 10'063);
  CHECK(last > Time{Duration{100 * 86'400s}});
  SampleSchedule hours{3600s, 0, 1};
  for (int i = 0; i < 3000; ++i) hours.advance(0);
  CHECK(hours.next() == Time::max());
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
  CHECK(samples() == expected({100ns, 0, kFew}, whole));
  CHECK(end(doubling) == whole);
  CHECK(samples() == expected({100ns, 4, kFew}, whole));
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

TEST_CASE("a run resumed between two doublings has the samples of the uninterrupted run") {
  // The interval depends on the events of both parts.
  auto const transpose = [](std::vector<std::string> const& more) {
    std::vector<std::string> words{"run",        "paper-gmmu-bypass",
                                   "--output",   output(),
                                   "--progress", "off",
                                   "--set",      "workload.name=transpose",
                                   "--set",      "workload.transpose.width=256",
                                   "--set",      "workload.transpose.height=256"};
    words.insert(words.end(), more.begin(), more.end());
    auto const r = farfault_program(words);
    CHECK_MESSAGE(r.code == 0, r.err);
    return results::result_digest(output());
  };
  auto const whole = transpose({"--threads", "1"});
  auto const saved = output() + ".checkpoint";
  for (auto const* every : {"5us", "12us", "20us"}) {
    CAPTURE(every);
    std::filesystem::remove(saved);
    CHECK(transpose({"--threads", "2", "--checkpoint", saved, "--checkpoint-every", every}) == whole);
    REQUIRE(std::filesystem::exists(saved));
    CHECK(transpose({"--threads", "2", "--checkpoint", saved, "--checkpoint-every", every, "--resume",
                     saved}) == whole);
  }
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
  CHECK(resolved({"workload.name=stream"}) == Run{50ns, 256});
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
