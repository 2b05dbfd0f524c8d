// SPDX-License-Identifier: Apache-2.0
// The k-means algorithm on the host, on generated points. Determines the number of rounds of the clustering.
#pragma once

#include <cstdint>
#include <vector>

namespace farfault::workloads {

struct Clustering {
  std::uint32_t rounds = 0;               // distance kernels launched; the last may have changed nothing
  std::vector<std::uint32_t> membership;  // cluster of each point
  std::vector<float> centres;             // clusters x features, row by row
};

// `points` row by row. The first points are the initial centres. A round assigns every point to its nearest
// centre (the first of equals) and moves centres to the mean of their points; the centre of an empty cluster
// does not move.
Clustering cluster(std::vector<float> const& points, std::uint32_t features, std::uint32_t clusters,
                   std::uint32_t max_rounds);

}  // namespace farfault::workloads
