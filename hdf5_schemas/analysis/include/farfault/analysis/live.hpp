// SPDX-License-Identifier: Apache-2.0
// Reads the samples so far of a run in progress.
//
// Guarantees and errors: as in reader.hpp. The file is opened read-only and without a lock, so the run is not
// affected. A read during a flush of the run may fail like a read of a damaged file; the next read succeeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace farfault::analysis {

// A counter: /timeseries/<series>/<metric>, summed over its instances.
struct LiveCounter {
  std::string series, metric;
};

struct LivePoint {
  std::uint64_t sample = 0;  // its index
  std::int64_t time_ps = 0;
  std::vector<std::uint64_t> totals;  // per counter, up to this sample; 0 if the result lacks the counter
};

struct LiveRun {
  std::string end_reason;           // "running" until the end
  std::string start_time;           // UTC, as in /engine
  std::int64_t start_ps = 0;        // simulated time at which this process started or resumed the run
  std::uint64_t thread_blocks = 0;  // to be executed; 0: unknown
  std::uint64_t samples = 0;
  std::vector<std::uint64_t> instances;  // per counter
  std::vector<LivePoint> points;         // in order
};

// At most `most` of the samples from index `first` on, evenly spread in time, including the last one.
LiveRun read_live(std::string const& path, std::vector<LiveCounter> const& counters, std::uint64_t first,
                  std::uint64_t most);

}  // namespace farfault::analysis
