#include "lanes.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "lookahead.hpp"

namespace farfault {

namespace {
// Lanes per thread when partitions are merged: enough that uneven ones can be balanced by stealing.
constexpr std::uint32_t kLanesPerThread = 4;
}  // namespace

LaneMap::LaneMap(System& system, Placement placement, EngineOptions const& options, std::uint32_t rank,
                 std::uint32_t ranks)
    : rank_(rank), ranks_(ranks) {
  assign_ranks(placement, system.component_count());
  assign_lanes(options);
  map_ports(system);
  measure(system);
}

void LaneMap::assign_ranks(Placement& placement, std::size_t components) {
  partition_of_ = std::move(placement.partition_of);
  if (partition_of_.empty()) partition_of_.assign(components, 0);
  if (partition_of_.size() != components)
    throw UserError("the placement does not name a partition for every component");
  for (auto const p : partition_of_)
    if (p >= placement.partitions) throw UserError("the placement names a partition beyond its own count");
  rank_of_ = std::move(placement.rank_of);
  if (rank_of_.empty())
    for (std::uint32_t p = 0; p < placement.partitions; ++p)
      rank_of_.push_back(static_cast<std::uint32_t>(std::uint64_t{p} * ranks_ / placement.partitions));
  if (rank_of_.size() != placement.partitions)
    throw UserError("the placement does not name a rank for every partition");
  for (auto const r : rank_of_)
    if (r >= ranks_) throw UserError("the placement names a rank beyond their number");
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
  if (local_lanes_ + ranks_ > std::numeric_limits<std::uint16_t>::max())
    throw UserError("over 65535 lanes and ranks together: merge partitions");
  for (auto const& receiver : system.receivers_) {
    auto const partition = partition_of_[receiver.component->id()];
    auto const r = rank_of_[partition];
    auto const lane = r == rank_ ? lane_of_[partition] : local_lanes_ + r;
    lane_of_port_.push_back(static_cast<std::uint16_t>(lane));
    merged_lane_of_port_.push_back(static_cast<std::uint16_t>(r == rank_ ? 0 : lane));
  }
}

void LaneMap::measure(System& system) {
  std::vector<std::uint32_t> base(ranks_ + 1);
  for (std::uint32_t r = 0; r < ranks_; ++r) base[r + 1] = base[r] + lanes_of_rank_[r];
  auto const lanes = base[ranks_];
  auto global_lane = [&](ComponentId id) {
    auto const partition = partition_of_[id];
    return base[rank_of_[partition]] + lane_of_[partition];
  };

  auto rank_of_lane = [&](std::uint32_t lane) {
    return std::upper_bound(base.begin(), base.end(), lane) - base.begin();
  };

  // The shortest link between each pair of lanes. A family is looked through once for every lane that sends
  // to it.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Duration> shortest;
  std::map<std::pair<std::vector<PortId> const*, std::uint32_t>, Duration> families;
  auto note = [&](std::uint32_t from, std::uint32_t to, Duration latency) {
    if (from == to) return;
    auto const [entry, is_new] = shortest.try_emplace({from, to}, latency);
    if (!is_new) entry->second = std::min(entry->second, latency);
  };
  if (lanes > 1) {
    for (auto const& port : system.outs_) {
      if (port.timer) continue;
      auto const from = global_lane(port.component);
      if (port.family != nullptr) {
        auto const [entry, is_new] = families.try_emplace({port.family, from}, port.latency);
        if (!is_new) entry->second = std::min(entry->second, port.latency);
      } else {
        note(from, global_lane(system.receivers_[port.to].component->id()), port.latency);
      }
    }
    for (auto const& [key, latency] : families)
      for (auto const to : *key.first)
        note(key.second, global_lane(system.receivers_[to].component->id()), latency);
  }
  std::vector<LaneLink> links;
  for (auto const& [pair, latency] : shortest) {
    links.push_back({pair.first, pair.second, latency});
    between_lanes_ = std::min(between_lanes_, latency);
    if (rank_of_lane(pair.first) != rank_of_lane(pair.second))
      between_ranks_ = std::min(between_ranks_, latency);
  }

  std::vector<std::uint32_t> targets;
  for (std::uint32_t i = 0; i < local_lanes_; ++i) targets.push_back(base[rank_] + i);
  auto const distances = shortest_paths_to(targets, lanes, links);
  local_.resize(std::size_t{local_lanes_} * local_lanes_);
  from_rank_.assign(std::size_t{ranks_} * local_lanes_, Duration::max());
  for (std::uint32_t to = 0; to < local_lanes_; ++to) {
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      for (auto lane = base[r]; lane < base[r + 1]; ++lane) {
        auto const d = distances[to * std::size_t{lanes} + lane];
        if (r == rank_) local_[(lane - base[r]) * local_lanes_ + to] = d;
        auto& least = from_rank_[r * local_lanes_ + to];
        least = std::min(least, d);
      }
    }
  }
  // All lanes of this rank as one: what leaves it comes back at the earliest over the cheapest link out and
  // the shortest way in.
  merged_from_rank_.assign(ranks_, Duration::max());
  for (std::uint32_t r = 0; r < ranks_; ++r)
    for (std::uint32_t to = 0; to < local_lanes_; ++to)
      merged_from_rank_[r] = std::min(merged_from_rank_[r], from_rank_[r * local_lanes_ + to]);
  for (auto const& l : links) {
    if (l.from < base[rank_] || l.from >= base[rank_ + 1]) continue;
    if (l.to >= base[rank_] && l.to < base[rank_ + 1]) continue;
    for (std::uint32_t i = 0; i < local_lanes_; ++i) {
      auto const back = distances[i * std::size_t{lanes} + l.to];
      if (back != Duration::max()) merged_cycle_ = std::min(merged_cycle_, l.latency + back);
    }
  }
}

}  // namespace farfault
