// SPDX-License-Identifier: Apache-2.0
#include "streamcluster_search.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "random.hpp"

namespace farfault::workloads {
namespace {

constexpr double kRepeats = 3;  // ITER in the host program

class Search {
 public:
  Search(PointSet const& set, SearchLimits const& limits, std::uint64_t seed)
      : set_(set), limits_(limits), random_(seed ^ 0x5c), is_centre_(set.points) {}

  std::vector<Evaluation> run() {
    std::uint64_t all = 0;
    for (std::uint64_t i = 0; i < set_.points; ++i) all += set_.distance(i, 0);
    double high = static_cast<double>(all);
    double low = 0;
    price_ = (high + low) / 2;
    // Twice at the first price, then at decreasing prices, until there are enough centres. Below a price of 1
    // every distinct point is a centre.
    double cost = speedy();
    for (bool first = true; centres_ < limits_.fewest && price_ >= 0.5; first = false) {
      if (!first) {
        high = price_;
        price_ = (high + low) / 2;
      }
      cost = speedy();
    }
    for (auto const c : now_.centre) is_centre_[c] = true;
    publish();
    choose_feasible();
    while (!done()) {
      cost = local_search(cost, 0.1);
      if ((centres_ <= 1.1 * limits_.most && centres_ >= 0.9 * limits_.fewest) ||
          (centres_ <= limits_.most + 2 && centres_ + 2 >= limits_.fewest))
        cost = local_search(cost, 0.001);
      if (centres_ > limits_.most) {
        low = price_;
        price_ = (high + low) / 2;
        cost += (price_ - low) * centres_;
      }
      if (centres_ < limits_.fewest) {
        high = price_;
        price_ = (high + low) / 2;
        cost += (price_ - high) * centres_;
      }
      if ((centres_ <= limits_.most && centres_ >= limits_.fewest) || low >= 0.999 * high) break;
    }
    return std::move(evaluations_);
  }

 private:
  bool done() const { return evaluations_.size() >= limits_.evaluations; }

  // A point becomes a centre with the probability cost / price.
  double speedy() {
    auto const n = set_.points;
    now_.centre.assign(n, 0);
    now_.cost.resize(n);
    for (std::uint64_t i = 0; i < n; ++i) now_.cost[i] = set_.distance(i, 0);
    centres_ = 1;
    for (std::uint64_t i = 1; i < n; ++i) {
      if (static_cast<double>(random_.below(1U << 31)) / (1U << 31) >=
          static_cast<double>(now_.cost[i]) / price_)
        continue;
      ++centres_;
      for (std::uint64_t k = 0; k < n; ++k)
        if (auto const d = set_.distance(i, k); d < now_.cost[k]) {
          now_.cost[k] = d;
          now_.centre[k] = static_cast<std::uint32_t>(i);
        }
    }
    return price_ * static_cast<double>(centres_) +
           static_cast<double>(std::accumulate(now_.cost.begin(), now_.cost.end(), std::uint64_t{0}));
  }

  void choose_feasible() {
    auto const wanted = kRepeats * limits_.fewest * std::log(static_cast<double>(limits_.fewest));
    feasible_.resize(set_.points);
    std::iota(feasible_.begin(), feasible_.end(), 0U);
    if (static_cast<double>(set_.points) <= wanted) return;
    feasible_.resize(static_cast<std::size_t>(wanted));
    for (auto& f : feasible_) f = static_cast<std::uint32_t>(random_.below(set_.points));
  }

  double local_search(double cost, double least) {
    auto const rounds =
        static_cast<std::uint64_t>(kRepeats * limits_.most * std::log(static_cast<double>(limits_.most)));
    auto change = cost;
    while (cost > 0 && change / cost > least && !done()) {
      change = 0;
      for (std::size_t i = 0; i + 1 < feasible_.size(); ++i)
        std::swap(feasible_[i], feasible_[i + random_.below(feasible_.size() - i)]);
      for (std::uint64_t i = 0; i < rounds && !done(); ++i) change += gain(feasible_[i % feasible_.size()]);
      cost -= change;
    }
    return cost;
  }

  // Evaluates a centre at x and returns its gain. If the gain is positive, the centre is opened, and centres
  // that are no longer worth their price are closed.
  double gain(std::uint32_t x) {
    auto const n = set_.points;
    Evaluation e;
    e.candidate = x;
    e.before = before_;
    e.price = price_;
    e.switches = Bits(n);
    std::vector<double> closing(centres_, price_);  // gain of closing each centre
    double opening = price_;
    for (std::uint64_t i = 0; i < n; ++i) {
      auto const d = static_cast<double>(set_.distance(i, x)) - static_cast<double>(now_.cost[i]);
      if (d < 0) {
        e.switches.set(i);
        opening += d;
      } else {
        closing[now_.number[now_.centre[i]]] -= d;
      }
    }
    std::uint32_t closed = 0;
    for (auto const saved : closing)
      if (saved > 0) {
        ++closed;
        opening -= saved;
      }
    e.opened = opening < 0;
    if (e.opened) {
      for (std::uint64_t i = 0; i < n; ++i)
        if (e.switches[i] || closing[now_.number[now_.centre[i]]] > 0) {
          now_.cost[i] = set_.distance(i, x);
          now_.centre[i] = x;
        }
      for (std::uint64_t i = 0; i < n; ++i)
        if (is_centre_[i] && closing[now_.number[i]] > 0) is_centre_[i] = false;
      is_centre_[x] = true;
      centres_ += 1 - closed;
      publish();
    }
    evaluations_.push_back(std::move(e));
    return opening < 0 ? -opening : 0;
  }

  void publish() {
    now_.number.assign(set_.points, 0);
    std::uint32_t count = 0;
    for (std::uint64_t i = 0; i < set_.points; ++i)
      if (is_centre_[i]) now_.number[i] = count++;
    now_.centres = count;
    before_ = std::make_shared<Assignment const>(now_);
  }

  PointSet const& set_;
  SearchLimits limits_;
  Random random_;
  Assignment now_;
  std::shared_ptr<Assignment const> before_;  // copy of now_, shared until the next opening
  std::vector<bool> is_centre_;
  std::vector<std::uint32_t> feasible_;
  std::vector<Evaluation> evaluations_;
  double price_ = 0;
  std::uint32_t centres_ = 0;
};

}  // namespace

std::uint64_t PointSet::distance(std::uint64_t a, std::uint64_t b) const {
  std::uint64_t sum = 0;
  for (std::uint64_t d = 0; d < dimensions; ++d) {
    auto const between = std::int32_t{coordinates[a * dimensions + d]} - coordinates[b * dimensions + d];
    sum += static_cast<std::uint64_t>(between * between);
  }
  return sum;
}

PointSet generate_points(std::uint64_t points, std::uint32_t dimensions, std::uint64_t seed) {
  PointSet set{points, dimensions, std::vector<std::uint16_t>(points * dimensions)};
  Random random(seed);
  for (auto& c : set.coordinates) c = static_cast<std::uint16_t>(random.below(256));
  return set;
}

std::vector<Evaluation> search_centres(PointSet const& set, SearchLimits const& limits, std::uint64_t seed) {
  return Search(set, limits, seed).run();
}

}  // namespace farfault::workloads
