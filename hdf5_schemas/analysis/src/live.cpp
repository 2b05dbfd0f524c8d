// SPDX-License-Identifier: Apache-2.0
#include "farfault/analysis/live.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/walk.hpp"
#include "result_file.hpp"

namespace farfault::analysis {
namespace {

// A dataset of /timeseries with one row per sample.
struct SampledRows {
  Handle dataset;
  Shape shape;
};

SampledRows sampled_rows(ObjectId file, std::string const& path) {
  auto dataset = open_dataset(file, path);
  auto shape = shape_of_dataset(dataset);
  bool const counts = shape.kind == Kind::unsigned_integer || shape.kind == Kind::integer;
  if (!counts || shape.extents.empty()) throw Hdf5Failure(path + " is not a series of numbers");
  return {std::move(dataset), std::move(shape)};
}

std::uint64_t number_in_engine(ObjectId file, char const* name) {
  auto const path = std::string("engine/") + name;
  if (!has(file, path)) return 0;
  auto const dataset = open_dataset(file, path);
  auto const shape = shape_of_dataset(dataset);
  if (!shape.extents.empty() || shape.kind == Kind::text || shape.kind == Kind::other)
    throw Hdf5Failure("/" + path + " is not a single number");
  return read_words(dataset, shape, 0, 1).at(0);
}

std::string text_in_engine(ObjectId file, char const* name) {
  auto const path = std::string("engine/") + name;
  if (!has(file, path)) return {};
  auto const dataset = open_dataset(file, path);
  auto const shape = shape_of_dataset(dataset);
  if (!shape.extents.empty() || shape.kind != Kind::text)
    throw Hdf5Failure("/" + path + " is not a single text");
  return read_texts(dataset, shape, 0, 1).at(0);
}

// Numbers of at most `most` samples, evenly spread in time, and of the last one. `times`: of the samples from
// number `first` on.
std::vector<std::uint64_t> numbers_to_read(std::vector<std::uint64_t> const& times, std::uint64_t first,
                                           std::uint64_t most) {
  std::vector<std::uint64_t> numbers;
  if (times.empty()) return numbers;
  bool const all = times.size() <= most;
  auto const begin = static_cast<double>(times.front()), end = static_cast<double>(times.back());
  for (std::uint64_t part = 1; part <= (all ? times.size() : most); ++part) {
    auto number = part;  // of samples up to the end of the part
    if (!all && part < most) {
      auto const until = begin + (end - begin) * static_cast<double>(part) / static_cast<double>(most);
      number = static_cast<std::uint64_t>(std::ranges::upper_bound(times, until, std::less<double>()) -
                                          times.begin());
    } else if (!all) {
      number = times.size();
    }
    if (number != 0 && (numbers.empty() || first + number - 1 > numbers.back()))
      numbers.push_back(first + number - 1);
  }
  return numbers;
}

std::string pack_live(ObjectId file, std::vector<LiveCounter> const& counters, std::uint64_t first,
                      std::uint64_t most) {
  check_is_result(file);
  std::vector<std::optional<SampledRows>> sets;
  std::map<std::string, SampledRows> times;
  std::optional<std::uint64_t> samples;
  for (auto const& c : counters) {
    auto const folder = "timeseries/" + c.series;
    auto& set = sets.emplace_back();
    if (!has(file, folder + "/" + c.metric)) continue;
    set = sampled_rows(file, folder + "/" + c.metric);
    auto const [time, fresh] = times.try_emplace(c.series);
    if (fresh) time->second = sampled_rows(file, folder + "/time_ps");
    if (time->second.shape.row_values != 1) throw Hdf5Failure(folder + "/time_ps is not a list of times");
    // A run that was killed during a flush may have more rows of one dataset than of another.
    auto const rows = std::min(time->second.shape.rows(), set->shape.rows());
    samples = std::min(samples.value_or(rows), rows);
  }
  Pack pack;
  pack.put(text_attribute(open_group(file, "/"), "end_reason"));
  pack.put(text_in_engine(file, "start_time"));
  pack.put(number_in_engine(file, "start_simulated_time"));
  pack.put(number_in_engine(file, "thread_blocks"));
  pack.put(samples.value_or(0));
  for (auto const& set : sets) pack.put(set ? set->shape.row_values : 0);
  std::vector<std::uint64_t> new_times;
  if (!times.empty() && first < samples.value_or(0)) {
    auto const& time = times.begin()->second;
    new_times = read_words(time.dataset, time.shape, first, *samples - first);
  }
  auto const numbers = numbers_to_read(new_times, first, most);
  pack.put(std::uint64_t{numbers.size()});
  for (auto const number : numbers) {
    pack.put(number);
    pack.put(new_times[number - first]);
    for (auto const& set : sets) {
      std::uint64_t total = 0;
      if (set)
        for (auto const value : read_words(set->dataset, set->shape, number, 1)) total += value;
      pack.put(total);
    }
  }
  return pack.take();
}

}  // namespace

LiveRun read_live(std::string const& path, std::vector<LiveCounter> const& counters, std::uint64_t first,
                  std::uint64_t most) {
  Pack pack(read_guarded(path, [&](ObjectId file) { return pack_live(file, counters, first, most); }));
  LiveRun run;
  run.end_reason = pack.text();
  run.start_time = pack.text();
  run.start_ps = static_cast<std::int64_t>(pack.number());
  run.thread_blocks = pack.number();
  run.samples = pack.number();
  for (std::size_t c = 0; c < counters.size(); ++c) run.instances.push_back(pack.number());
  run.points.resize(pack.number());
  for (auto& point : run.points) {
    point.sample = pack.number();
    point.time_ps = static_cast<std::int64_t>(pack.number());
    for (std::size_t c = 0; c < counters.size(); ++c) point.totals.push_back(pack.number());
  }
  return run;
}

}  // namespace farfault::analysis
