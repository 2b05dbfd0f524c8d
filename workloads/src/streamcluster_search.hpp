// SPDX-License-Identifier: Apache-2.0
// The search of streamcluster on the host: a local search for facility location. It determines the candidate
// that each pgain kernel evaluates and the path of each of its threads.
//
// - Steps: as in the suite's host program for one chunk with all points, each of weight 1. `speedy` opens
//   a first set of centres. Candidates are then drawn from feasible points, one kernel each, until the
//   improvement is small. The price of a centre is found by bisection.
// - Coordinates and costs are integers, so that sums do not depend on the compiler's order of operations.
//   Random numbers are drawn from the seed.
// - Points have random positions, so the program's shuffle of points is omitted.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph_algorithms.hpp"

namespace farfault::workloads {

struct PointSet {
  std::uint64_t points = 0;
  std::uint32_t dimensions = 0;
  std::vector<std::uint16_t> coordinates;  // point by point

  std::uint64_t distance(std::uint64_t a, std::uint64_t b) const;  // squared
};

// Coordinates from 0 to 255, uniform.
PointSet generate_points(std::uint64_t points, std::uint32_t dimensions, std::uint64_t seed);

// The centre of each point.
struct Assignment {
  std::vector<std::uint32_t> centre;  // per point: a point
  std::vector<std::uint64_t> cost;    // distance from that centre
  std::vector<std::uint32_t> number;  // per point that is a centre: its rank among the centres
  std::uint32_t centres = 0;
};

// One evaluation of a centre at `candidate`.
struct Evaluation {
  std::uint32_t candidate = 0;
  std::shared_ptr<Assignment const> before;
  Bits switches;        // per point: nearer to the candidate than to its centre
  double price = 0;     // price of a centre
  bool opened = false;  // the candidate became a centre
};

struct SearchLimits {
  std::uint32_t fewest = 10;  // minimum centres
  std::uint32_t most = 20;
  std::uint32_t evaluations = 16;  // maximum
};

// `set` has more points than the maximum number of centres, and at least two different points.
std::vector<Evaluation> search_centres(PointSet const& set, SearchLimits const& limits, std::uint64_t seed);

}  // namespace farfault::workloads
