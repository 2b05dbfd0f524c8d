// SPDX-License-Identifier: Apache-2.0
// Private: what `farfault watch` shows of a run over simulated time, and what it needs of the samples for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/results/live.hpp"

namespace farfault::cli {

// The counters of which curves, totals and progress are made.
std::vector<results::LiveCounter> const& watched_counters();
// The place of one of them; there must be one.
std::size_t watched_counter(std::string const& series, std::string const& metric);

struct Curve {
  std::string what;
  bool share = false;          // else an amount
  std::vector<double> values;  // over equal parts of the simulated time; some may be not a number
};

// Those of which there is something to show, in `parts` parts at most. `instances`: of each counter.
std::vector<Curve> curves(std::vector<results::LivePoint> const& points,
                          std::vector<std::uint64_t> const& instances, std::size_t parts);

}  // namespace farfault::cli
