// SPDX-License-Identifier: Apache-2.0
// Quality-threshold clustering (Heyer et al., as in SHOC's qtclustering) on the host, on generated points in
// a plane. Determines the cluster that each seed would gather, round by round, until no points are left.
//
// Points are on a grid of 1/1024, and distances are compared by their squares, so all results are exact and
// the same on every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "random.hpp"

namespace farfault::workloads {

struct QtPoint {
  std::int32_t x = 0, y = 0;
};

inline constexpr std::int32_t kQtUnit = 1024;          // unit of coordinates
inline constexpr std::int32_t kQtSide = 20 * kQtUnit;  // side of the square that contains the points

inline std::uint32_t qt_square(QtPoint a, QtPoint b) {
  auto const dx = a.x - b.x, dy = a.y - b.y;
  return static_cast<std::uint32_t>(dx * dx + dy * dy);
}

inline std::int32_t qt_root(std::int64_t square) {
  std::int64_t root = 0;
  for (std::int64_t bit = 1 << 20; bit != 0; bit /= 2)
    if ((root + bit) * (root + bit) <= square) root += bit;
  return static_cast<std::int32_t>(root);
}

// SHOC's synthetic data: groups of fewer than a thirtieth of all points, inside circles of random radius.
inline std::vector<QtPoint> qt_points(std::uint32_t count, std::uint64_t seed) {
  Random random(seed);
  auto const below = [&](std::int64_t bound) {
    return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(bound) + 1));
  };
  std::vector<QtPoint> points;
  while (points.size() < count) {
    QtPoint const centre{below(kQtSide), below(kQtSide)};
    auto const radius = below(kQtSide / 2);
    auto left = std::min<std::uint64_t>(random.below(count / 30), count - points.size());
    while (left > 0) {
      auto const side = below(1) == 0 ? -1 : 1;
      auto const r = below(radius);
      auto const dx = below(2 * r) - r;
      auto const dy = side * qt_root(std::int64_t{r} * r - std::int64_t{dx} * dx);
      QtPoint const p{centre.x + dx, centre.y + dy};
      if (p.x < 0 || p.x > kQtSide || p.y < 0 || p.y > kQtSide) continue;
      points.push_back(p);
      --left;
    }
  }
  return points;
}

// The cluster that a seed gathers from the points without a cluster.
struct QtCandidate {
  static constexpr std::uint16_t kNever = 0xffff;

  std::vector<std::uint32_t> members;  // the seed, then the others in the order in which they were found
  // Per neighbour of the seed, the round from which it is unavailable: 0 if it is in an earlier cluster, m if
  // it is member m of this one.
  std::vector<std::uint16_t> dropped;
};

// One of the seeds that a block of threads tries one after the other.
struct QtTrial {
  static constexpr std::uint32_t kSkipped = 0xffff'ffff;  // not more neighbours than the best so far

  std::uint32_t seed = 0;
  std::uint32_t candidate = kSkipped;
};

// The search for one cluster.
struct QtRound {
  std::vector<std::uint32_t> left;   // points without a cluster, ascending
  std::uint32_t blocks = 0;          // blocks that share the seeds
  std::vector<QtTrial> trials;       // block by block
  std::vector<std::uint32_t> first;  // first trial of each block, and the end
  std::vector<std::uint32_t> sizes;  // size of each block's best cluster
  std::uint32_t winner = 0;          // number of the candidate
};

class QtClustering {
 public:
  QtClustering(std::vector<QtPoint> points, std::uint32_t threshold)
      : points_(std::move(points)), limit_(threshold * threshold * kQtUnit * kQtUnit), rows_(points_.size()) {
    for (std::uint32_t i = 0; i < size(); ++i)
      for (std::uint32_t j = 0; j < size(); ++j)
        if (i != j && near(i, j)) rows_[i].push_back(j);
    for (auto const& row : rows_) max_degree_ = std::max(max_degree_, static_cast<std::uint32_t>(row.size()));
  }

  // Call once. Ends after a cluster of one point, or after `max_clusters`; a round has at most `max_blocks`
  // blocks.
  void run(std::uint32_t max_blocks, std::uint32_t max_clusters) {
    std::vector<std::uint32_t> left(size()), of_seed(size(), kStale);
    for (std::uint32_t i = 0; i < size(); ++i) left[i] = i;
    std::vector<bool> clustered(size());
    std::size_t found = 2;
    while (!left.empty() && found > 1 && rounds_.size() < max_clusters) {
      QtRound round;
      round.left = left;
      round.blocks = std::min(max_blocks, static_cast<std::uint32_t>(left.size()));
      std::size_t largest = 0;
      for (std::uint32_t b = 0; b < round.blocks; ++b) {
        round.first.push_back(static_cast<std::uint32_t>(round.trials.size()));
        std::size_t best = 0;
        for (std::size_t i = b; i < left.size(); i += round.blocks) {
          QtTrial trial{left[i]};
          if (best == 0 || rows_[trial.seed].size() > best) {
            auto& candidate = of_seed[trial.seed];
            if (candidate == kStale) {
              candidate = static_cast<std::uint32_t>(candidates_.size());
              candidates_.push_back(gather(trial.seed, clustered));
            }
            trial.candidate = candidate;
            best = std::max(best, candidates_[candidate].members.size());
            if (best > largest) {
              largest = best;
              round.winner = candidate;
            }
          }
          round.trials.push_back(trial);
        }
        round.sizes.push_back(static_cast<std::uint32_t>(best));
      }
      round.first.push_back(static_cast<std::uint32_t>(round.trials.size()));
      auto const& members = candidates_[round.winner].members;
      found = members.size();
      for (auto const m : members) {
        clustered[m] = true;
        for (auto const n : rows_[m]) of_seed[n] = kStale;
      }
      std::erase_if(left, [&](auto p) { return clustered[p]; });
      rounds_.push_back(std::move(round));
    }
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(points_.size()); }
  std::uint32_t max_degree() const { return max_degree_; }
  std::vector<std::uint32_t> const& neighbours(std::uint32_t point) const { return rows_[point]; }
  std::vector<QtRound> const& rounds() const { return rounds_; }
  QtCandidate const& candidate(std::uint32_t i) const { return candidates_[i]; }

  bool near(std::uint32_t a, std::uint32_t b) const { return qt_square(points_[a], points_[b]) < limit_; }

  // True if member `r` is farther from the point than all earlier members. It is false if an earlier member
  // is not a neighbour.
  bool farthest(std::uint32_t point, std::vector<std::uint32_t> const& members, std::size_t r) const {
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < r; ++i) most = std::max(most, distance(point, members[i]));
    return distance(point, members[r]) > most;
  }

 private:
  static constexpr std::uint32_t kStale = 0xffff'ffff;

  // Squared; the same value for all pairs that are not neighbours, as in the kernels' matrix.
  std::uint32_t distance(std::uint32_t a, std::uint32_t b) const {
    auto const square = qt_square(points_[a], points_[b]);
    return square < limit_ ? square : 0xffff'ffff;
  }

  QtCandidate gather(std::uint32_t seed, std::vector<bool> const& clustered) const {
    auto const& row = rows_[seed];
    QtCandidate c{{seed}, std::vector<std::uint16_t>(row.size(), QtCandidate::kNever)};
    std::vector<std::uint32_t> diameter(row.size());
    for (std::size_t i = 0; i < row.size(); ++i)
      if (clustered[row[i]]) c.dropped[i] = 0;
    for (;;) {
      auto best = row.size();
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (c.dropped[i] != QtCandidate::kNever) continue;
        diameter[i] = std::max(diameter[i], distance(row[i], c.members.back()));
        if (diameter[i] < limit_ && (best == row.size() || diameter[i] < diameter[best])) best = i;
      }
      if (best == row.size()) return c;
      c.dropped[best] = static_cast<std::uint16_t>(c.members.size());
      c.members.push_back(row[best]);
    }
  }

  std::vector<QtPoint> points_;
  std::uint32_t limit_;  // squared
  std::uint32_t max_degree_ = 0;
  std::vector<std::vector<std::uint32_t>> rows_;
  std::deque<QtCandidate> candidates_;
  std::vector<QtRound> rounds_;
};

}  // namespace farfault::workloads
