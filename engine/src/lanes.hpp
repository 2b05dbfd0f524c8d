// Private: which lane and rank each component and port belongs to, and the link distances between lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/engine/engine.hpp"

namespace farfault {

class LaneMap {
 public:
  LaneMap(System& system, Placement placement, EngineOptions const& options, std::uint32_t rank,
          std::uint32_t ranks);

  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return ranks_; }
  std::uint32_t local_lanes() const { return local_lanes_; }
  std::uint32_t partitions() const { return static_cast<std::uint32_t>(rank_of_.size()); }
  std::vector<std::uint32_t> const& partition_of() const { return partition_of_; }  // by component
  bool alone() const { return ranks_ == 1 && local_lanes_ == 1; }

  bool is_local(ComponentId id) const { return rank_of_[partition_of_[id]] == rank_; }
  std::uint32_t rank_of(ComponentId id) const { return rank_of_[partition_of_[id]]; }
  std::uint32_t lane_of(ComponentId id) const { return lane_of_[partition_of_[id]]; }  // of a local component

  // By in-port: the local lane, or local_lanes() + rank for a port of another rank.
  std::vector<std::uint16_t> const& lane_of_port() const { return lane_of_port_; }
  std::vector<std::uint16_t> const& merged_lane_of_port() const { return merged_lane_of_port_; }

  Duration distance(std::uint32_t from, std::uint32_t to) const { return local_[from * local_lanes_ + to]; }
  Duration distance_from_rank(std::uint32_t from_rank, std::uint32_t to) const {
    return from_rank_[from_rank * local_lanes_ + to];
  }
  // The same with all local lanes run as one.
  Duration merged_distance_from_rank(std::uint32_t from_rank) const { return merged_from_rank_[from_rank]; }
  Duration merged_cycle_through_ranks() const { return merged_cycle_; }
  // The shortest link between any two lanes, or ranks, of the whole run.
  Duration shortest_between_lanes() const { return between_lanes_; }
  Duration shortest_between_ranks() const { return between_ranks_; }

 private:
  void assign_ranks(Placement& placement, std::size_t components);
  void assign_lanes(EngineOptions const& options);
  void map_ports(System& system);
  void measure(System& system);

  std::uint32_t rank_;
  std::uint32_t ranks_;
  std::uint32_t local_lanes_ = 1;
  std::vector<std::uint32_t> partition_of_;  // by component
  std::vector<std::uint32_t> rank_of_;       // by partition
  std::vector<std::uint32_t> lane_of_;       // by partition: its lane on its own rank
  std::vector<std::uint32_t> lanes_of_rank_;
  std::vector<std::uint16_t> lane_of_port_;
  std::vector<std::uint16_t> merged_lane_of_port_;
  std::vector<Duration> local_;
  std::vector<Duration> from_rank_;
  std::vector<Duration> merged_from_rank_;
  Duration merged_cycle_ = Duration::max();
  Duration between_lanes_ = Duration::max();
  Duration between_ranks_ = Duration::max();
};

}  // namespace farfault
