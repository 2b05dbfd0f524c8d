// SPDX-License-Identifier: Apache-2.0
// Results of runs in progress, as `farfault watch` reads them.
#include "farfault/analysis/live.hpp"

#include <doctest/doctest.h>

#include "edit.hpp"
#include "farfault/engine/error.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace live_test {

using namespace farfault;
using namespace farfault::analysis;
using namespace farfault::results;

namespace {

std::vector<LiveCounter> const kCounters{{"l2_tlb", "hits"}, {"driver", "batches"}, {"nosuch", "hits"}};

std::vector<std::uint64_t> numbers_of(LiveRun const& run) {
  std::vector<std::uint64_t> numbers;
  for (auto const& p : run.points) numbers.push_back(p.sample);
  return numbers;
}

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("live: samples can be read as soon as they are flushed, and not before") {
  Scratch dir;
  ResultWriter writer(dir / "a.h5", sample::header());
  auto const partial = dir / "a.h5.partial";
  CHECK(read_live(partial, kCounters, 0, 100).samples == 0);
  sample::append(writer, 0, 3);
  CHECK(read_live(partial, kCounters, 0, 100).samples == 0);
  writer.flush();
  auto run = read_live(partial, kCounters, 0, 100);
  CHECK(run.end_reason == "running");
  CHECK(run.samples == 3);
  CHECK(run.instances == Numbers{2, 1, 0});
  CHECK(numbers_of(run) == Numbers{0, 1, 2});
  // Sample 2 has 200, 201, ...: both hits, and the values after the histograms.
  CHECK(run.points[2].time_ps == 2000);
  CHECK(run.points[2].totals == Numbers{200 + 201, 212, 0});
  sample::append(writer, 3, 20);
  writer.flush();
  run = read_live(partial, kCounters, 3, 100);
  CHECK(run.samples == 20);
  CHECK(run.points.front().sample == 3);
  CHECK(run.points.back().totals == Numbers{1900 + 1901, 1912, 0});
}

TEST_CASE("live: a subset of many samples is read, evenly spaced, including the last") {
  Scratch dir;
  ResultWriter writer(dir / "a.h5", sample::header());
  sample::append(writer, 0, 20);
  writer.flush();
  auto const numbers = [&](std::uint64_t first, std::uint64_t most) {
    return numbers_of(read_live(dir / "a.h5.partial", kCounters, first, most));
  };
  CHECK(numbers(0, 4) == Numbers{4, 9, 14, 19});
  CHECK(numbers(10, 2) == Numbers{14, 19});
  CHECK(numbers(0, 1) == Numbers{19});
  CHECK(numbers(20, 4).empty());
  CHECK(numbers(99, 4).empty());
  CHECK(numbers(0, 0).empty());
}

TEST_CASE("live: samples are spread in time, not in number, when intervals grow") {
  Scratch dir;
  ResultWriter writer(dir / "a.h5", sample::header());
  // 8 samples 1 ns apart, 8 samples 2 ns apart, and so on, up to 120 ns.
  std::int64_t time = 0;
  for (std::uint64_t s = 0; s < 32; ++s) {
    time += std::int64_t{1000} << (s / 8);
    writer.append_sample(Time{Duration{time}}, sample::values(s));
  }
  writer.flush();
  std::vector<std::int64_t> times;
  for (auto const& p : read_live(dir / "a.h5.partial", kCounters, 0, 8).points) times.push_back(p.time_ps);
  // At most 8 parts of 14.875 ns.
  CHECK(times == std::vector<std::int64_t>{14'000, 28'000, 44'000, 56'000, 72'000, 88'000, 104'000, 120'000});
}

TEST_CASE("live: the start in /engine is returned, also for a completed result") {
  Scratch dir;
  {
    ResultWriter writer(dir / "a.h5", sample::header());
    writer.engine({{"start_time", "text", "Start.", std::string("2026-01-31T12:00:00Z")},
                   {"start_simulated_time", "ps", "From.", std::uint64_t{77}},
                   {"thread_blocks", "count", "Blocks.", std::uint64_t{640}}});
    sample::append(writer, 0, 5);
    writer.finish("completed");
  }
  auto const run = read_live(dir / "a.h5", kCounters, 0, 100);
  CHECK(run.end_reason == "completed");
  CHECK(run.start_time == "2026-01-31T12:00:00Z");
  CHECK(run.start_ps == 77);
  CHECK(run.thread_blocks == 640);
  CHECK(run.samples == 5);
}

TEST_CASE("live: for a run killed within a flush, only samples of all series are read") {
  Scratch dir;
  {
    ResultWriter writer(dir / "a.h5", sample::header());
    sample::append(writer, 0, 20);
    writer.flush();
  }
  auto const partial = dir / "a.h5.partial";
  edit::shorten(partial, "/timeseries/driver/batches", 12);
  auto const run = read_live(partial, kCounters, 0, 100);
  CHECK(run.samples == 12);
  REQUIRE(run.points.size() == 12);
  CHECK(run.points.back().totals == Numbers{1100 + 1101, 1112, 0});
}

TEST_CASE("live: an invalid file is a user error") {
  Scratch dir;
  CHECK_THROWS_AS(read_live(dir / "none.h5", kCounters, 0, 1), UserError);
}

}  // namespace live_test
