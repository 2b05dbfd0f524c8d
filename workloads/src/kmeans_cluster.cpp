// SPDX-License-Identifier: Apache-2.0
#include "kmeans_cluster.hpp"

#include <cstddef>

namespace farfault::workloads {

Clustering cluster(std::vector<float> const& points, std::uint32_t features, std::uint32_t clusters,
                   std::uint32_t max_rounds) {
  std::size_t const dims = features;
  auto const n = points.size() / dims;
  Clustering result;
  result.membership.assign(n, clusters);  // no cluster yet
  result.centres.assign(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(clusters * dims));
  while (result.rounds < max_rounds) {
    ++result.rounds;
    bool changed = false;
    std::vector<double> sums(clusters * dims, 0.0);
    std::vector<std::uint64_t> sizes(clusters, 0);
    for (std::size_t p = 0; p < n; ++p) {
      auto const* const x = &points[p * dims];
      std::uint32_t best = 0;
      float best_distance = 0;
      for (std::uint32_t c = 0; c < clusters; ++c) {
        auto const* const centre = &result.centres[c * dims];
        float distance = 0;
        for (std::size_t f = 0; f < dims; ++f) distance += (x[f] - centre[f]) * (x[f] - centre[f]);
        if (c == 0 || distance < best_distance) {
          best = c;
          best_distance = distance;
        }
      }
      changed = changed || result.membership[p] != best;
      result.membership[p] = best;
      ++sizes[best];
      for (std::size_t f = 0; f < dims; ++f) sums[best * dims + f] += static_cast<double>(x[f]);
    }
    if (!changed) break;
    for (std::uint32_t c = 0; c < clusters; ++c)
      for (std::size_t f = 0; f < dims && sizes[c] > 0; ++f)
        result.centres[c * dims + f] = static_cast<float>(sums[c * dims + f] / static_cast<double>(sizes[c]));
  }
  return result;
}

}  // namespace farfault::workloads
