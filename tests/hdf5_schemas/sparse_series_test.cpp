// SPDX-License-Identifier: Apache-2.0
// A series that is stored in every n-th sample and in the last one.
#include <doctest/doctest.h>
#include <hdf5.h>

#include "farfault/results/digest.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/results/reading/open.hpp"
#include "farfault/results/reading/walk.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace sparse_series_test {

using namespace farfault;
using namespace farfault::results;

namespace {

using Values = std::vector<std::uint64_t>;

constexpr std::uint32_t kEvery = 4;

RunHeader header() {
  auto h = sample::header();
  h.tables.clear();
  h.series = {{"sm", {"sm0"}, {{"instructions", "count", "Instructions.", StatKind::counter, 1}}},
              {"sm.histograms",
               {"sm0"},
               {{"latency", "ns", "Latency.", StatKind::histogram, 4},
                {"depth", "count", "Depth.", StatKind::histogram, 3}},
               {},
               kEvery}};
  return h;
}

// Sample n has the values n, then bins 10 n, 10 n + 1, ...
void append(ResultWriter& writer, std::uint64_t from, std::uint64_t to) {
  for (auto n = from; n < to; ++n) {
    Values values{n};
    for (std::uint64_t bin = 0; bin < 7; ++bin) values.push_back(10 * n + bin);
    writer.append_sample(Time{Duration{static_cast<std::int64_t>(100 * n)}}, values);
  }
}

// All values of a dataset.
Values stored(std::string const& path, std::string const& dataset) {
  auto const file = open_to_read(path, "cannot open the result");
  auto const object = open_dataset(file, dataset);
  auto const shape = shape_of_dataset(object);
  return read_words(object, shape, 0, shape.rows());
}

// Checks that the rows have the samples with these numbers.
void check_rows(std::string const& path, Values const& numbers) {
  Values times, latency, depth;
  for (auto const n : numbers) {
    times.push_back(100 * n);
    for (std::uint64_t bin = 0; bin < 4; ++bin) latency.push_back(10 * n + bin);
    for (std::uint64_t bin = 4; bin < 7; ++bin) depth.push_back(10 * n + bin);
  }
  CHECK(stored(path, "/timeseries/sm.histograms/time_ps") == times);
  CHECK(stored(path, "/timeseries/sm.histograms/latency") == latency);
  CHECK(stored(path, "/timeseries/sm.histograms/depth") == depth);
}

}  // namespace

TEST_CASE("a finished result has every n-th sample from the first one, and the last one once") {
  Scratch dir;
  auto const path = dir / "a.h5";
  Values const rows[] = {{}, {0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 4, 5}, {0, 4, 6}, {0, 4, 7}, {0, 4, 8}};
  for (std::uint64_t samples = 0; samples < 10; ++samples) {
    CAPTURE(samples);
    ResultWriter writer(path, header());
    append(writer, 0, samples);
    writer.finish("completed");
    check_rows(path, rows[samples]);
    CHECK(stored(path, "/timeseries/sm/time_ps").size() == samples);
  }
}

TEST_CASE("flushes at any sample change neither the rows nor the digest") {
  Scratch dir;
  auto const path = dir / "a.h5";
  std::string digest;
  for (std::uint64_t flushed = 0; flushed <= 11; ++flushed) {
    CAPTURE(flushed);
    ResultWriter writer(path, header());
    append(writer, 0, flushed);
    if (flushed != 0) writer.flush();
    append(writer, flushed, 11);
    if (flushed == 7) writer.flush();
    writer.finish("completed");
    check_rows(path, {0, 4, 8, 10});
    if (digest.empty()) digest = result_digest(path);
    CHECK(result_digest(path) == digest);
  }
}

TEST_CASE("the last sample before a flush is stored once its run ends, and not before") {
  Scratch dir;
  auto const path = dir / "a.h5";
  ResultWriter writer(path, header());
  append(writer, 0, 7);
  writer.flush();
  check_rows(path + ".partial", {0, 4});
  writer.finish("completed");
  check_rows(path, {0, 4, 6});
}

TEST_CASE("a resumed run has the rows of an uninterrupted run, from an unfinished or a finished file") {
  Scratch dir;
  auto const path = dir / "a.h5";
  for (bool const finished : {false, true})
    for (std::uint64_t saved = 1; saved <= 9; ++saved) {
      CAPTURE(finished);
      CAPTURE(saved);
      Position position;
      {
        ResultWriter writer(path, header());
        append(writer, 0, saved);
        writer.flush();
        position = writer.position();
        append(writer, saved, saved + 3);
        if (finished) writer.finish("time_limit");
      }
      auto writer = ResultWriter::resume(path, header(), position);
      append(writer, saved, 11);
      writer.finish("completed");
      check_rows(path, {0, 4, 8, 10});
    }
}

}  // namespace sparse_series_test
