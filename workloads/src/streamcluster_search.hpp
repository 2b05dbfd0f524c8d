// SPDX-License-Identifier: Apache-2.0
// The search of streamcluster on the host: a facility-location local search over points, which decides what
// each pgain kernel evaluates and which way each of its threads goes.
//
// The steps are those of the suite's host program for one chunk that holds all points, each of weight 1: a
// first set of centres by `speedy`, then candidates drawn from feasible points, one kernel for each, until
// the improvement is small; the price of a centre is found by bisection. Coordinates and costs are whole
// numbers, so that no sum depends on how a compiler orders it; the numbers drawn come from the seed. The
// points are at random places, so that shuffling them, as the program does, is left out.
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

// Which centre each point belongs to.
struct Assignment {
  std::vector<std::uint32_t> centre;  // of each point: a point
  std::vector<std::uint64_t> cost;    // its distance from there
  std::vector<std::uint32_t> number;  // of each point that is a centre: its rank among them
  std::uint32_t centres = 0;
};

// One evaluation: would a centre at `candidate` save anything?
struct Evaluation {
  std::uint32_t candidate = 0;
  std::shared_ptr<Assignment const> before;
  Bits switches;        // of points: those nearer to the candidate than to their centre
  double price = 0;     // of a centre
  bool opened = false;  // the candidate became a centre
};

struct SearchLimits {
  std::uint32_t fewest = 10;  // centres
  std::uint32_t most = 20;
  std::uint32_t evaluations = 16;  // at most
};

// `set` has more points than the most centres, and not all of them at one place.
std::vector<Evaluation> search_centres(PointSet const& set, SearchLimits const& limits, std::uint64_t seed);

}  // namespace farfault::workloads
