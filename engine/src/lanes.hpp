// SPDX-License-Identifier: Apache-2.0
// Private: which lane and rank each component and port belongs to, and the link distances between lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/engine/engine.hpp"
#include "lookahead.hpp"

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

  // The ranks that share links with this one, in order. Lanes and peers are the nodes for mail and
  // distances: lane i is node i, peer k is node local_lanes() + k.
  std::vector<std::uint32_t> const& peers() const { return peers_; }
  // Direct link from a peer to this rank; Duration::max() if links exist only in the other direction.
  Duration link_from_peer(std::uint32_t peer) const { return from_peer_[peer]; }
  // True if every two ranks share links.
  bool all_are_peers() const { return all_are_peers_; }
  std::uint32_t nodes() const { return local_lanes_ + static_cast<std::uint32_t>(peers_.size()); }

  // By in-port: its node.
  std::vector<std::uint16_t> const& node_of_port() const { return node_of_port_; }
  std::vector<std::uint16_t> const& merged_node_of_port() const { return merged_node_of_port_; }

  // The shortest path of links from a node to a lane, through any other nodes; for a lane to itself the
  // shortest cycle.
  Duration distance(std::uint32_t from, std::uint32_t to_lane) const {
    return distances_[std::size_t{to_lane} * nodes() + from];
  }
  // The same with all local lanes run as one.
  Duration merged_distance(std::uint32_t peer) const { return merged_distances_[peer]; }
  Duration merged_cycle() const { return merged_cycle_; }
  // The shortest link between any two lanes, or ranks, of the whole run.
  Duration shortest_between_lanes() const { return between_lanes_; }
  Duration shortest_between_ranks() const { return between_ranks_; }

 private:
  void assign_ranks(Placement& placement, std::size_t components);
  void assign_lanes(EngineOptions const& options);
  void map_ports(System& system);
  // The shortest link between each connected pair of local lanes and ranks: lane i is i, rank r is
  // local_lanes() + r.
  std::vector<LaneLink> shortest_links(System& system);
  void find_peers(std::vector<LaneLink> const& links);
  void measure(std::vector<LaneLink> const& links);

  std::uint32_t rank_;
  std::uint32_t ranks_;
  std::uint32_t local_lanes_ = 1;
  std::vector<std::uint32_t> partition_of_;  // by component
  std::vector<std::uint32_t> rank_of_;       // by partition
  std::vector<std::uint32_t> lane_of_;       // by partition: its lane on its own rank
  std::vector<std::uint32_t> lanes_of_rank_;
  std::vector<std::uint32_t> peers_;
  std::vector<Duration> from_peer_;
  bool all_are_peers_ = false;
  std::vector<std::uint16_t> node_of_port_;
  std::vector<std::uint16_t> merged_node_of_port_;
  std::vector<Duration> distances_;         // [lane][node]
  std::vector<Duration> merged_distances_;  // by peer
  Duration merged_cycle_ = Duration::max();
  Duration between_lanes_ = Duration::max();
  Duration between_ranks_ = Duration::max();
};

}  // namespace farfault
