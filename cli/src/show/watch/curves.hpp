// SPDX-License-Identifier: Apache-2.0
// Private: the curves over simulated time in `farfault watch`, and the counters that they need.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/analysis/live.hpp"

namespace farfault::cli {

// The counters for curves, totals and progress.
std::vector<analysis::LiveCounter> const& watched_counters();
// The index of a counter, which must exist.
std::size_t watched_counter(std::string const& series, std::string const& metric);

struct Curve {
  std::string what;
  bool share = false;          // otherwise an amount
  std::vector<double> values;  // over equal intervals of simulated time; may contain NaN
};

// Curves with data, with at most `parts` intervals. `instances`: by counter.
std::vector<Curve> curves(std::vector<analysis::LivePoint> const& points,
                          std::vector<std::uint64_t> const& instances, std::size_t parts);

}  // namespace farfault::cli
