// SPDX-License-Identifier: Apache-2.0
#include "lanes.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace farfault {

namespace {
// Lanes per thread when partitions are merged: enough to balance uneven lanes by stealing.
constexpr std::uint32_t kLanesPerThread = 4;
}  // namespace

LaneMap::LaneMap(System& system, Placement placement, EngineOptions const& options, std::uint32_t rank,
                 std::uint32_t ranks)
    : rank_(rank), ranks_(ranks) {
  assign_ranks(placement, system.component_count());
  assign_lanes(options);
  auto const links = shortest_links(system);
  find_peers(links);
  map_ports(system);
  measure(links);
}

void LaneMap::assign_ranks(Placement& placement, std::size_t components) {
  partition_of_ = std::move(placement.partition_of);
  if (partition_of_.empty()) partition_of_.assign(components, 0);
  if (partition_of_.size() != components)
    throw UserError("the placement does not assign a partition to every component");
  for (auto const p : partition_of_)
    if (p >= placement.partitions)
      throw UserError("the placement assigns a partition beyond its number of partitions");
  rank_of_ = std::move(placement.rank_of);
  if (rank_of_.empty())
    for (std::uint32_t p = 0; p < placement.partitions; ++p)
      rank_of_.push_back(static_cast<std::uint32_t>(std::uint64_t{p} * ranks_ / placement.partitions));
  if (rank_of_.size() != placement.partitions)
    throw UserError("the placement does not assign a rank to every partition");
  for (auto const r : rank_of_)
    if (r >= ranks_) throw UserError("the placement assigns a rank beyond the number of ranks");
}

void LaneMap::assign_lanes(EngineOptions const& options) {
  std::vector<std::uint32_t> count(ranks_);
  for (auto const r : rank_of_) ++count[r];
  for (auto const n : count) {
    auto const wanted = options.threads <= 1 ? 1 : options.threads * kLanesPerThread;
    lanes_of_rank_.push_back(std::max(1U, options.merge_lanes ? std::min(n, wanted) : n));
  }
  std::vector<std::uint32_t> seen(ranks_);
  for (auto const r : rank_of_) {
    auto const index = seen[r]++;
    lane_of_.push_back(static_cast<std::uint32_t>(std::uint64_t{index} * lanes_of_rank_[r] / count[r]));
  }
  local_lanes_ = lanes_of_rank_[rank_];
}

void LaneMap::map_ports(System& system) {
  if (nodes() > std::numeric_limits<std::uint16_t>::max())
    throw UserError("more than 65535 lanes and ranks in total: use fewer partitions");
  std::vector<std::uint16_t> node_of_rank(ranks_, std::numeric_limits<std::uint16_t>::max());
  for (std::size_t k = 0; k < peers_.size(); ++k)
    node_of_rank[peers_[k]] = static_cast<std::uint16_t>(local_lanes_ + k);
  for (auto const& receiver : system.receivers_) {
    auto const partition = partition_of_[receiver.component->id()];
    auto const r = rank_of_[partition];
    bool const local = r == rank_;
    node_of_port_.push_back(local ? static_cast<std::uint16_t>(lane_of_[partition]) : node_of_rank[r]);
    merged_node_of_port_.push_back(local ? std::uint16_t{0} : node_of_rank[r]);
  }
}

std::vector<LaneLink> LaneMap::shortest_links(System& system) {
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Pair, Duration> shortest;
  auto note = [&](ComponentId sender, ComponentId receiver, Duration latency) {
    auto const from = partition_of_[sender];
    auto const to = partition_of_[receiver];
    bool const one_rank = rank_of_[from] == rank_of_[to];
    if (one_rank && lane_of_[from] == lane_of_[to]) return;
    between_lanes_ = std::min(between_lanes_, latency);
    if (!one_rank) between_ranks_ = std::min(between_ranks_, latency);
    auto node = [&](std::uint32_t p) {
      return rank_of_[p] == rank_ ? lane_of_[p] : local_lanes_ + rank_of_[p];
    };
    if (node(from) == node(to)) return;  // within another rank
    auto const [entry, is_new] = shortest.try_emplace(Pair{node(from), node(to)}, latency);
    if (!is_new) entry->second = std::min(entry->second, latency);
  };
  if (ranks_ == 1 && local_lanes_ == 1) return {};
  // A family is processed once for every lane that sends to it.
  using Sender = std::pair<std::uint32_t, std::uint32_t>;  // rank and lane
  std::map<std::pair<std::vector<PortId> const*, Sender>, std::pair<Duration, ComponentId>> families;
  for (auto const& port : system.outs_) {
    if (port.timer) continue;
    if (port.family != nullptr) {
      auto const partition = partition_of_[port.component];
      auto const key = std::pair(port.family, Sender{rank_of_[partition], lane_of_[partition]});
      auto const [entry, is_new] = families.try_emplace(key, port.latency, port.component);
      if (!is_new) entry->second.first = std::min(entry->second.first, port.latency);
    } else {
      note(port.component, system.receivers_[port.to].component->id(), port.latency);
    }
  }
  for (auto const& [key, sender] : families)
    for (auto const to : *key.first) note(sender.second, system.receivers_[to].component->id(), sender.first);
  std::vector<LaneLink> links;
  for (auto const& [pair, latency] : shortest) links.push_back({pair.first, pair.second, latency});
  return links;
}

void LaneMap::find_peers(std::vector<LaneLink> const& links) {
  std::vector<Duration> from_rank(ranks_, Duration::max());
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;  // of ranks
  for (auto const& l : links) {
    auto const from = l.from < local_lanes_ ? rank_ : l.from - local_lanes_;
    auto const to = l.to < local_lanes_ ? rank_ : l.to - local_lanes_;
    if (from == to) continue;
    pairs.emplace(std::min(from, to), std::max(from, to));
    if (to == rank_) from_rank[from] = std::min(from_rank[from], l.latency);
  }
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    if (!pairs.contains({std::min(r, rank_), std::max(r, rank_)})) continue;
    peers_.push_back(r);
    from_peer_.push_back(from_rank[r]);
  }
  all_are_peers_ = pairs.size() == std::size_t{ranks_} * (ranks_ - 1) / 2;
}

void LaneMap::measure(std::vector<LaneLink> const& links) {
  std::vector<std::uint32_t> targets;
  for (std::uint32_t i = 0; i < local_lanes_; ++i) targets.push_back(i);
  auto const width = local_lanes_ + ranks_;
  auto const paths = shortest_paths_to(targets, width, links);
  auto path = [&](std::uint32_t from, std::uint32_t to) { return paths[std::size_t{to} * width + from]; };

  merged_distances_.assign(peers_.size(), Duration::max());
  for (std::uint32_t to = 0; to < local_lanes_; ++to) {
    for (std::uint32_t from = 0; from < local_lanes_; ++from) distances_.push_back(path(from, to));
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      distances_.push_back(path(local_lanes_ + peers_[k], to));
      merged_distances_[k] = std::min(merged_distances_[k], distances_.back());
    }
  }
  // All lanes of this rank as one: an event that leaves it can return at the earliest over the cheapest link
  // out and the shortest path in.
  for (auto const& l : links) {
    if (l.from >= local_lanes_ || l.to < local_lanes_) continue;
    for (std::uint32_t i = 0; i < local_lanes_; ++i)
      if (auto const back = path(l.to, i); back != Duration::max())
        merged_cycle_ = std::min(merged_cycle_, l.latency + back);
  }
}

}  // namespace farfault
