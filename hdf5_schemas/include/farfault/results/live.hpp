// SPDX-License-Identifier: Apache-2.0
// Reads the result of a run that is under way: what its samples have come to.
//
// Guarantees and errors as in reader.hpp. The file is opened for reading, without a lock, and nothing is
// written: the run does not notice. A read that falls into a flush of the run may fail as one of a damaged
// file would; the next one does not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace farfault::results {

// A counter: /timeseries/<series>/<metric>, summed over its instances.
struct LiveCounter {
  std::string series, metric;
};

struct LivePoint {
  std::uint64_t sample = 0;  // its number
  std::int64_t time_ps = 0;
  std::vector<std::uint64_t> totals;  // of each counter until then; 0 where the result has none of the name
};

struct LiveRun {
  std::string end_reason;           // "running", until it has ended
  std::string start_time;           // UTC, as in /engine
  std::int64_t start_ps = 0;        // simulated time at which the program took the run up
  std::uint64_t thread_blocks = 0;  // that are to run; 0: not known
  std::uint64_t samples = 0;
  std::vector<std::uint64_t> instances;  // of each counter
  std::vector<LivePoint> points;         // in order
};

// Of the samples from number `first` on at most `most`, evenly spread, the last one always among them.
LiveRun read_live(std::string const& path, std::vector<LiveCounter> const& counters, std::uint64_t first,
                  std::uint64_t most);

}  // namespace farfault::results
