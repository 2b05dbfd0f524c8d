// SPDX-License-Identifier: Apache-2.0
// A group of /timeseries at selected samples, for a plot: activity of each device in each interval.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "result_file.hpp"

namespace farfault::analysis {

// The device of a component: the longest prefix of its path that names a node ("gpu0" of "gpu0.sm3"),
// otherwise the part before the first dot.
std::string_view device_of(std::string_view path, std::unordered_set<std::string> const& nodes);

class Sampled {
 public:
  // At most `points` intervals of roughly equal length, each ending at a sample. Throws Hdf5Failure if
  // the group is not a time series.
  Sampled(ObjectId file, std::string kind, std::size_t points);

  // Ends of the intervals, in ps; the first interval begins at 0.
  std::vector<std::uint64_t> const& ends() const { return ends_; }
  std::vector<std::string> const& instances() const { return instances_; }

  struct Metric {
    bool counter = false;
    std::string units;
    std::string text;
  };
  // The metrics except histograms, in alphabetical order.
  std::vector<std::string> metrics() const;
  bool has(std::string const& metric) const;
  Metric describe(std::string const& metric) const;
  // [group][interval]: increase of a counter, or value of a level, summed over the instances of the group.
  // `group`: index of each instance's group.
  std::vector<std::vector<double>> grouped(std::string const& metric, std::vector<std::size_t> const& group,
                                           std::size_t groups) const;

 private:
  ObjectId file_;
  std::string folder_;
  std::uint64_t samples_ = 0;
  std::vector<std::string> instances_;
  std::vector<std::uint64_t> rows_;  // samples at the ends
  std::vector<std::uint64_t> ends_;
};

}  // namespace farfault::analysis
