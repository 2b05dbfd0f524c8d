// SPDX-License-Identifier: Apache-2.0
// Private: how far each lane may run, computed from all pending events.
//
// Guarantee: for every lane with pending events, the minimum over all nodes of the node's next event plus
// the shortest path of links from there to the lane (engine.hpp), pulled back by alignment
// (below). Cost: depends only on the lanes with pending events. For each of them, nodes are examined from
// the nearest on, until none further away can lower the minimum, or only the nodes with pending
// events, if these are fewer.
//
// Alignment: lanes that alternate in the lead wait for each other: with next events at 0 and L/2 and
// links of L, one may run 3L/2 and the other L/2, and so on forever. A horizon within two of the shortest
// links from the first event of all is therefore pulled back to one shortest link from there; from then on,
// all lanes advance equally. Lanes are aligned to the current first event of this rank, ranks to that of
// their neighbourhood at the last exchange.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanes.hpp"

namespace farfault {

// `d` after `t`; never if either is.
inline Time later(Time t, Duration d) {
  return t == Time::max() || d == Duration::max() ? Time::max() : t + d;
}

class Horizons {
 public:
  explicit Horizons(LaneMap const& map);

  // Resets: no lane has pending events; other ranks may have events from time zero on.
  void forget();

  Time next(std::uint32_t node) const { return next_[node]; }
  // Called by the thread that ran the lane: the lane's next event.
  void ran(std::uint32_t lane, Time next) { next_[lane] = next; }
  // Mail for a lane, or for a peer.
  void expect(std::uint32_t node, Time when);
  // From an exchange: the first event that a peer may yet handle, except events caused by mail from this
  // rank.
  void set_peer(std::uint32_t peer, Time bound) { next_[lanes_ + peer] = bound; }
  // The first event of this rank's neighbourhood, for the alignment of ranks.
  void set_neighbourhood(Time first) { neighbourhood_ = first; }

  // Computes the horizon of every active lane.
  void find(Time end);
  // The lanes with pending events, as of find().
  std::span<std::uint32_t const> active() const { return active_; }
  Time of(std::uint32_t lane) const { return horizon_[lane]; }
  // The horizon of all lanes as one, run as lane 0.
  Time of_merged(Time end) const;
  // The first event pending in any lane, mail for it included.
  Time first() const;
  // Lanes, and pairs of nodes, examined so far.
  std::uint64_t polls() const { return polls_; }

 private:
  Time of_lane(std::uint32_t lane, Time end, Time first);
  Time beside_ranks(Time horizon) const;

  LaneMap const& map_;
  std::uint32_t lanes_;
  std::vector<Time> next_;     // by node
  std::vector<Time> horizon_;  // by lane
  std::vector<std::uint32_t> active_;
  std::vector<bool> listed_;                         // in active_, by lane
  std::vector<std::vector<std::uint16_t>> nearest_;  // by lane: the lanes that reach it, itself included
  Time neighbourhood_ = EventQueue::kNever;
  std::uint64_t polls_ = 0;
};

}  // namespace farfault
