// SPDX-License-Identifier: Apache-2.0
// Private: how far each lane may run, from what is pending everywhere.
//
// Guarantee: for every lane with something pending, the least, over all nodes, of the node's next event plus
// the shortest path of links from there to the lane (engine.hpp), drawn back where lanes would take turns
// (below). Cost: what the lanes with something pending cost. For each of them the nodes are looked at from
// the nearest on, until none that is further away could make a difference, or only those with something
// pending, where these are fewer.
//
// Alignment: two lanes that take turns to be ahead each wait for the other: with next events at 0 and L/2 and
// links of L, one may run 3L/2 and the other L/2, and so on for ever. A horizon within two of the shortest
// links from the first event of all is therefore drawn back to one such link from there: from then on all
// have the same to do. Lanes go by the first event of this rank now, ranks by that of their neighbourhood at
// the last exchange.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanes.hpp"

namespace farfault {

// `d` after `t`; never where either is.
inline Time later(Time t, Duration d) {
  return t == Time::max() || d == Duration::max() ? Time::max() : t + d;
}

class Horizons {
 public:
  explicit Horizons(LaneMap const& map);

  // Nothing is pending in any lane; other ranks may have events from time zero on.
  void forget();

  Time next(std::uint32_t node) const { return next_[node]; }
  // From the thread that ran the lane: what it holds now.
  void ran(std::uint32_t lane, Time next) { next_[lane] = next; }
  // Mail for a lane, or for a peer.
  void expect(std::uint32_t node, Time when);
  // From an exchange: the first event that a peer may yet handle, but for what mail from here makes it do.
  void set_peer(std::uint32_t peer, Time bound) { next_[lanes_ + peer] = bound; }
  // The first event of this rank's neighbourhood, to align ranks by.
  void set_neighbourhood(Time first) { neighbourhood_ = first; }

  // Computes the horizon of every active lane.
  void find(Time end);
  // The lanes with something pending, as of find().
  std::span<std::uint32_t const> active() const { return active_; }
  Time of(std::uint32_t lane) const { return horizon_[lane]; }
  // The same for all lanes as one, that is as lane 0.
  Time of_merged(Time end) const;
  // The first event pending in any lane, mail for it included.
  Time first() const;
  // Lanes, and pairs of nodes, looked at so far.
  std::uint64_t looks() const { return looks_; }

 private:
  Time of_lane(std::uint32_t lane, Time end, Time first);
  Time beside_ranks(Time horizon) const;

  LaneMap const& map_;
  std::uint32_t lanes_;
  std::vector<Time> next_;     // by node
  std::vector<Time> horizon_;  // by lane
  std::vector<std::uint32_t> active_;
  std::vector<bool> listed_;                         // in active_, by lane
  std::vector<std::vector<std::uint16_t>> nearest_;  // by lane: the other lanes, and itself, that reach it
  Time neighbourhood_ = EventQueue::kNever;
  std::uint64_t looks_ = 0;
};

}  // namespace farfault
