// SPDX-License-Identifier: Apache-2.0
#include "horizons.hpp"

#include <algorithm>

namespace farfault {

namespace {

// Pulls a horizon within two links of `first` back to one link.
Time aligned(Time horizon, Time first, Duration link) {
  auto const common = later(first, link);
  return horizon < later(common, link) ? std::min(horizon, common) : horizon;
}

}  // namespace

Horizons::Horizons(LaneMap const& map)
    : map_(map),
      lanes_(map.local_lanes()),
      next_(map.nodes(), EventQueue::kNever),
      horizon_(lanes_),
      listed_(lanes_),
      nearest_(lanes_) {
  active_.reserve(lanes_);
  for (std::uint32_t to = 0; to < lanes_; ++to) {
    auto& nearest = nearest_[to];
    for (std::uint32_t from = 0; from < lanes_; ++from)
      if (map.distance(from, to) != Duration::max()) nearest.push_back(static_cast<std::uint16_t>(from));
    std::stable_sort(nearest.begin(), nearest.end(),
                     [&](auto a, auto b) { return map.distance(a, to) < map.distance(b, to); });
  }
  forget();
}

void Horizons::forget() {
  std::fill(next_.begin(), next_.begin() + lanes_, EventQueue::kNever);
  std::fill(next_.begin() + lanes_, next_.end(), Time{});
  std::fill(listed_.begin(), listed_.end(), false);
  active_.clear();
  neighbourhood_ = EventQueue::kNever;
}

void Horizons::expect(std::uint32_t node, Time when) {
  next_[node] = std::min(next_[node], when);
  if (node >= lanes_ || listed_[node]) return;
  listed_[node] = true;
  active_.push_back(node);
}

void Horizons::find(Time end) {
  std::size_t kept = 0;
  polls_ += active_.size();
  for (auto const lane : active_) {
    if (next_[lane] == EventQueue::kNever)
      listed_[lane] = false;
    else
      active_[kept++] = lane;
  }
  active_.resize(kept);
  auto const earliest = first();
  for (auto const lane : active_) horizon_[lane] = of_lane(lane, end, earliest);
}

Time Horizons::of_lane(std::uint32_t lane, Time end, Time first) {
  auto h = end;
  for (auto node = lanes_; node < map_.nodes(); ++node)
    h = std::min(h, later(next_[node], map_.distance(node, lane)));
  polls_ += map_.nodes() - lanes_;
  auto const link = map_.shortest_between_lanes();
  auto const drawn_back = later(later(first, link), link);
  auto const& nearest = nearest_[lane];
  auto look = [&](auto const& nodes, bool by_distance) {
    for (auto const from : nodes) {
      auto const distance = map_.distance(from, lane);
      ++polls_;
      // No lane is less than one link away, so closer horizons would be pulled back anyway.
      if (h < drawn_back || (by_distance && later(first, distance) >= h)) return;
      h = std::min(h, later(next_[from], distance));
    }
  };
  if (active_.size() < nearest.size())
    look(active_, false);
  else
    look(nearest, true);
  return aligned(beside_ranks(h), first, link);
}

Time Horizons::of_merged(Time end) const {
  auto h = std::min(end, later(next_[0], map_.merged_cycle()));
  for (std::uint32_t k = 0; lanes_ + k < map_.nodes(); ++k)
    h = std::min(h, later(next_[lanes_ + k], map_.merged_distance(k)));
  return beside_ranks(h);
}

Time Horizons::beside_ranks(Time horizon) const {
  return map_.ranks() == 1 ? horizon : aligned(horizon, neighbourhood_, map_.shortest_between_ranks());
}

Time Horizons::first() const {
  auto earliest = EventQueue::kNever;
  for (auto const lane : active_) earliest = std::min(earliest, next_[lane]);
  return earliest;
}

}  // namespace farfault
